// GET /keys/{id}/usage: how a key was used, by minute, hour or day (API §4).
#include <utility>

#include "api/handlers.hpp"
#include "api/json_writer.hpp"
#include "api/resource.hpp"

namespace latchkey::api {
namespace {

using base::field_code;
using base::wall_ms;
using model::granularity;

// The points from the one that `from` is in to the last that begins before `to`.
struct time_range {
    granularity by = granularity::hour;
    wall_ms from = 0, to = 0;
};

or_trouble<std::optional<wall_ms>> take_time(api::query& query, std::string_view name) {
    auto const text = query.take(name);
    if (!text) return std::optional<wall_ms>();
    auto const time = base::parse_timestamp(*text);
    if (!time)
        return bad_parameter(name, field_code::invalid_format,
                             "must be an RFC 3339 time such as 2026-01-02T03:04:05Z");
    return time;
}

// Without `from` the 24 hours before `to`: the points that begin within them.
wall_ms default_from(granularity by, wall_ms to) {
    return model::start_of(by, to - model::length_of(granularity::day) + model::length_of(by) - 1);
}

or_trouble<time_range> take_range(api::query& query, wall_ms now) {
    time_range asked;
    if (auto const name = query.take("granularity")) {
        auto const by = model::find_granularity(*name);
        if (!by)
            return bad_parameter("granularity", field_code::not_in_enum,
                                 "must be minute, hour or day");
        asked.by = *by;
    }
    auto const from = take_time(query, "from"), to = take_time(query, "to");
    if (!from) return from.error();
    if (!to) return to.error();
    asked.to = to->value_or(now + 1);
    asked.from = from->value_or(default_from(asked.by, asked.to));
    if (asked.from >= asked.to)
        return bad_parameter("from", field_code::out_of_range,
                             *to ? "must be before to" : "must not be in the future");
    auto const length = model::length_of(asked.by);
    auto const count = (asked.to - model::start_of(asked.by, asked.from) + length - 1) / length;
    if (count > base::limits::usage_points_max)
        return bad_parameter("from", field_code::out_of_range,
                             "asks for " + std::to_string(count) + " points of one " +
                                 std::string(name_of(asked.by)) +
                                 ", 1440 are the most; bring from and to nearer to each other, or "
                                 "take a coarser granularity");
    return asked;
}

void append_point(std::string& to, wall_ms start, model::usage const& counted) {
    to.append("{\"start\":");
    append_timestamp(to, start);
    to.append(",\"requests\":");
    append_number(to, counted.requests());
    to.append(",\"by_status\":{");
    for (std::size_t i = 0; i < counted.classes.size(); ++i) {
        if (i != 0) to.push_back(',');
        append_plain_string(to, counted.classes[i]);
        to.push_back(':');
        append_number(to, counted.by_status[i]);
    }
    to.append("},\"limited\":");
    append_number(to, counted.limited);
    to.push_back('}');
}

}  // namespace

// A point for every step that is still kept and has begun; of others nobody knows anything.
std::optional<trouble> get_usage(call const& of, store::snapshot const& seen,
                                 http::response& answer) {
    auto const asked = take_range(of.query, of.now.wall);
    if (!asked) return asked.error();
    if (auto wrong = of.query.refuse_rest()) return wrong;
    auto const key = seen.key(of.id);
    if (!key || !sees_project(of, key->project)) return no_such("key");
    auto const from = std::max(asked->from, model::first_kept(asked->by, of.now.wall));
    auto const to = std::min(asked->to, of.now.wall + 1);
    answer.body.append("{\"data\":[");
    bool first = true;
    seen.usage(of.id, asked->by, from, to, [&](wall_ms start, model::usage const& counted) {
        if (!std::exchange(first, false)) answer.body.push_back(',');
        append_point(answer.body, start, counted);
    });
    answer.body.append("]}");
    show_resource(answer);
    return std::nullopt;
}

}  // namespace latchkey::api
