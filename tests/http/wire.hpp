// Runs byte scripts through a parser as a connection would, however the bytes are cut, and tells
// what came out as text, so that two runs can be compared and a table can say what it expects.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "http/parser.hpp"

namespace latchkey::http {

// Small limits, so that scripts that meet them can be split at every offset.
inline constexpr settings small_limits{
    .request_line_bytes_max = 64, .header_bytes_max = 256, .body_bytes_max = 32};

struct outcome {
    // One piece of text per complete message, see describe() in wire.cpp.
    std::vector<std::string> messages;
    base::problem problem = base::problem::none;
    std::string_view detail;
    std::size_t consumed = 0;  // by complete messages, or by parts of the current body
    std::size_t shown = 0;     // bytes the parser had been shown when it refused, else all

    bool refused() const { return problem != base::problem::none; }
};

// `cuts` are the offsets at which a new read begins, ascending.
outcome run(std::string_view bytes, std::vector<std::size_t> const& cuts, settings const& limits,
            section_cache* sections = nullptr);

// Whole, byte by byte and split at every offset; all must come out the same, which is returned
// (`shown` is that of the run byte by byte). And so must two times the bytes, however the second
// time is split, with a cache that has seen the first and without, and what stands behind the same
// fields under another request line.
outcome run_every_way(std::string_view bytes, settings const& limits = {});

// The bytes, each time behind themselves with another request line in the place of their first.
std::vector<std::string> behind_other_lines(std::string_view bytes);

// The messages, one per line, and then "refused NAME" or "N left" when bytes remain.
std::string tell(outcome const& result, std::size_t size);

}  // namespace latchkey::http
