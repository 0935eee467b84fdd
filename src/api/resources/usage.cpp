// GET /keys/{id}/usage: the use of a key by minute, hour or day (api.md §4).
#include <utility>

#include "api/handlers.hpp"
#include "api/json/json_writer.hpp"
#include "api/resources/resource.hpp"

namespace latchkey::api {
namespace {

using base::field_code;
using base::wall_ms;
using model::granularity;

// The points from the one that contains `begin` to the last that begins before `end`.
struct time_range {
    granularity step = granularity::hour;
    wall_ms begin = 0, end = 0;
};

api_result<std::optional<wall_ms>> take_time(api::query& query, std::string_view name) {
    auto const text = query.take(name);
    if (!text) return std::optional<wall_ms>();
    auto const time = base::parse_timestamp(*text);
    if (!time)
        return bad_parameter(name, field_code::invalid_format,
                             "must be an RFC 3339 time such as 2026-01-02T03:04:05Z");
    return time;
}

// Without `from`: the first point that begins within the 24 hours before `end`, so that 24 hours
// are 24 points.
wall_ms default_from(granularity step, wall_ms end) {
    return model::start_of(step,
                           end - model::length_of(granularity::day) + model::length_of(step) - 1);
}

api_result<time_range> take_range(api::query& query, wall_ms now) {
    time_range range;
    if (auto const name = query.take("granularity")) {
        auto const step = model::find_granularity(*name);
        if (!step)
            return bad_parameter("granularity", field_code::not_in_enum,
                                 "must be minute, hour or day");
        range.step = *step;
    }
    auto const begin = take_time(query, "from"), end = take_time(query, "to");
    if (!begin) return begin.error();
    if (!end) return end.error();
    range.end = end->value_or(now + 1);
    range.begin = begin->value_or(default_from(range.step, range.end));
    if (range.begin >= range.end)
        return bad_parameter("from", field_code::out_of_range,
                             *end ? "must be before to" : "must not be in the future");
    // Applied before points are left out, so that a query is valid or not at any time.
    auto const length = model::length_of(range.step);
    auto const count = (range.end - model::start_of(range.step, range.begin) + length - 1) / length;
    if (count > base::limits::usage_points_max)
        return bad_parameter(
            "from", field_code::out_of_range,
            "asks for " + std::to_string(count) + " points of one " +
                std::string(name_of(range.step)) +
                ", the limit is 1440; reduce the time between from and to or use a "
                "coarser granularity");
    return range;
}

void append_point(std::string& output, wall_ms start, model::usage const& usage) {
    output.append("{\"start\":");
    append_timestamp(output, start);
    output.append(",\"requests\":");
    append_number(output, usage.requests());
    output.append(",\"by_status\":{");
    for (std::size_t i = 0; i < usage.classes.size(); ++i) {
        if (i != 0) output.push_back(',');
        append_plain_string(output, usage.classes[i]);
        output.push_back(':');
        append_number(output, usage.by_status[i]);
    }
    output.append("},\"limited\":");
    append_number(output, usage.limited);
    output.push_back('}');
}

}  // namespace

// A point for every step that is still kept and has begun. Others are left out: a zero would say
// that the key was not used.
std::optional<api_error> get_usage(request_context const& context, store::snapshot const& snapshot,
                                   http::response& response) {
    auto const range = take_range(context.query, context.now.wall);
    if (!range) return range.error();
    if (auto error = context.query.refuse_rest()) return error;
    auto const key = snapshot.key(context.id);
    if (!key || !sees_project(context, key->project)) return no_such("key");
    auto const begin = std::max(range->begin, model::first_retained(range->step, context.now.wall));
    auto const end = std::min(range->end, context.now.wall + 1);
    response.body.append("{\"data\":[");
    bool first = true;
    snapshot.usage(context.id, range->step, begin, end,
                   [&](wall_ms start, model::usage const& usage) {
                       if (!std::exchange(first, false)) response.body.push_back(',');
                       append_point(response.body, start, usage);
                   });
    response.body.append("]}");
    show_resource(response);
    return std::nullopt;
}

}  // namespace latchkey::api
