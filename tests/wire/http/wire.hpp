// Runs byte scripts through a parser as a connection would, split in different ways, and formats
// the outcome as text, so that runs can be compared and tables can state what they expect.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "wire/http/parser.hpp"

namespace latchkey::http {

// Small limits, so that scripts that meet them can be split at every offset.
inline constexpr size_limits small_limits{
    .request_line_bytes_max = 64, .header_bytes_max = 256, .body_bytes_max = 32};

struct outcome {
    // One piece of text per complete message, see format_request() in wire.cpp.
    std::vector<std::string> messages;
    base::problem problem = base::problem::none;
    std::string_view detail;
    std::size_t consumed = 0;   // by complete messages and by the current body
    std::size_t bytes_fed = 0;  // bytes passed to the parser before it refused; else all

    bool refused() const { return problem != base::problem::none; }
};

// `cuts` are the offsets at which a new read begins, ascending.
outcome run(std::string_view bytes, std::vector<std::size_t> const& cuts, size_limits const& limits,
            section_cache* sections = nullptr);

// Runs the bytes whole, byte by byte and split at every offset, expects equal outcomes and returns
// the one of the run byte by byte. Then compares runs with and without a section cache: of the
// bytes twice in a row, the second time split at every offset, and of the scripts of
// `with_other_request_lines`.
outcome run_all_splits(std::string_view bytes, size_limits const& limits = {});

// The script, each time preceded by itself with another request line in place of its first.
std::vector<std::string> with_other_request_lines(std::string_view bytes);

// The messages, one per line, and then "refused NAME" or "N left" when bytes remain.
std::string format_outcome(outcome const& result, std::size_t size);

}  // namespace latchkey::http
