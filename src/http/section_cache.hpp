// Field sections (RFC 9110 §6.3) that were read before. A client mostly sends the same one with
// each of its requests, and the same bytes mean the same: guard and llhttp read them once, and what
// they found is taken over from then on.
//
//     if (auto const* const seen = cache.find(place, rest)) seen->show(rest, request);
//     else … cache.keep(place, section, request, framing);   // once it was read
//
// Keys are not kept: the text behind `Bearer` or in X-API-Key may be any of the same length, as
// long as it is visible ASCII, which is a part of the value to whoever parses it.
// Nor are sections with a second credential, with any field but the usual ones, which could hold
// another secret, with one that names this one request, with a chunked body (llhttp goes on reading
// that), or of an unusual size.
//
// One per worker, on its thread; about 70 KiB, no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/limits.hpp"
#include "http/request.hpp"

namespace latchkey::http {

class known_section {
  public:
    static constexpr std::size_t bytes_max = 768;
    static constexpr std::size_t fields_max = 16;
    static_assert(fields_max <= base::limits::header_fields_max);

    std::size_t size() const { return size_; }  // 0: nothing is kept here
    // What the connection and the body are to be.
    framing const& how() const { return how_; }
    // Adds the fields and the authority (that of Host); `rest` begins with the section, into which
    // all views point.
    void show(std::string_view rest, request& into) const;

  private:
    friend class section_cache;
    struct span {
        std::uint16_t at = 0;
        std::uint16_t size = 0;
        std::string_view in(std::string_view bytes) const { return {bytes.data() + at, size}; }
    };
    struct line {
        span name;
        span value;
        field_name known = field_name::unknown;
    };

    bool is(std::string_view rest) const;

    std::uint16_t size_ = 0;
    std::uint16_t field_count_ = 0;
    span secret_;  // zeros among the bytes
    span authority_;
    framing how_;
    std::array<line, fields_max> fields_;
    std::array<char, bytes_max> bytes_;
};

class section_cache {
  public:
    static constexpr std::size_t entries = 64;
    using place = std::uint8_t;  // where a connection's last section is; at first, any

    // That of the last request, if `rest` begins with it too; null: it must be read.
    known_section const* find(place last, std::string_view rest) const {
        auto const& entry = kept_[last % entries];
        return entry.is(rest) ? &entry : nullptr;
    }

    // After a section was read as HTTP/1.1, and not with an absolute target: keeps it, if that may
    // be, and says where. The views of `read` point into it.
    void keep(place& last, std::string_view section, request const& read, framing const& how);

  private:
    std::array<known_section, entries> kept_;
};

}  // namespace latchkey::http
