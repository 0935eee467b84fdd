// Reading the usage of keys (api.md §4).
#include <utility>

#include "domain/frame/id_walk.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::domain {

void snapshot::usage(model::id key, model::granularity granularity, base::wall_ms begin,
                     base::wall_ms end, usage_sink sink) const {
    auto start = model::start_of(granularity, begin);
    for (; start < end; start += model::length_of(granularity)) {
        auto const bytes = state_->get(table::index, usage_in(granularity, start).add(key));
        auto const usage = bytes ? state_->readable(model::decode_usage(*bytes)) : std::nullopt;
        sink(start, usage.value_or(model::usage{}));
    }
}

// The index has the keys of a step one after the other.
void snapshot::usage_of_all(model::granularity granularity, base::wall_ms begin, base::wall_ms end,
                            usage_visitor visitor, model::id last_key) const {
    auto start = model::start_of(granularity, begin);
    for (; start < end; start += model::length_of(granularity)) {
        id_walk walk(*state_, table::index, usage_in(granularity, start));
        bool more = walk.at_or_above(std::exchange(last_key, 0) + 1);
        for (; more; more = walk.next()) {
            auto const bytes = walk.content();
            auto const usage = state_->readable(bytes ? model::decode_usage(*bytes) : std::nullopt);
            if (!usage || !visitor(start, walk.id(), *usage)) return;
        }
    }
}

}  // namespace latchkey::domain
