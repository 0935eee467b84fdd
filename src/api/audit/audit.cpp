// GET /audit: the changes of keys and secrets, their callers and addresses (api.md §13).
#include "api/audit/audit_json.hpp"
#include "api/audit/audit_routes.hpp"
#include "api/frame/json/json_writer.hpp"
#include "api/frame/resource.hpp"
#include "base/bytes.hpp"
#include "domain/audit/audit_lists.hpp"

namespace latchkey::api {
namespace {

std::string hex_of(model::digest const& digest) {
    return base::to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()});
}

}  // namespace

void append_audit_entry(std::string& output, domain::audit_entry const& entry) {
    output.append("{\"id\":");
    append_number(output, entry.id);
    output.append(",\"created_at\":");
    append_timestamp(output, entry.time);
    append_name(output, "action");
    append_string_or_null(output, domain::name_of(entry.action));
    append_name(output, "actor_key_id");
    append_id_or_null(output, entry.actor);
    append_name(output, "address");
    append_string_or_null(output, entry.address ? entry.address->text() : std::string());
    append_name(output, "key_id");
    append_id_or_null(output, entry.key);
    append_name(output, "project");
    append_string_or_null(output, entry.project == domain::audit_all_projects ? "" : entry.project);
    bool const about_webhook = domain::is_about_webhook(entry.action);
    append_name(output, "source");
    append_string_or_null(output, about_webhook ? "" : entry.source);
    append_name(output, "webhook_id");
    about_webhook ? output.append(entry.source) : output.append("null");
    append_name(output, "fields");
    append_array(output, entry.fields,
                 [&](std::string_view field) { append_string(output, field); });
    append_name(output, "previous_hash");
    append_string_or_null(output, hex_of(entry.previous));
    append_name(output, "hash");
    append_string_or_null(output, hex_of(entry.hash));
    output.push_back('}');
}

// A caller without `*` sees the log of its own project. Event sources belong to no project, so a
// change of their secrets is shown to every caller that may read events or manage the secrets.
std::optional<api_error> list_audit(request_context const& context,
                                    domain::snapshot const& snapshot, http::response& response) {
    listing list(context, "/api/v1/audit");
    if (auto error = list.take()) return error;
    auto project = context.query.take("project");
    if (project && !model::is_project(*project))
        context.query.refuse("project", base::field_code::invalid_format,
                             "must be 1 to 64 of a-z, 0-9 and -");
    if (project) list.show("project", *project);
    auto const& caller = context.principal;
    bool const visible = !project || sees_project(context, *project);
    bool const narrowed = !project && !caller.may(model::scope::any);
    bool const with_sources = narrowed && (caller.may(model::scope::events_read) ||
                                           caller.may(model::scope::events_manage));
    if (narrowed) project = caller.record().project;
    if (project) list.bind("project", *project);
    if (with_sources) list.bind("sources", 1);
    if (auto error = list.open()) return error;
    list.begin(response);
    domain::list_result listed;
    auto const each = [&](domain::audit_entry const& entry) {
        append_audit_entry(list.element(response.body), entry);
    };
    if (visible)
        listed = audit_entries(snapshot, project, list.range(response), each, with_sources);
    return list.end(listed, response);
}

}  // namespace latchkey::api
