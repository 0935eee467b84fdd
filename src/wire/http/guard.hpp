// Validator in front of llhttp: refuses every byte sequence on which HTTP parsers are known to
// differ (request smuggling, RFC 9112 §11.2), and everything beyond the limits. One pass over the
// head; an error is reported at the first invalid byte or, where a whole element must be checked,
// at its end.
//
//     switch (guard.advance(input, limits)) …   // again with the same bytes and more after them
//
// Keeps offsets, not pointers, so `input` may move between calls, and a head that arrives byte by
// byte is still read once. Belongs to a parser, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/problem.hpp"
#include "wire/http/field_lines.hpp"
#include "wire/http/request.hpp"
#include "wire/http/size_limits.hpp"

namespace latchkey::http {

// A part of the input.
struct byte_range {
    std::size_t offset = 0;
    std::size_t size = 0;

    std::string_view view(std::string_view input) const { return {input.data() + offset, size}; }
};

// The guard's reading of a complete head. The parser compares it with llhttp's.
struct head_facts {
    byte_range message;  // from the request line through the empty line
    byte_range method;
    byte_range target;
    byte_range authority;  // of an absolute-form target, else of Host
    byte_range path;       // size 0: absolute form without a path
    byte_range query;
    http::method verb = http::method::other;
    // 0 or 1. A newer minor version is read as 1.1 (RFC 9110 §2.5).
    std::uint8_t minor_version = 1;
    bool newer_minor = false;
    std::size_t field_count = 0;
    bool has_host = false;
    bool has_length = false;
    bool chunked = false;
    bool absolute = false;
    std::uint64_t content_length = 0;
};

class guard {
  public:
    enum class verdict : std::uint8_t { more, complete, refused };

    // `input` begins where the last message ended and only grows at its end. `complete` and
    // `refused` are final.
    verdict advance(std::string_view input, size_limits const& limits);

    // The same up to the field section. True when no byte of that section was read yet.
    bool read_request_line(std::string_view input, size_limits const& limits);
    std::size_t section() const { return section_; }  // its offset

    head_facts const& facts() const { return facts_; }
    base::problem problem() const { return problem_; }
    std::string_view detail() const { return detail_; }

  private:
    enum class stage : std::uint8_t {
        empty_lines,
        method,
        target,
        version,
        fields,
        complete,
        refused
    };
    enum class progress : std::uint8_t { done, incomplete, refused };

    progress refuse(base::problem code, std::string_view detail);
    progress refuse_overlong_line();
    progress read_stage(std::string_view input, size_limits const& limits);
    progress read_empty_lines(std::string_view input);
    progress read_method(std::string_view input, size_limits const& limits);
    progress read_target(std::string_view input, size_limits const& limits);
    progress read_version(std::string_view input, size_limits const& limits);
    progress read_fields(std::string_view input, size_limits const& limits);
    progress split_target(std::string_view input);
    progress split_absolute(std::string_view input);
    progress check_tunnel(std::string_view target);
    progress end_request_line(std::string_view input);
    progress check_request_line(std::string_view input);
    progress read_field(std::string_view input, byte_range line);
    progress read_host(std::string_view value, std::size_t offset);
    progress read_length(std::string_view value);
    progress read_coding(std::string_view value);
    progress end_head();

    stage stage_ = stage::empty_lines;
    std::uint8_t empty_lines_ = 0;
    std::uint8_t major_version_ = 1;
    base::problem problem_ = base::problem::none;
    std::string_view detail_;
    std::size_t position_ = 0;  // of the next byte
    std::size_t element_ = 0;   // offset of the current element (target, version, field line)
    std::size_t section_ = 0;   // offset of the header section
    field_lines lines_;
    head_facts facts_;
};

}  // namespace latchkey::http
