// Cache of parsed field sections (RFC 9110 §6.3). A client mostly repeats its fields, and equal
// bytes have equal meaning: guard and llhttp parse them once, and later requests take over the
// result. The request line is always read by the guard.
//
//     if (auto const* const section = cache.find(slot, rest)) section->fill(rest, request);
//     else … cache.insert(slot, section, request, framing);   // after parsing it
//
// The secret after `Bearer` or in X-API-Key is neither stored nor counted: any text of that
// length, of visible ASCII, which every parser takes as part of the value. Not cached are sections
// with a second credential, with a field that `is_cacheable` (request.hpp) excludes, with a chunked
// body (llhttp goes on reading it), or larger than the bounds below.
//
// Measured (bench/README.md): reading a head takes 0.34 of the time with 2 fields, 0.12 with 12; a
// GET of the server against the limit program 1.34 → 1.19, pipelined 3.6 → 3.0. Off switch: a
// parser without a cache parses every section. `http-bench` runs both (read_head,
// read_head_cached), and tests/http compare them.
//
// One per worker, on its thread; about 70 KiB, no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/limits.hpp"
#include "wire/http/request.hpp"

namespace latchkey::http {

class cached_section {
  public:
    static constexpr std::size_t bytes_max = 768;  // around the secret
    static constexpr std::size_t fields_max = 16;
    static_assert(fields_max <= base::limits::header_fields_max);

    std::size_t size() const { return size_; }  // 0: empty
    http::framing const& framing() const { return framing_; }
    // Adds the fields and the authority (from Host) to `request`. `rest` begins with the section;
    // all views point into it.
    void fill(std::string_view rest, request& request) const;

  private:
    friend class section_cache;
    struct span {
        std::uint16_t offset = 0;
        std::uint16_t size = 0;
        std::string_view view(std::string_view bytes) const {
            return {bytes.data() + offset, size};
        }
    };
    struct line {
        span name;
        span value;
        field_name id = field_name::unknown;
    };

    bool matches(std::string_view rest) const;

    std::uint16_t size_ = 0;
    std::uint16_t field_count_ = 0;
    span secret_;  // not in `bytes_`
    span authority_;
    http::framing framing_;
    std::array<line, fields_max> fields_;
    std::array<char, bytes_max> bytes_;
};

class section_cache {
  public:
    static constexpr std::size_t entry_count = 64;
    using slot = std::uint8_t;  // a connection's last entry; initially any

    // The entry of the connection's last request if `rest` begins with that section; else null, and
    // the section must be parsed.
    cached_section const* find(slot last, std::string_view rest) const {
        auto const& entry = entries_[last % entry_count];
        return entry.matches(rest) ? &entry : nullptr;
    }

    // Stores a parsed section, if it may be cached, and sets `last` to its slot. Only for HTTP/1.1
    // requests without an absolute target. The views of `request` point into `section`.
    void insert(slot& last, std::string_view section, request const& request,
                framing const& framing);

  private:
    std::array<cached_section, entry_count> entries_;
};

}  // namespace latchkey::http
