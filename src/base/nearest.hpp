// The name that was probably meant in place of one that is unknown: "did you mean expires_in?".
// The distance of two names counts insertions, deletions, substitutions and swaps of neighbours
// (optimal string alignment); the case of ASCII does not count. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace latchkey::base {

// A longer name is near to none: a client chooses its length, and the distance takes its square.
inline constexpr std::size_t near_name_bytes_max = 64;

// The edits that make one name of the other; both have at most near_name_bytes_max bytes.
std::size_t edit_distance(std::string_view left, std::string_view right);

// One of `names`: the one at the smallest distance, which is at most a third of the name's length
// and may always be 1, or else the one that the name abbreviates, with at least three characters.
// None: there is no such name, or there are several, of which a wrong one would mislead.
std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<std::string_view const> names);

}  // namespace latchkey::base
