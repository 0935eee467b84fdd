// What the service sends to webhooks (api.md §17): a request for each type of change, and a schema
// for those of each kind of record.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/frame/schema.hpp"
#include "base/check.hpp"
#include "model/change.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using namespace schema;
using model::change_type;
using std::string;
using std::string_view;

// The changes of one kind of record: their schema, and the schema of `data`.
struct record_kind {
    string_view prefix;  // of the names of its types
    string_view schema;
    string_view record;
    bool has_deletions = false;
};
constexpr record_kind kinds[] = {{"user.", "UserChange", "User", true},
                                 {"post.", "PostChange", "Post", true},
                                 {"key.", "KeyChange", "Key"},
                                 {"event.", "EventChange", "Event"},
                                 {"event_secret.", "EventSecretChange", "SecretChange"},
                                 {"webhook.", "WebhookChange", "Webhook"}};

// One type. `differs`: the members in which its example differs from that of the record.
struct sent_change {
    change_type type;
    string_view summary;
    bool by_key = true;  // false: by the service itself
    string_view differs = "{}";
};
constexpr sent_change sent_changes[] = {
    {change_type::user_created, "A user was created"},
    {change_type::user_updated, "A user was changed"},
    {change_type::user_deleted, "A user was deleted"},
    {change_type::post_created, "A post was created", true,
     R"({"status": "draft", "published_at": null})"},
    {change_type::post_updated, "A post was changed", true,
     R"({"status": "draft", "published_at": null})"},
    {change_type::post_published, "A post was published"},
    {change_type::post_archived, "A post was archived", true, R"({"status": "archived"})"},
    {change_type::post_deleted, "A post was deleted, by itself or with its user"},
    {change_type::key_created, "A key was created", true, R"({"last_used_at": null})"},
    {change_type::key_updated, "The settings of a key were changed"},
    {change_type::key_rotated, "A key got a successor", true,
     R"({"replaced_by": 4, "rotation_ends_at": "2026-01-05T03:04:05.678Z"})"},
    {change_type::key_deactivated, "A key was deactivated, or the overlap of its rotation ended",
     true,
     R"({"state": "deactivated", "deactivated_at": "2026-01-04T03:04:05.678Z",
         "deactivation_reason": "manual"})"},
    {change_type::key_reactivated, "A key was activated again"},
    {change_type::key_activated, "The `not_before` of a key has passed", false,
     R"({"not_before": "2026-01-04T03:04:05.000Z"})"},
    {change_type::key_expiring, "A key will expire in some days", false,
     R"({"expires_at": "2026-01-05T03:04:05.678Z"})"},
    {change_type::key_expired, "A key has expired", false,
     R"({"state": "expired", "expires_at": "2026-01-04T03:04:05.678Z"})"},
    {change_type::key_limited, "Requests of a key were refused by its limits", false},
    {change_type::key_exposed, "A key was sent where others may see it", false},
    {change_type::key_unused, "A key was not used for a long time", false,
     R"({"last_used_at": null})"},
    {change_type::event_received, "An event from outside was stored"},
    {change_type::event_secret_changed, "The secret of a source of events was set or removed"},
    {change_type::webhook_disabled, "The webhook was disabled by the service", false,
     R"({"enabled": false, "disabled_at": "2026-01-04T03:04:05.678Z", "disabled_reason": "gone"})"},
    {change_type::webhook_test, "A test that was asked for"},
};
static_assert(std::size(sent_changes) == model::change_type_count);

record_kind const& kind_of(string_view type) {
    for (auto const& each : kinds)
        if (type.starts_with(each.prefix)) return each;
    // It is a type of the table, not of a stored change.
    base::check(false, "a change of no kind");
    return kinds[0];
}

// "receiveUserCreated"
string operation_id(string_view type) {
    string id("receive");
    for (bool begins = true; char const byte : type) {
        bool const is_letter = byte >= 'a' && byte <= 'z';
        if (is_letter) id.push_back(begins ? static_cast<char>(byte & ~0x20) : byte);
        begins = !is_letter;
    }
    return id;
}

object example_of(sent_change const& entry, object const& schemas) {
    auto const type = model::name_of(entry.type);
    auto const& record = schemas.at(kind_of(type).record).as_object();
    auto data = record.at("examples").as_array().front().as_object();
    auto const differences = json::parse(entry.differs);
    for (auto const& [name, value] : differences.as_object()) data[name] = value;
    return {{"sequence", 1043},
            {"type", type},
            {"occurred_at", "2026-01-04T03:04:05.678Z"},
            {"key_id", entry.by_key ? json::value(1) : json::value()},
            {"data", std::move(data)}};
}

object schema_of(record_kind const& group, object const& schemas) {
    json::array types;
    json::value example;
    for (auto const& each : sent_changes) {
        auto const name = model::name_of(each.type);
        if (!name.starts_with(group.prefix)) continue;
        if (example.is_null()) example = example_of(each, schemas);
        types.push_back(json::value(name));
    }
    auto data = ref(group.record);
    if (group.has_deletions)
        data = with_description(object{{"anyOf", json::array{data, ref("DeletedRecord")}}},
                                "Of a deletion the last state, or from a full store the id alone.");
    auto result = change_schema({}, std::move(data));
    result["properties"].as_object()["type"] =
        object{{"type", "string"}, {"enum", std::move(types)}};
    result["examples"] = json::array{std::move(example)};
    return result;
}

json::array parameter_references() {
    json::array all;
    for (auto const name : sent_fields)
        all.push_back(object{{"$ref", "#/components/parameters/" + string(name)}});
    return all;
}

object request_of(sent_change const& entry, object const& schemas) {
    auto const type = model::name_of(entry.type);
    object const content{{"schema", ref(kind_of(type).schema)},
                         {"example", example_of(entry, schemas)}};
    return {
        {"operationId", operation_id(type)},
        {"tags", json::array{"Webhooks"}},
        {"summary", entry.summary},
        {"description", about_sent_changes},
        {"security", json::array()},
        {"parameters", parameter_references()},
        {"requestBody",
         object{{"required", true}, {"content", object{{"application/json", content}}}}},
        {"responses",
         object{
             {"2XX", object{{"description", "It was received; the `webhook-id` may come again"}}},
             {"410", object{{"description", "Nothing more is wanted: disables the webhook"}}},
             {"default", object{{"description", "A failure: it is sent again later"}}}}}};
}

}  // namespace

void add_sent_schemas(json::object& schemas) {
    for (auto const& each : kinds) schemas[each.schema] = schema_of(each, schemas);
}

json::object sent_requests(json::object const& schemas) {
    json::object all;
    for (auto const& each : sent_changes)
        all[model::name_of(each.type)] = object{{"post", request_of(each, schemas)}};
    return all;
}

}  // namespace latchkey::api
