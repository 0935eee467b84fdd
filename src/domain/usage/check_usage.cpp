// The usage of keys by minute, hour and day.
#include <map>

#include "domain/frame/consistency_check.hpp"

namespace latchkey::domain {
namespace {

void check_usage_entries(consistency_check& check) {
    auto const visit = [&](std::string_view key, std::string_view content) {
        base::reader input(key);
        auto const step = input.integer<std::uint8_t>();
        auto const start = input.integer<base::wall_ms>();
        auto const id = input.integer<model::id>();
        if (!input.done() || step >= model::granularities.size() ||
            model::start_of(model::granularities[step], start) != start)
            return check.report("an entry of usage has a key of another form");
        if (!check.has(table::index, key_key(id)))
            check.report("usage of " + name("key", id) + " is of no key");
        else if (!model::decode_usage(content))
            check.report("usage of " + name("key", id) + " cannot be read");
    };
    check.walk(table::index, key_bytes{tag::key_usage}, visit);
}

// The sums of the finer steps against the coarser ones. Where finer steps have expired already, the
// coarser one may be larger.
void check_usage_sums(consistency_check& check, model::granularity fine,
                      model::granularity coarse) {
    std::map<std::pair<base::wall_ms, model::id>, std::uint64_t> sums;
    auto const walk_step = [&](model::granularity step, auto const& visit) {
        auto const prefix = key_bytes{tag::key_usage}.add(static_cast<std::uint8_t>(step));
        check.walk(table::index, prefix, [&](std::string_view key, std::string_view content) {
            base::reader input(key);
            auto const start = input.integer<base::wall_ms>();
            auto const id = input.integer<model::id>();
            auto const usage = model::decode_usage(content);
            if (input.done() && usage) visit(start, id, usage->requests());
        });
    };
    walk_step(fine, [&](base::wall_ms start, model::id id, std::uint64_t requests) {
        sums[{model::start_of(coarse, start), id}] += requests;
    });
    auto const complete_since = check.counters.written_at - model::retention_of(fine);
    walk_step(coarse, [&](base::wall_ms start, model::id id, std::uint64_t requests) {
        auto const entry = sums.extract({start, id});
        auto const sum = entry ? entry.mapped() : 0;
        if (start >= complete_since ? sum != requests : sum > requests)
            check.report("usage of " + name("key", id) + " differs between " +
                         std::string(name_of(fine)) + " and " + std::string(name_of(coarse)));
    });
    for (auto const& [entry, sum] : sums)
        check.report("usage of " + name("key", entry.second) + " stands by " +
                     std::string(name_of(fine)) + " and not by " + std::string(name_of(coarse)));
}

}  // namespace

void check_usage(consistency_check& check) {
    check_usage_entries(check);
    check_usage_sums(check, model::granularity::minute, model::granularity::hour);
    check_usage_sums(check, model::granularity::hour, model::granularity::day);
}

}  // namespace latchkey::domain
