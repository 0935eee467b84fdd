// JSON Schemas of the audit log.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/audit/audit_routes.hpp"
#include "domain/audit/audit.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

object action() {
    json::array actions;
    for (auto const name : domain::audit_names()) actions.push_back(json::value(name));
    return {{"type", "string"}, {"enum", std::move(actions)}};
}

object audit_entry_schema() {
    auto const hash = matching("^[0-9a-f]{64}$");
    object const text{{"type", "string"}};
    return response_object(
        {{"id", id()},
         {"created_at", time()},
         {"action", action()},
         {"actor_key_id", with_description(nullable(id()), "Null: the command line.")},
         {"address", with_description(nullable(text), "The caller's address.")},
         {"key_id", nullable(id())},
         {"project", nullable(text)},
         {"source", with_description(nullable(text), "Of events, whose secret was changed.")},
         {"webhook_id", nullable(id())},
         {"fields", with_description(object{{"type", "array"}, {"items", text}},
                                     "Names of the members that changed.")},
         {"previous_hash",
          with_description(hash, "The hash of the previous entry: the entries are a chain.")},
         {"hash", hash}},
        nullptr);
}

}  // namespace

object audit_schemas() {
    return {{"AuditEntry", audit_entry_schema()}, {"AuditList", list_schema("AuditEntry")}};
}

std::span<parameter const> audit_parameters() {
    static constexpr parameter rows[] = {
        {"audit_action", "query", action, "Entries of this action.", "action"},
        {"audit_key", "query", id, "Entries about the key of this id, and of what it did.", "key"},
        {"audit_from", "query", time, "Entries of this time on.", "from"},
        {"audit_to", "query", time, "Entries before this time.", "to"},
    };
    return rows;
}

}  // namespace latchkey::api::schema
