#include "base/nearest.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/ascii.hpp"
#include "base/check.hpp"

namespace latchkey::base {
namespace {

constexpr std::size_t abbreviation_bytes_min = 3;

// The name of the smallest rank, which is at most `most`, if it alone has that rank.
template <typename Rank>
std::optional<std::string_view> first_of(std::span<std::string_view const> names, std::size_t most,
                                         Rank const& rank_of) {
    auto const best = std::ranges::min_element(names, {}, rank_of);
    if (best == names.end() || rank_of(*best) > most) return std::nullopt;
    bool const is_ambiguous = std::ranges::any_of(names, [&](std::string_view each) {
        return each != *best && rank_of(each) == rank_of(*best);
    });
    return is_ambiguous ? std::nullopt : std::optional(*best);
}

}  // namespace

std::size_t edit_distance(std::string_view left, std::string_view right) {
    check(left.size() <= near_name_bytes_max && right.size() <= near_name_bytes_max,
          "the names are short");
    // The last three rows of the table of distances between beginnings of the two names.
    std::array<std::size_t, near_name_bytes_max + 1> upper{}, above{}, row{};
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < left.size(); ++i) {
        upper = above;
        above = row;
        row[0] = i + 1;
        for (std::size_t j = 0; j < right.size(); ++j) {
            bool const is_same = to_lower(left[i]) == to_lower(right[j]);
            row[j + 1] = std::min({above[j + 1] + 1, row[j] + 1, above[j] + (is_same ? 0u : 1u)});
            if (i > 0 && j > 0 && to_lower(left[i]) == to_lower(right[j - 1]) &&
                to_lower(left[i - 1]) == to_lower(right[j]))
                row[j + 1] = std::min(row[j + 1], upper[j - 1] + 1);
        }
    }
    return row[right.size()];
}

std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<std::string_view const> names) {
    if (name.size() > near_name_bytes_max) return std::nullopt;
    auto const distance = [name](std::string_view each) {
        return each.size() > near_name_bytes_max ? near_name_bytes_max : edit_distance(name, each);
    };
    auto const near = first_of(names, std::max<std::size_t>(name.size() / 3, 1), distance);
    if (near || name.size() < abbreviation_bytes_min) return near;
    return first_of(names, 0, [name](std::string_view each) {
        return begins_ignoring_case(each, name) ? 0u : 1u;
    });
}

}  // namespace latchkey::base
