// The frames of HTTP/2 (RFC 9113 §4 and §6): their heads, the settings, and how the small ones are
// written. Stateless but for `settings`; what a frame means is the session's business.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace latchkey::http2 {

// The bytes that a client sends first (§3.4).
inline constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

inline constexpr std::size_t frame_head_bytes = 9;
inline constexpr std::uint32_t default_window = 65'535;
inline constexpr std::uint32_t window_max = 0x7fff'ffff;
inline constexpr std::uint32_t default_frame_bytes_max = 16'384;
inline constexpr std::uint32_t frame_bytes_limit = 16'777'215;
inline constexpr std::uint32_t stream_id_max = 0x7fff'ffff;

// §6, and PRIORITY_UPDATE of RFC 9218 §7.1.
enum class frame_type : std::uint8_t {
    data = 0,
    headers = 1,
    priority = 2,
    rst_stream = 3,
    settings = 4,
    push_promise = 5,
    ping = 6,
    goaway = 7,
    window_update = 8,
    continuation = 9,
    priority_update = 16,
};

namespace flag {
inline constexpr std::uint8_t ack = 0x1;         // SETTINGS, PING
inline constexpr std::uint8_t end_stream = 0x1;  // DATA, HEADERS
inline constexpr std::uint8_t end_headers = 0x4;
inline constexpr std::uint8_t padded = 0x8;
inline constexpr std::uint8_t priority = 0x20;
}  // namespace flag

// §7.
enum class error_code : std::uint32_t {
    no_error = 0,
    protocol_error = 1,
    internal_error = 2,
    flow_control_error = 3,
    settings_timeout = 4,
    stream_closed = 5,
    frame_size_error = 6,
    refused_stream = 7,
    cancel = 8,
    compression_error = 9,
    connect_error = 10,
    enhance_your_calm = 11,
    inadequate_security = 12,
    http_1_1_required = 13,
};

struct frame_head {
    std::uint32_t length = 0;  // of the payload
    frame_type type = frame_type::data;
    std::uint8_t flags = 0;
    std::uint32_t stream = 0;

    bool has(std::uint8_t mask) const { return (flags & mask) != 0; }
};

// The first frame_head_bytes of `bytes`; the reserved bit is ignored (§4.1).
frame_head read_frame_head(char const* bytes);
void put_frame_head(frame_head const& head, std::string& output);
// Over bytes that were kept free for it.
void write_frame_head(frame_head const& head, char* output);

std::uint32_t read_uint32(char const* bytes);

// The settings that one side has announced (§6.5.2).
struct settings {
    std::uint32_t header_table_bytes = 4096;
    std::uint32_t header_table_bytes_least = UINT32_MAX;  // of the latest frame; none: the most
    bool push = true;
    std::uint32_t streams_max = UINT32_MAX;
    std::uint32_t window = default_window;
    std::uint32_t frame_bytes_max = default_frame_bytes_max;
    std::uint32_t header_list_bytes_max = UINT32_MAX;
    bool no_rfc7540_priorities = false;  // RFC 9218 §2.1
};
// The payload of a SETTINGS frame of a client. A code other than no_error: the connection's end;
// then nothing of `into` is to be used any more.
error_code read_settings(std::string_view payload, settings& target);

// Whole frames.
void put_settings(settings const& ours, std::string& output);  // what differs from the defaults
void put_settings_ack(std::string& output);
void put_ping_ack(std::string_view payload, std::string& output);
void put_rst_stream(std::uint32_t stream, error_code code, std::string& output);
void put_goaway(std::uint32_t last_stream, error_code code, std::string_view detail,
                std::string& output);
void put_window_update(std::uint32_t stream, std::uint32_t increment, std::string& output);

// The payload of DATA or HEADERS without padding and, for HEADERS, without the priority (§6.1,
// §6.2). Errors: the padding is not shorter than the payload (PROTOCOL_ERROR), or the payload is
// too short for its fields (FRAME_SIZE_ERROR).
struct content {
    std::string_view bytes;
    error_code problem = error_code::no_error;
    std::optional<std::uint32_t> dependency;  // the stream on which HEADERS depends (RFC 7540)
};
content content_of(frame_head const& head, std::string_view payload);

// The urgency, 0 (first) to 7, and whether the parts of several responses may alternate.
struct priority {
    std::uint8_t urgency = 3;
    bool incremental = false;
};
// The value of a `priority` field or of PRIORITY_UPDATE (RFC 9218 §4): members that it does not
// know or that have another type are ignored; nullopt where it is no dictionary (RFC 8941 §4.2).
std::optional<priority> parse_priority(std::string_view text);

}  // namespace latchkey::http2
