// Rows of several tables as one table, joined when the program is compiled.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace latchkey::api {

template <class Row, std::size_t... counts>
constexpr auto joined(Row const (&... tables)[counts]) {
    std::span<Row const> const all[] = {tables...};
    auto const row_at = [&](std::size_t index) -> Row const& {
        auto const* table = all;
        while (index >= table->size()) index -= (table++)->size();
        return (*table)[index];
    };
    return [&]<std::size_t... indices>(std::index_sequence<indices...>) {
        return std::array<Row, sizeof...(indices)>{{row_at(indices)...}};
    }(std::make_index_sequence<(counts + ...)>());
}

}  // namespace latchkey::api
