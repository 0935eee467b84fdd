// Whole numbers on the command line and in settings: decimal digits, and nothing else. CLI11 wraps
// negative numbers of unsigned options, and reads 010 as eight. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/frame/cli11_names.hpp"

namespace latchkey::cli {

// Nothing if there is a sign, a space, another base or a zero in front, or if it is 2^64 or more.
std::optional<std::uint64_t> parse_whole_number(std::string_view text);

// Lets an option take whole numbers from `least` to `most` alone, which its help shows as its type.
CLI::Option* take_number(CLI::Option* option, std::uint64_t least, std::uint64_t most);

}  // namespace latchkey::cli
