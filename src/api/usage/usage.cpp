// GET /keys/{id}/usage and GET /usage: the use of one key, or of many, by minute, hour or day
// (api.md §4).
#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "api/frame/json/json_writer.hpp"
#include "api/frame/resource.hpp"
#include "api/usage/usage_report.hpp"
#include "api/usage/usage_routes.hpp"
#include "base/time_units.hpp"
#include "domain/usage/usage_lists.hpp"

namespace latchkey::api {
namespace {

using base::field_code;
using base::wall_ms;
using model::granularity;

constexpr unsigned reports_max = 32;  // of a worker, in progress; each has some MiB

// The points from the one that contains `begin` to the last that begins before `end`.
struct time_range {
    granularity step = granularity::hour;
    wall_ms begin = 0, end = 0;
    std::size_t count = 0;
};

std::optional<wall_ms> take_time(api::query& query, std::string_view name) {
    auto const text = query.take(name);
    return text ? query.read_time(name, *text) : std::nullopt;
}

// Without `from`: the first point that begins within the 24 hours before `end`, so that 24 hours
// are 24 points.
wall_ms default_from(granularity step, wall_ms end) {
    return model::start_of(step,
                           end - model::length_of(granularity::day) + model::length_of(step) - 1);
}

// Faults are noted in the query; the range is not to be used then.
time_range take_range(api::query& query, wall_ms now) {
    time_range range;
    if (auto const name = query.take("granularity")) {
        auto const step = model::find_granularity(*name);
        if (!step)
            query.refuse("granularity", field_code::not_in_enum, "must be minute, hour or day");
        range.step = step.value_or(range.step);
    }
    auto const begin = take_time(query, "from"), end = take_time(query, "to");
    range.end = end.value_or(now + 1);
    range.begin = begin.value_or(default_from(range.step, range.end));
    if (range.begin >= range.end) {
        query.refuse("from", field_code::out_of_range,
                     end ? "must be before `to`" : "must not be in the future");
        return range;
    }
    // Applied before points are left out, so that a query is valid or not at any time.
    auto const length = model::length_of(range.step);
    auto const count = (range.end - model::start_of(range.step, range.begin) + length - 1) / length;
    if (count > base::limits::usage_points_max)
        query.refuse("from", field_code::out_of_range,
                     "asks for " + std::to_string(count) + " points of one " +
                         std::string(name_of(range.step)) +
                         ", the limit is 1440; reduce the time between `from` and `to` or use a "
                         "coarser granularity");
    range.count = static_cast<std::size_t>(count);
    return range;
}

// Leaves out what is no longer kept and what has not begun.
void clamp(time_range& range, wall_ms now) {
    range.begin = std::max(range.begin, model::first_retained(range.step, now));
    range.end = std::min(range.end, now + 1);
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

// The points of one key, or of all, as far as they are kept and have begun.
using points = std::map<wall_ms, model::usage>;

std::uint64_t requests_in(points const& all) {
    std::uint64_t sum = 0;
    for (auto const& [start, usage] : all) sum += usage.requests();
    return sum;
}

void append_points(std::string& output, points const& all) {
    output.append("{\"requests\":");
    append_number(output, requests_in(all));
    output.append(",\"points\":");
    append_array(output, all,
                 [&](auto const& point) { append_point(output, point.first, point.second); });
    output.push_back('}');
}

// Which keys `GET /usage` is about: those that are named, or the busiest.
struct key_choice {
    std::vector<model::id> named;
    std::size_t top = 10;
};

api_result<key_choice> take_choice(api::query& query) {
    key_choice choice;
    auto const ids = query.take("key_id"), top = query.take("top");
    if (ids && top)
        return make_error(base::problem::conflicting_parameters,
                          "`top` is for the busiest keys, `key_id` for those that it names.");
    if (top) {
        auto const* const end = top->data() + top->size();
        auto const read = std::from_chars(top->data(), end, choice.top);
        if (read.ec != std::errc() || read.ptr != end || choice.top == 0 ||
            choice.top > base::limits::usage_keys_max)
            query.refuse("top", field_code::out_of_range, "must be 1 to 100");
    }
    for (auto rest = ids.value_or(std::string_view()); ids;) {
        auto const comma = std::min(rest.find(','), rest.size());
        auto const id = parse_id(rest.substr(0, comma));
        if (!id || choice.named.size() == base::limits::usage_keys_max) {
            query.refuse("key_id", field_code::invalid_format,
                         "must be 1 to 100 ids of keys with commas between them");
            break;
        }
        if (std::ranges::find(choice.named, *id) == choice.named.end()) choice.named.push_back(*id);
        if (comma == rest.size()) break;
        rest.remove_prefix(comma + 1);
    }
    return choice;
}

points points_of(domain::snapshot const& snapshot, model::id key, time_range const& range) {
    points result;
    domain::list_usage(snapshot, key, range.step, range.begin, range.end,
                       [&](wall_ms start, model::usage const& usage) { result[start] = usage; });
    return result;
}

// The usage of the keys that the caller sees: sums by key, and by step. It goes on in a later turn
// where it has stopped.
class usage_report : public steps {
  public:
    usage_report(time_range const& range, key_choice choice, wall_ms now)
        : range_(range), choice_(std::move(choice)), keys_(choice_.named), now_(now) {
        ++reports;
        auto const length = model::length_of(range.step);
        for (auto start = model::start_of(range.step, range.begin); start < range.end;
             start += length)
            total_[start];
    }
    ~usage_report() override { --reports; }
    usage_report(usage_report const&) = delete;
    usage_report& operator=(usage_report const&) = delete;

    static api_result<std::unique_ptr<usage_report>> open(api::query& query, wall_ms now);
    // The time at which it began.
    wall_ms now() const { return now_; }
    // False: it has read so much, and goes on with the next call.
    bool read(usage_view const& view, std::int64_t cost_max);
    std::string const& text() const { return text_; }

    static thread_local unsigned reports;  // that are in progress

  private:
    bool add_all(usage_view const& view, std::int64_t cost_end);
    void choose_busiest();
    bool is_visible(usage_view const& view, model::id id);
    void append_key(usage_view const& view, model::id key);

    time_range range_;
    key_choice choice_;
    std::vector<model::id> keys_;  // that are shown
    std::size_t next_key_ = 0;
    wall_ms now_;
    points total_;
    std::unordered_map<model::id, std::uint64_t> requests_;
    std::unordered_map<model::id, bool> visible_;
    wall_ms last_start_ = 0;  // of what was added
    model::id last_id_ = 0;
    std::size_t count_ = 0;
    bool has_all_ = false;  // or as much of it as one request reads
    bool is_complete_ = true;
    std::string text_ = "{\"data\":[";
};

thread_local unsigned usage_report::reports = 0;

api_result<std::unique_ptr<usage_report>> usage_report::open(api::query& query, wall_ms now) {
    auto range = take_range(query, now);
    auto choice = take_choice(query);
    if (!choice) return choice.error();
    if (auto error = query.refuse_rest()) return *error;
    auto const key_count = choice->named.empty() ? choice->top : choice->named.size();
    if (range.count * key_count > base::limits::usage_answer_points_max)
        return bad_parameter(
            "from", field_code::out_of_range,
            "asks for " + std::to_string(range.count) + " points of " + std::to_string(key_count) +
                " keys, the limit is 14400 points; ask for fewer keys, less time or "
                "a coarser granularity");
    if (reports >= reports_max) return make_error(base::problem::overloaded);
    clamp(range, now);
    return std::make_unique<usage_report>(range, std::move(*choice), now);
}

bool usage_report::read(usage_view const& view, std::int64_t cost_max) {
    auto const& work = view.snapshot.work();
    auto const cost_end = cost_max == INT64_MAX ? INT64_MAX : work.cost() + cost_max;
    if (choice_.named.empty() && !has_all_) {
        if (!add_all(view, cost_end)) return false;
        has_all_ = true;
        choose_busiest();
    }
    while (next_key_ < keys_.size()) {
        append_key(view, keys_[next_key_++]);
        if (work.cost() >= cost_end) return false;
    }
    text_.append("],\"total\":");
    append_points(text_, total_);
    text_.append(is_complete_ ? ",\"complete\":true}" : ",\"complete\":false}");
    return true;
}

// False: the rest is for another turn.
bool usage_report::add_all(usage_view const& view, std::int64_t cost_end) {
    auto const& work = view.snapshot.work();
    auto const begin = count_ == 0 ? range_.begin : last_start_;
    bool is_begun = false, is_ended = true;
    model::usage* sum = nullptr;
    domain::list_usage_of_all(
        view.snapshot, range_.step, begin, range_.end,
        [&](wall_ms start, model::id key, model::usage const& usage) {
            if (is_begun && work.cost() >= cost_end) return is_ended = false;
            is_complete_ = ++count_ <= base::limits::usage_records_max;
            if (!is_complete_) return false;
            if (!is_begun || start != last_start_) sum = &total_[start];
            is_begun = true;
            last_start_ = start;
            last_id_ = key;
            if (!view.sees_all && !is_visible(view, key)) return true;
            *sum += usage;
            requests_[key] += usage.requests();
            return true;
        },
        last_id_);
    return is_ended;
}

void usage_report::choose_busiest() {
    std::vector<std::pair<std::uint64_t, model::id>> order;
    for (auto const& [key, requests] : requests_) order.emplace_back(requests, -key);
    auto const count = std::min(choice_.top, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count),
                              std::greater<>());
    for (std::size_t i = 0; i < count; ++i) keys_.push_back(-order[i].second);
}

bool usage_report::is_visible(usage_view const& view, model::id id) {
    auto const [entry, is_new] = visible_.try_emplace(id, false);
    if (is_new) {
        auto const key = view.snapshot.key(id);
        entry->second = key && view.is_visible(*key);
    }
    return entry->second;
}

void usage_report::append_key(usage_view const& view, model::id key) {
    if (!is_visible(view, key)) return;
    auto const own = points_of(view.snapshot, key, range_);
    if (!choice_.named.empty())
        for (auto const& [start, usage] : own) total_[start] += usage;
    text_.append(text_.back() == '[' ? "{\"key_id\":" : ",{\"key_id\":");
    append_number(text_, key);
    text_.push_back(',');
    std::string text;
    append_points(text, own);
    text_.append(text, 1);
}

}  // namespace

std::optional<api_error> append_usage(api::query& query, usage_view const& view,
                                      std::string& output) {
    auto const report = usage_report::open(query, view.now);
    if (!report) return report.error();
    (*report)->read(view, INT64_MAX);
    output.append((*report)->text());
    return std::nullopt;
}

std::optional<api_error> append_usage_of(model::id id, api::query& query, usage_view const& view,
                                         std::string& output) {
    auto range = take_range(query, view.now);
    if (auto error = query.refuse_rest()) return error;
    auto const key = view.snapshot.key(id);
    if (!key || !view.is_visible(*key)) return no_such("key");
    clamp(range, view.now);
    output.append("{\"data\":[");
    bool first = true;
    domain::list_usage(view.snapshot, id, range.step, range.begin, range.end,
                       [&](wall_ms start, model::usage const& usage) {
                           if (!std::exchange(first, false)) output.push_back(',');
                           append_point(output, start, usage);
                       });
    output.append("]}");
    return std::nullopt;
}

std::optional<api_error> list_usage(request_context const& context,
                                    domain::snapshot const& snapshot, http::response& response) {
    auto const is_visible = [&](model::key const& key) {
        return sees_project(context, key.project);
    };
    if (!context.steps) {
        auto report = usage_report::open(context.query, context.now.wall);
        if (!report) return report.error();
        context.steps = std::move(*report);
    }
    auto& report = static_cast<usage_report&>(*context.steps);
    usage_view const view{snapshot, report.now(), is_visible,
                          context.principal.may(model::scope::any)};
    report.is_pending = !report.read(view, step_cost_max);
    if (report.is_pending) return std::nullopt;
    response.body.append(report.text());
    show_resource(response);
    return std::nullopt;
}

std::optional<api_error> get_usage(request_context const& context, domain::snapshot const& snapshot,
                                   http::response& response) {
    auto const is_visible = [&](model::key const& key) {
        return sees_project(context, key.project);
    };
    usage_view const view{snapshot, context.now.wall, is_visible};
    if (auto error = append_usage_of(context.id, context.query, view, response.body)) return error;
    show_resource(response);
    return std::nullopt;
}

}  // namespace latchkey::api
