#include "base/nearest.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/ascii.hpp"
#include "base/check.hpp"

namespace latchkey::base {
namespace {

constexpr std::size_t abbreviation_bytes_min = 3;

// The name of the smallest rank, which is at most `rank_max`, if it alone has that rank.
template <typename Rank>
std::optional<std::string_view> first_of(std::span<std::string_view const> names,
                                         std::size_t rank_max, Rank const& rank_of) {
    std::optional<std::string_view> best;
    bool is_ambiguous = false;
    auto least = rank_max + 1;
    for (auto const each : names) {
        auto const rank = rank_of(each);
        if (rank > least || rank > rank_max || (best && rank == least && each == *best)) continue;
        is_ambiguous = rank == least;
        least = rank;
        best = each;
    }
    return is_ambiguous ? std::nullopt : best;
}

}  // namespace

std::size_t edit_distance(std::string_view left, std::string_view right) {
    check(left.size() <= near_name_bytes_max && right.size() <= near_name_bytes_max,
          "the names are short");
    // The last three rows of the table of distances between beginnings of the two names.
    using table_row = std::array<std::uint8_t, near_name_bytes_max + 1>;
    table_row rows[3];
    auto *upper = &rows[0], *above = &rows[1], *row = &rows[2];
    auto const width = right.size();
    std::iota(row->begin(), row->begin() + width + 1, std::uint8_t{0});
    for (std::size_t i = 0; i < left.size(); ++i) {
        std::swap(upper, above);
        std::swap(above, row);
        (*row)[0] = static_cast<std::uint8_t>(i + 1);
        auto const letter = to_lower(left[i]);
        for (std::size_t j = 0; j < width; ++j) {
            int distance = std::min((*above)[j + 1], (*row)[j]) + 1;
            distance = std::min(distance, (*above)[j] + (letter == to_lower(right[j]) ? 0 : 1));
            if (i > 0 && j > 0 && letter == to_lower(right[j - 1]) &&
                to_lower(left[i - 1]) == to_lower(right[j]))
                distance = std::min(distance, (*upper)[j - 1] + 1);
            (*row)[j + 1] = static_cast<std::uint8_t>(distance);
        }
    }
    return (*row)[width];
}

std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<std::string_view const> names) {
    if (name.size() > near_name_bytes_max) return std::nullopt;
    auto const distance_max = std::max<std::size_t>(name.size() / 3, 1);
    auto const distance = [&](std::string_view each) {
        // Names are at least as far apart as their lengths; most are passed over by that.
        auto const longer = std::max(each.size(), name.size());
        auto const shorter = std::min(each.size(), name.size());
        bool const may_be_near = longer - shorter <= distance_max && longer <= near_name_bytes_max;
        return may_be_near ? edit_distance(name, each) : near_name_bytes_max;
    };
    auto const near = first_of(names, distance_max, distance);
    if (near || name.size() < abbreviation_bytes_min) return near;
    return first_of(names, 0, [name](std::string_view each) {
        return begins_ignoring_case(each, name) ? 0u : 1u;
    });
}

}  // namespace latchkey::base
