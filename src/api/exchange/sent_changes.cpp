// The requests that the service sends to webhooks (api.md §17): one for each type of change, and a
// schema for those of each kind of record.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/exchange/openapi.hpp"
#include "api/frame/record_kind.hpp"
#include "api/frame/schema.hpp"
#include "domain/changes/change_types.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using namespace schema;
using std::string;
using std::string_view;

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
    auto const type = domain::name_of(entry.type);
    auto const& record = schemas.at(kind_of(entry.type).record).as_object();
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
    for (auto const& each : group.changes) {
        if (example.is_null()) example = example_of(each, schemas);
        types.push_back(json::value(domain::name_of(each.type)));
    }
    auto data = ref(group.record);
    if (group.has_deletions)
        data = with_description(object{{"anyOf", json::array{data, ref("DeletedRecord")}}},
                                "Of a deletion the last state, or from a full store the id alone.");
    auto result = change_schema({}, std::move(data), nullptr);
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
    auto const type = domain::name_of(entry.type);
    object const content{{"schema", ref(kind_of(entry.type).schema)},
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
    for (auto const& each : record_kinds()) schemas[each.schema] = schema_of(each, schemas);
}

json::object sent_requests(json::object const& schemas) {
    json::object all;
    for (auto const& kind : record_kinds())
        for (auto const& each : kind.changes)
            all[domain::name_of(each.type)] = object{{"post", request_of(each, schemas)}};
    return all;
}

}  // namespace latchkey::api
