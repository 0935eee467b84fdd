// JSON Schemas of changes.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/changes/change_routes.hpp"
#include "api/changes/changes.hpp"
#include "api/frame/record_kind.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

constexpr std::string_view change_example = R"({"sequence": 1043, "type": "user.created",
    "occurred_at": "2026-01-02T03:05:00.000Z", "key_id": 1, "data": {"id": 7,
    "name": "Grace Hopper", "email": "grace@example.com",
    "created_at": "2026-01-02T03:05:00.000Z", "updated_at": "2026-01-02T03:05:00.000Z"}})";

object secret_change_schema() {
    return response_object({{"source", source_name()},
                            {"format", one_of({"standard", "github", "stripe"})},
                            {"removed", boolean()}},
                           json::parse(R"({"source": "shop", "format": "standard",
                                         "removed": false})"));
}

// The data of a deletion in a full store: the id alone.
object only_id_schema() {
    return response_object({{"id", id()}}, json::parse(R"({"id": 7})"));
}

object any_record() {
    json::array records;
    for (auto const& each : record_kinds()) records.push_back(ref(each.record));
    records.push_back(ref("DeletedRecord"));
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

object after() {
    return matching("^(latest|0|[1-9][0-9]{0,15})$");
}
object changes_limit() {
    return with_default(object{{"type", "integer"}, {"minimum", 1}}, changes_page_default);
}
object change_types() {
    return with_default(matching("^(\\*|[a-z_]+\\.(\\*|[a-z]+))(,(\\*|[a-z_]+\\.(\\*|[a-z]+)))*$"),
                        "*");
}

}  // namespace

object change_schemas() {
    return {{"Change", change_schema({}, any_record(), json::parse(change_example))},
            {"ChangeList", change_list_schema()},
            {"SecretChange", secret_change_schema()},
            {"DeletedRecord", only_id_schema()}};
}

std::span<parameter const> change_parameters() {
    static constexpr parameter rows[] = {
        {"after", "query", after, "Changes beyond this sequence; `latest`: beyond the last one."},
        {"limit_changes", "query", changes_limit, "Above 1000 counts as 1000.", "limit"},
        {"type", "query", change_types,
         "Types separated by commas: a type, those of a kind (`user.*`), or `*`."},
        {"Last-Event-ID", "header", position, "Of a stream: takes the place of `after`."},
    };
    return rows;
}

}  // namespace latchkey::api::schema
