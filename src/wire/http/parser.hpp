// Parser of HTTP/1.1 and 1.0 requests (RFC 9112): llhttp 8.1.0 with a guard in front of it, which
// refuses every byte sequence on which parsers differ (guard.hpp). A field section that is in the
// cache is not parsed again (section_cache.hpp). One parser per connection; it owns no bytes and
// allocates nothing.
//
//     auto const step = parser.read_head(input, request, framing);
//     // incomplete: call again with the same bytes and more after them
//     // complete:   step.consumed bytes were the head; request's views point into `input`
//     // refused:    answer step.problem and close
//
// An error is reported as soon as its bytes are there. The outcome does not depend on how the bytes
// are split into calls. Not thread-safe; belongs to its connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/problem.hpp"
#include "wire/http/chunk_guard.hpp"
#include "wire/http/guard.hpp"
#include "wire/http/request.hpp"
#include "wire/http/section_cache.hpp"
#include "wire/http/size_limits.hpp"

namespace latchkey::http {

struct step {
    enum class progress : std::uint8_t { incomplete, complete, refused };
    progress state = progress::incomplete;
    std::size_t consumed = 0;  // bytes of the input that must not be passed again
    base::problem problem = base::problem::none;
    std::string_view detail;  // static text for the client, when refused
};

class parser {
  public:
    // Both must outlive the parser. Without `sections` (tests, benchmarks) the cache is off and
    // every field section is parsed.
    explicit parser(size_limits const& limits, section_cache* sections = nullptr)
        : limits_(&limits), sections_(sections) {}
    // Takes effect with the next call.
    void use(size_limits const& limits) { limits_ = &limits; }

    // `input` begins where the last complete message ended and only grows at its end. `consumed` is
    // 0 until the head is complete. A Content-Length above body_bytes_max is refused here (413),
    // after every other check of the head; the request can still be used as after `complete`.
    step read_head(std::string_view input, request& request, framing& framing);

    // After a complete head with a body: consumes the body's bytes at the front of `input` and
    // appends the content to `body`. `complete` when the last byte (of the trailers, if chunked)
    // was consumed. A sized body that lies in `input` completely can be viewed in place instead
    // (`framing::content_length`), without calling this. A chunk that makes the content longer than
    // `bytes_max` (the same for all of a body) or than the limits is refused (413) at its size,
    // before its data, so that the answer does not depend on how the bytes arrive.
    step read_body(std::string_view input, std::string& body,
                   std::size_t bytes_max = std::string_view::npos);

    // Resets the parser for the next message. Call it after each message.
    void next();

  private:
    // Large enough for llhttp_t of 8.x and 9.x; parser.cpp asserts it. Keeps llhttp.h out of here.
    static constexpr std::size_t llhttp_bytes = 128;

    cached_section const* find_section(std::string_view input);
    step fill_from_cache(cached_section const& section, std::string_view input, request& request,
                         framing& framing);
    step read_section(std::string_view input, request& request, framing& framing);
    step parse_head(std::string_view input, request& request);
    step read_chunks(std::string_view input, std::string& body, std::size_t bytes_max);

    size_limits const* limits_;
    section_cache* sections_;
    section_cache::slot slot_ = 0;
    framing::body_kind kind_ = framing::body_kind::none;
    std::uint64_t remaining_ = 0;  // of a sized body
    guard guard_;
    chunk_guard chunks_;
    alignas(std::max_align_t) std::byte llhttp_[llhttp_bytes];
};

}  // namespace latchkey::http
