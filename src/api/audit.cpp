// GET /audit: who changed which key, from where (API §13).
#include "api/audit_json.hpp"
#include "api/handlers.hpp"
#include "api/json_writer.hpp"
#include "api/resource.hpp"
#include "base/bytes.hpp"

namespace latchkey::api {
namespace {

void text_or_null(std::string& to, std::string_view name, std::string_view value) {
    to.append(",\"").append(name).append("\":");
    value.empty() ? void(to.append("null")) : append_string(to, value);
}
void id_or_null(std::string& to, std::string_view name, model::id value) {
    to.append(",\"").append(name).append("\":");
    value == 0 ? void(to.append("null")) : append_number(to, value);
}
std::string hex_of(model::digest const& digest) {
    return base::to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()});
}

}  // namespace

void append_audit_entry(std::string& to, store::audit_entry const& entry) {
    to.append("{\"id\":");
    append_number(to, entry.id);
    to.append(",\"created_at\":");
    append_timestamp(to, entry.at);
    text_or_null(to, "action", store::name_of(entry.action));
    id_or_null(to, "actor_key_id", entry.actor);
    text_or_null(to, "address", entry.from ? entry.from->text() : std::string());
    id_or_null(to, "key_id", entry.key);
    text_or_null(to, "project", entry.project);
    text_or_null(to, "source", entry.source);
    to.append(",\"fields\":[");
    for (bool first = true; auto const& field : entry.fields) {
        if (!std::exchange(first, false)) to.push_back(',');
        append_string(to, field);
    }
    to.push_back(']');
    text_or_null(to, "previous_hash", hex_of(entry.previous));
    text_or_null(to, "hash", hex_of(entry.hash));
    to.push_back('}');
}

// Whoever does not see other projects sees the log of his own.
std::optional<trouble> list_audit(call const& of, store::snapshot const& seen,
                                  http::response& answer) {
    listing list(of, "/api/v1/audit");
    if (auto wrong = list.take()) return wrong;
    auto project = of.query.take("project");
    if (project && !model::is_project(*project))
        return bad_parameter("project", base::field_code::invalid_format,
                             "must be 1 to 64 of a-z, 0-9 and -");
    if (project) list.show("project", *project);
    auto const& caller = of.who.record();
    bool const visible = !project || sees_project(of, *project);
    if (!project && !caller.scopes.has(model::scope::any)) project = caller.project;
    if (project) list.bind("project", *project);
    if (auto wrong = list.open()) return wrong;
    list.begin(answer);
    store::listed listed;
    auto const each = [&](store::audit_entry const& entry) {
        append_audit_entry(list.element(answer.body), entry);
    };
    if (visible) listed = seen.audit(project, list.range(), each);
    list.end(listed, answer);
    return std::nullopt;
}

}  // namespace latchkey::api
