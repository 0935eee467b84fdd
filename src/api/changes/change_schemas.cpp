// JSON Schemas of changes.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/changes/changes.hpp"
#include "api/frame/schema.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using namespace schema;

constexpr std::string_view change_example = R"({"sequence": 1043, "type": "user.created",
    "occurred_at": "2026-01-02T03:05:00.000Z", "key_id": 1, "data": {"id": 7,
    "name": "Grace Hopper", "email": "grace@example.com",
    "created_at": "2026-01-02T03:05:00.000Z", "updated_at": "2026-01-02T03:05:00.000Z"}})";

object secret_change_schema() {
    return response_object({{"source", matching("^[a-z][a-z0-9-]{0,31}$")},
                            {"format", one_of({"standard", "github", "stripe"})},
                            {"removed", boolean()}},
                           json::parse(R"({"source": "shop", "format": "standard",
                                         "removed": false})"));
}

// What is told of a deletion in a full store.
object only_id_schema() {
    return response_object({{"id", id()}}, json::parse(R"({"id": 7})"));
}

object any_record() {
    json::array records;
    for (auto const* const name :
         {"User", "Post", "Key", "Event", "SecretChange", "Webhook", "DeletedRecord"})
        records.push_back(ref(name));
    return with_description(object{{"anyOf", std::move(records)}},
                            "The record by the time of the change, without secrets; of a deletion "
                            "its last state.");
}

object change_list_schema() {
    auto const page = response_object(
        {{"next_after", with_description(object{{"type", "integer"}, {"minimum", 0}},
                                         "For `after` of the next page.")},
         {"has_more", boolean()},
         {"oldest", with_description(nullable(id()), "The first sequence that is kept.")}},
        nullptr);
    return response_object(
        {{"data", list_of(ref("Change"), changes_page_max)}, {"pagination", page}}, nullptr);
}

}  // namespace

json::object change_schema(std::string_view type, object data) {
    auto const type_schema =
        type.empty() ? with_description(matching("^[a-z_]+\\.[a-z]+$"), "More may come with time.")
                     : one_of({type});
    return response_object({{"sequence", id()},
                            {"type", type_schema},
                            {"occurred_at", time()},
                            {"key_id", with_description(nullable(id()),
                                                        "The key of the caller; null: the command "
                                                        "line, or the service by itself.")},
                            {"data", std::move(data)}},
                           type.empty() ? json::parse(change_example) : json::value());
}

json::object change_schemas() {
    return {{"Change", change_schema({}, any_record())},
            {"ChangeList", change_list_schema()},
            {"SecretChange", secret_change_schema()},
            {"DeletedRecord", only_id_schema()}};
}

}  // namespace latchkey::api
