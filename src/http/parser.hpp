// HTTP/1.1 and 1.0 requests out of bytes (RFC 9112), over llhttp 8.1.0 with a guard in front of it:
// one pass over the header block that refuses every byte sequence on which parsers differ
// (src/http/guard.hpp). Fields that are those of before are taken over instead
// (src/http/section_cache.hpp). One parser per connection; it owns no bytes and allocates nothing.
//
//     auto const step = parser.read_head(input, request, framing);
//     // incomplete: call again with the same bytes and more behind them
//     // complete:   step.consumed bytes were the head; request's views point into `input`
//     // refused:    answer step.problem and close
//
// What is wrong is refused as soon as its bytes are there. However a byte string is split into
// calls, the outcome is the same. Not thread-safe; belongs to its connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/problem.hpp"
#include "http/chunk_guard.hpp"
#include "http/guard.hpp"
#include "http/request.hpp"
#include "http/section_cache.hpp"
#include "http/settings.hpp"

namespace latchkey::http {

struct step {
    enum class state : std::uint8_t { incomplete, complete, refused };
    state state = state::incomplete;
    std::size_t consumed = 0;  // bytes of the input that need not be shown again
    base::problem problem = base::problem::none;
    std::string_view detail;  // static text for people, when refused
};

class parser {
  public:
    // Both must outlive the parser. Without `sections` every field section is read.
    explicit parser(settings const& limits, section_cache* sections = nullptr)
        : limits_(&limits), sections_(sections) {}
    // From the next call on these hold.
    void use(settings const& limits) { limits_ = &limits; }

    // `input` begins where the last complete message ended and always grows at its end only.
    // `consumed` is 0 until the head is complete. A declared length above body_bytes_max is
    // refused here (413), after everything else about the head was checked.
    step read_head(std::string_view input, request& into, framing& how);

    // After a complete head with a body: takes what belongs to it from the front of `input` and
    // appends the content to `body`. `complete` when the last byte (of the trailers, if chunked)
    // was consumed. A sized body that already lies in `input` whole can be viewed in place instead
    // (`framing::content_length`), without calling this. A chunk with which the content would be
    // longer than `bytes_max` (the same for all of a body), or than the limits allow, is refused
    // (413) as soon as its size is there.
    step read_body(std::string_view input, std::string& body,
                   std::size_t bytes_max = std::string_view::npos);

    // Forgets the current message; the next byte begins a new one. To be called after each message.
    void next();

  private:
    // Big enough for llhttp_t of 8.x and 9.x; parser.cpp checks it, so that llhttp.h stays there.
    static constexpr std::size_t llhttp_bytes = 128;

    known_section const* find_section(std::string_view input);
    step take_over(known_section const& seen, std::string_view input, request& into, framing& how);
    step read_section(std::string_view input, request& into, framing& how);
    step parse_head(std::string_view input, request& into);
    step read_chunks(std::string_view input, std::string& body, std::size_t bytes_max);

    settings const* limits_;
    section_cache* sections_;
    section_cache::place place_ = 0;
    framing::body_kind kind_ = framing::body_kind::none;
    std::uint64_t remaining_ = 0;  // of a sized body
    guard guard_;
    chunk_guard chunks_;
    alignas(std::max_align_t) std::byte llhttp_[llhttp_bytes];
};

}  // namespace latchkey::http
