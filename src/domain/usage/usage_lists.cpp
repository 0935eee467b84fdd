#include "domain/usage/usage_lists.hpp"

#include <utility>

#include "domain/frame/id_walk.hpp"

namespace latchkey::domain {

void list_usage(snapshot const& view, model::id key, model::granularity granularity,
                base::wall_ms begin, base::wall_ms end, usage_sink sink) {
    auto& state = view.state();
    auto start = model::start_of(granularity, begin);
    for (; start < end; start += model::length_of(granularity)) {
        auto const bytes = state.get(table::index, usage_in(granularity, start).add(key));
        auto const usage = bytes ? state.readable(model::decode_usage(*bytes)) : std::nullopt;
        sink(start, usage.value_or(model::usage{}));
    }
}

// The index has the keys of a step one after the other.
void list_usage_of_all(snapshot const& view, model::granularity granularity, base::wall_ms begin,
                       base::wall_ms end, usage_visitor visitor, model::id last_key) {
    auto& state = view.state();
    auto start = model::start_of(granularity, begin);
    for (; start < end; start += model::length_of(granularity)) {
        id_walk walk(state, table::index, usage_in(granularity, start));
        bool more = walk.at_or_above(std::exchange(last_key, 0) + 1);
        for (; more; more = walk.next()) {
            auto const bytes = walk.content();
            auto const usage = state.readable(bytes ? model::decode_usage(*bytes) : std::nullopt);
            if (!usage || !visitor(start, walk.id(), *usage)) return;
        }
    }
}

}  // namespace latchkey::domain
