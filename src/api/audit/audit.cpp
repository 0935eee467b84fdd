// GET /audit: the changes of keys and secrets, their callers and addresses (api.md §13).
#include "api/audit/audit_json.hpp"
#include "api/audit/audit_routes.hpp"
#include "api/frame/json/json_writer.hpp"
#include "api/frame/resource.hpp"
#include "base/bytes.hpp"
#include "domain/audit/audit_lists.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

std::string hex_of(model::digest const& digest) {
    return base::to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()});
}

std::string all_actions() {
    std::string text;
    for (auto const name : domain::audit_names())
        text.append(text.empty() ? "must be one of " : ", ").append(name);
    return text;
}

// Takes the query's filters into `filter` and the list. The caller binds the project, which also
// depends on the projects that it sees.
void take_filters(query& query, domain::audit_filter& filter, listing& list) {
    auto const take = [&](std::string_view name) {
        auto const value = query.take(name);
        if (value) list.show(name, *value);
        return value;
    };
    auto const take_time = [&](std::string_view name) {
        auto const text = take(name);
        auto const time = text ? query.read_time(name, *text) : std::nullopt;
        if (time) list.bind(name, *time);
        return time;
    };
    filter.project = take("project");
    if (filter.project && !model::is_project(*filter.project))
        query.refuse("project", field_code::invalid_format, "must be 1 to 64 of a-z, 0-9 and -");
    if (auto const name = take("action")) {
        filter.action = domain::find_audit_action(*name);
        if (!filter.action) query.refuse("action", field_code::not_in_enum, all_actions());
        list.bind("action", *name);
    }
    if (auto const text = take("key")) {
        filter.key = parse_id(*text);
        if (!filter.key) query.refuse("key", field_code::invalid_format, "must be the id of a key");
        list.bind("key", filter.key.value_or(0));
    }
    filter.begin = take_time("from");
    filter.end = take_time("to");
    if (filter.begin && filter.end && *filter.begin >= *filter.end)
        query.refuse("from", field_code::out_of_range, "must be before `to`");
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
    domain::audit_filter filter;
    take_filters(context.query, filter, list);
    auto const& caller = context.principal;
    bool const visible = !filter.project || sees_project(context, *filter.project);
    bool const narrowed = !filter.project && !caller.may(model::scope::any);
    filter.with_sources = narrowed && (caller.may(model::scope::events_read) ||
                                       caller.may(model::scope::events_manage));
    if (narrowed) filter.project = caller.record().project;
    if (filter.project) list.bind("project", *filter.project);
    if (filter.with_sources) list.bind("sources", 1);
    if (auto error = list.open()) return error;
    list.begin(response);
    domain::list_result listed;
    auto const each = [&](domain::audit_entry const& entry) {
        append_audit_entry(list.element(response.body), entry);
    };
    if (visible) listed = audit_entries(snapshot, filter, list.range(response), each);
    return list.end(listed, response);
}

}  // namespace latchkey::api
