// What the store as a whole does with usage.
#include <algorithm>

#include "domain/frame/consistency_check.hpp"
#include "domain/frame/time_sweep.hpp"
#include "domain/usage/usage_kind.hpp"

namespace latchkey::domain {
namespace {

using base::wall_ms;

bool is_late_usage(std::string_view key, std::string_view, wall_ms now) {
    base::reader input(key);
    auto const step = input.integer<std::uint8_t>();
    auto const start = input.integer<wall_ms>();
    return step < model::granularities.size() && start > now;
}

// Each granularity by itself, so an hour stays the sum of its minutes.
bool redate_usage(transaction& txn, std::string_view key, wall_ms now) {
    base::reader input(key);
    auto const step = model::granularities[input.integer<std::uint8_t>()];
    auto const start = input.integer<wall_ms>();
    auto const id = input.integer<model::id>();
    auto const usage_at = [&](std::string_view usage_key) {
        auto const bytes = txn.get(table::index, usage_key);
        return bytes ? model::decode_usage(*bytes).value_or(model::usage{}) : model::usage{};
    };
    auto const late_key = usage_in(step, start).add(id);
    auto const present_key = usage_in(step, model::start_of(step, now)).add(id);
    auto sum = usage_at(present_key);
    sum += usage_at(late_key);
    encode(sum, txn.scratch);
    txn.put(table::index, present_key, txn.scratch);
    txn.erase(table::index, late_key);
    return true;
}

constexpr tag usage_tags[] = {tag::key_usage};
constexpr time_sweep usage_sweeps[] = {{table::index,
                                        tag::key_usage,
                                        is_late_usage,
                                        redate_usage,
                                        {"usage", "entry of usage", "entries of usage"}}};

}  // namespace

constinit kind const usage_kind{.tags = usage_tags, .check = check_usage, .sweeps = usage_sweeps};

}  // namespace latchkey::domain
