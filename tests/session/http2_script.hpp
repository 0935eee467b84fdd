// The bytes that a client of HTTP/2 sends, made by hand, so that they may also be wrong: frames
// (RFC 9113 §4 and §6), header blocks (RFC 7541 §6) and requests of them. Shares no code with
// src/http2 but the numbers of frames, flags and errors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/http2/frame.hpp"

namespace latchkey::session::script {

namespace h2 = ::latchkey::http2;

using h2_type = h2::frame_type;
using code = h2::error_code;
namespace flag = h2::flag;

inline constexpr std::uint8_t whole_block = flag::end_headers;
inline constexpr std::uint8_t last_block = flag::end_headers | flag::end_stream;

std::string bytes(std::initializer_list<unsigned> octets);
std::string number(std::uint32_t value);  // four bytes

// ---- frames

std::string frame(h2_type type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload = {});
std::string frame(unsigned type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload = {});
// Sets the reserved bit of the stream's number, in the first frame of `frames`.
std::string with_reserved_bit(std::string frames);

std::string data(std::uint32_t stream, std::string_view content, std::uint8_t flags = 0);
std::string headers(std::uint32_t stream, std::string_view block, std::uint8_t flags = last_block);
std::string continuation(std::uint32_t stream, std::string_view part,
                         std::uint8_t flags = flag::end_headers);
// The payload of a PRIORITY frame, which HEADERS may carry too (RFC 7540 §6.3).
std::string dependency(std::uint32_t parent, unsigned weight = 16, bool exclusive = false);
std::string priority(std::uint32_t stream, std::uint32_t parent, unsigned weight = 16,
                     bool exclusive = false);
std::string priority_update(std::uint32_t stream, std::string_view value);
std::string reset(std::uint32_t stream, code reason = code::cancel);
using setting_list = std::initializer_list<std::pair<unsigned, std::uint32_t>>;
std::string settings_of(setting_list values = {});
std::string settings_ack();
std::string ping(std::string_view payload = "opaque-8", std::uint8_t flags = 0);
std::string goaway(std::uint32_t last_stream, std::uint32_t reason = 0,
                   std::string_view detail = {});
std::string window_update(std::uint32_t stream, std::uint32_t increment);

// The payload of a frame with the flag `padded`.
std::string padded(unsigned padding, std::string_view content);

// The numbers of settings (RFC 9113 §6.5.2, RFC 9218 §2.1).
namespace setting {
inline constexpr unsigned header_table_size = 1, enable_push = 2, max_concurrent_streams = 3,
                          initial_window_size = 4, max_frame_size = 5, max_header_list_size = 6,
                          no_rfc7540_priorities = 9;
}

// ---- header blocks

// An integer behind a prefix of that many bits, below which `pattern` has the bits of its kind.
std::string integer(unsigned pattern, unsigned prefix_bits, std::uint64_t value);
std::string text(std::string_view plain);      // a string literal, not compressed
std::string huffman(std::string_view packed);  // a string literal of that code
std::string indexed(std::uint64_t index);
std::string table_size(std::uint64_t bytes);

// The kinds of literals (RFC 7541 §6.2).
enum class retention : std::uint8_t { in_table = 0x40, nowhere = 0x00, never = 0x10 };
std::string literal(std::string_view name, std::string_view value,
                    retention kind = retention::never);
std::string literal(std::uint64_t name_index, std::string_view value_literal, retention kind);

using fields = std::vector<std::pair<std::string, std::string>>;
std::string block(fields const& list);

// ---- requests

// A client that knows a key.
class client {
  public:
    explicit client(std::string_view key) : key_(key) {}

    std::string_view key() const { return key_; }
    // GET of a user who exists.
    fields get_fields(fields const& more = {}) const;
    // POST of something that is looked up, and changes nothing.
    fields post_fields(fields const& more = {}) const;
    std::string get(std::uint32_t stream, fields const& more = {}) const {
        return headers(stream, block(get_fields(more)));
    }
    // Its content is to follow.
    std::string post(std::uint32_t stream, fields const& more = {}) const {
        return headers(stream, block(post_fields(more)), whole_block);
    }
    std::string whole_post(std::uint32_t stream, fields const& more = {}) const {
        return post(stream, more) + data(stream, content, flag::end_stream);
    }
    // GET with one field, by name, replaced; removed where `value` is null.
    fields get_fields_but(std::string_view name, char const* value) const;

    static constexpr std::string_view content = R"({"key":"a"})";

  private:
    std::string key_;
};

}  // namespace latchkey::session::script
