// The names of numbers that kinds of records share between them: a kind has some in its row
// (kind.hpp), and together they begin with 0 and leave none out. Values, any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "domain/kind_list.hpp"

namespace latchkey::domain {

template <std::size_t Maximum>
class numbered_names {
  public:
    // `rows` is the member of a kind that has its names, as pairs of number and name.
    template <class Rows>
    explicit numbered_names(Rows kind::* rows) {
        for (auto const* const each : kind_list)
            for (auto const& [number, name] : each->*rows) {
                names_.at(static_cast<std::size_t>(number)) = name;
                count_ = std::max(count_, static_cast<std::size_t>(number) + 1);
            }
    }
    std::span<std::string_view const> all() const { return {names_.data(), count_}; }

  private:
    std::array<std::string_view, Maximum> names_{};
    std::size_t count_ = 0;
};

}  // namespace latchkey::domain
