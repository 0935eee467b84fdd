// GET /changes: what has happened, in order (api.md §16).
#include "api/changes/changes.hpp"

#include <algorithm>
#include <utility>

#include "api/changes/change_routes.hpp"
#include "api/frame/change_json.hpp"
#include "api/frame/json/json_writer.hpp"
#include "api/frame/resource.hpp"
#include "base/limits.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

api_error expired(model::id oldest) {
    auto error = make_error(base::problem::changes_expired);
    error.oldest_change = oldest;
    return error;
}

// `latest`, or a sequence from 0.
std::optional<model::id> parse_after(std::string_view text, model::id last) {
    if (text == "latest") return last;
    if (text == "0") return 0;
    return parse_id(text);
}

domain::change_types take_types(query& query) {
    auto const text = query.take("type");
    if (!text) return domain::change_types::all();
    domain::change_types types;
    for (auto rest = *text;;) {
        auto const end = std::min(rest.find(','), rest.size());
        if (!types.add(rest.substr(0, end)))
            query.refuse("type", field_code::not_in_enum,
                         "must be types such as user.created, user.* or *, separated by commas");
        if (end == rest.size()) return types;
        rest.remove_prefix(end + 1);
    }
}

std::uint32_t take_limit(query& query) {
    auto const text = query.take("limit");
    if (!text) return changes_page_default;
    auto const limit = parse_id(*text);
    if (!limit) query.refuse("limit", field_code::out_of_range, "must be a whole number from 1");
    return static_cast<std::uint32_t>(std::min<model::id>(limit.value_or(1), changes_page_max));
}

// Appends the changes that are shown. The sequence up to which was looked: each costs something, so
// that a page ends also where none is shown.
model::id append_page(std::string& output, domain::snapshot const& snapshot,
                      request_context const& context, change_range const& range,
                      std::uint32_t limit) {
    auto looked_at = range.position;
    std::uint32_t shown_count = 0;
    auto const cost_end = snapshot.work().cost() + base::limits::page_cost_max;
    snapshot.changes_after(range.position, [&](domain::change_view const& change) {
        bool const is_dear = looked_at != range.position && snapshot.work().cost() >= cost_end;
        if (shown_count == limit || output.size() >= context.page_bytes_max() || is_dear)
            return false;
        looked_at = change.sequence;
        if (!range.types.has(change.type) || !sees_change_of(context.principal, change.project))
            return true;
        if (shown_count++ != 0) output.push_back(',');
        append_change(output, change);
        return true;
    });
    return looked_at;
}

}  // namespace

bool sees_change_of(auth::principal const& caller, std::string_view project) {
    return project.empty() || caller.may(model::scope::any) || project == caller.record().project;
}

api_result<change_range> take_change_range(request_context const& context,
                                           domain::snapshot const& snapshot,
                                           std::optional<model::id> last_event_id) {
    if (!context.settings.records_changes)
        return make_error(base::problem::not_found, "Changes are not recorded here.");
    auto const bounds = snapshot.changes();
    change_range range{.position = bounds.oldest == 0 ? 0 : bounds.oldest - 1};
    if (auto const text = context.query.take("after")) {
        auto const position = parse_after(*text, bounds.last);
        if (!position)
            context.query.refuse("after", field_code::invalid_format,
                                 "must be a sequence or latest");
        range.position = position.value_or(range.position);
    }
    if (last_event_id) range.position = *last_event_id;
    range.types = take_types(context.query);
    // Another node may have more of a cluster's changes than this one.
    if (range.position > bounds.last && !context.settings.in_cluster)
        context.query.refuse("after", field_code::out_of_range,
                             "names no change that is there yet");
    if (auto error = context.query.refuse_rest()) return *error;
    if (range.position + 1 < bounds.oldest) return expired(bounds.oldest);
    return range;
}

std::optional<api_error> list_changes(request_context const& context,
                                      domain::snapshot const& snapshot, http::response& response) {
    auto const limit = take_limit(context.query);
    auto const range = take_change_range(context, snapshot, std::nullopt);
    if (!range) return range.error();
    auto const bounds = snapshot.changes();
    auto& body = response.body;
    body.append("{\"data\":[");
    auto const next = append_page(body, snapshot, context, *range, limit);
    body.append("],\"pagination\":{\"next_after\":");
    append_number(body, next);
    body.append(next < bounds.last ? ",\"has_more\":true" : ",\"has_more\":false");
    append_name(body, "oldest");
    append_id_or_null(body, bounds.oldest);
    body.append("}}");
    show_resource(response);
    response.is_partial = context.page_bytes_max() < base::limits::page_bytes_max &&
                          body.size() >= context.page_bytes_max();
    return std::nullopt;
}

}  // namespace latchkey::api
