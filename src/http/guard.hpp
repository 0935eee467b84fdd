// What stands in front of llhttp: refuses every byte sequence on which HTTP parsers are known to
// differ (request smuggling, RFC 9112 §11.2), before llhttp sees it, and everything beyond the
// limits. One pass over the head; what is wrong is refused at its first wrong byte or, where a
// whole element must be judged, at that element's end.
//
//     switch (guard.advance(input, limits)) …   // the same bytes again and more behind them
//
// It remembers offsets, not pointers, so `input` may lie elsewhere at each call, and a head that
// arrives byte by byte is still walked over once. Belongs to a parser, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/problem.hpp"
#include "http/field_lines.hpp"
#include "http/request.hpp"
#include "http/settings.hpp"

namespace latchkey::http {

// A stretch of the input.
struct stretch {
    std::size_t at = 0;
    std::size_t size = 0;

    std::string_view in(std::string_view input) const { return {input.data() + at, size}; }
};

// What the guard learned of a complete head. The parser compares it with what llhttp understood.
struct head_facts {
    stretch message;  // the request line up to and with the empty line
    stretch method;
    stretch target;
    stretch authority;  // of an absolute-form target, else of Host
    stretch path;       // size 0: absolute form without a path
    stretch query;
    http::method verb = http::method::other;
    std::uint8_t minor_version = 1;
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

    // `input` begins where the last message ended and only ever grows at its end. Once complete or
    // refused it stays so.
    verdict advance(std::string_view input, settings const& limits);

    // The same up to the field section. True when that is next and no byte of it was looked at.
    bool read_request_line(std::string_view input, settings const& limits);
    std::size_t section() const { return section_; }  // where it begins

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
    // Whether the stage is done, waits for bytes, or has refused.
    enum class progress : std::uint8_t { done, waits, refused };

    progress refuse(base::problem what, std::string_view detail);
    progress refuse_overlong_line();
    progress read_stage(std::string_view input, settings const& limits);
    progress read_empty_lines(std::string_view input);
    progress read_method(std::string_view input, settings const& limits);
    progress read_target(std::string_view input, settings const& limits);
    progress read_version(std::string_view input, settings const& limits);
    progress read_fields(std::string_view input, settings const& limits);
    progress split_target(std::string_view input);
    progress split_absolute(std::string_view input);
    progress end_request_line(std::string_view input);
    progress judge_request_line(std::string_view input);
    progress judge_field(std::string_view input, stretch line);
    progress judge_host(std::string_view value, std::size_t at);
    progress judge_length(std::string_view value);
    progress judge_coding(std::string_view value);
    progress judge_head();

    stage stage_ = stage::empty_lines;
    std::uint8_t empty_lines_ = 0;
    std::uint8_t major_version_ = 1;
    base::problem problem_ = base::problem::none;
    std::string_view detail_;
    std::size_t at_ = 0;       // the next byte to look at
    std::size_t element_ = 0;  // where the current element (target, version, field line) began
    std::size_t section_ = 0;  // where the header section began
    field_lines lines_;
    head_facts facts_;
};

}  // namespace latchkey::http
