// What the service and its helper `latchkey-trace` say to each other, and its encoding. A channel
// (helpers/kit/channel.hpp) carries the encoded messages.
//
//     helper               service
//     hello            →   spans on the way are lost (helpers/kit/hello.hpp)
//                      ←   begin
//                      ←   settings
//                      ←   batch…
//     report…          →   after each request to the endpoint
//                      ←   flush: what it has is to be sent at once
//
// Encoding: type (1), then the members in the order in which they stand here. Integers are
// big-endian, texts follow their length (2), lists their count (2). Decoding checks every length
// against what is there and against the bounds below. Values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "helpers/kit/hello.hpp"
#include "helpers/trace/protocol/span.hpp"

namespace latchkey::trace::protocol {

using kit::hello, kit::begin;

// Raised with every change of a message: service and helper come from the same build.
inline constexpr std::uint32_t protocol_version = 2;
inline constexpr std::size_t text_bytes_max = 8 * 1024;
inline constexpr std::size_t fields_max = 64;
inline constexpr std::size_t spans_per_batch_max = 512;

// Since the helper began. A span is reported once: it was exported, or it was dropped because the
// helper had too many or the endpoint did not take it.
struct report {
    std::uint64_t exported = 0, dropped = 0;
    std::string failure;  // of the last request, a few words; empty: it succeeded
    bool operator==(report const&) const = default;
};

struct field {
    std::string name, value;
    bool operator==(field const&) const = default;
};

struct server_address {
    std::string host;        // empty: there is none
    std::uint16_t port = 0;  // 0: a Unix socket
    bool operator==(server_address const&) const = default;
};

struct settings {
    std::string endpoint;  // URL for POST
    std::vector<field> fields;
    std::string service_name, service_version, instance_id;
    server_address plain, tls;  // of spans without and with TLS
    bool operator==(settings const&) const = default;
};

// Texts of decoded spans are views into the bytes that were decoded.
struct batch {
    std::vector<span> spans;
    bool operator==(batch const&) const = default;
};

struct flush {
    bool operator==(flush const&) const = default;
};

// The index is the type in the encoding: append only.
using message = std::variant<hello, report, settings, batch, flush, begin>;

std::string encode(message const& content);
// The error says what is wrong with the bytes.
base::result<message> decode(std::string_view bytes);

}  // namespace latchkey::trace::protocol
