// What the service and its helper `latchkey-deliver` say to each other: one struct per message, a
// variant of all of them, and their encoding. A channel (helpers/kit/channel.hpp) carries the
// encoded messages.
//
//     helper               service
//     hello            →   all attempts in flight are lost (helpers/kit/hello.hpp)
//                      ←   begin
//                      ←   attempt…
//     result…, unsent… →   one for each attempt, in no order
//
// Encoding: type (1), then the members in the order in which they stand here. Integers are
// big-endian, byte strings and lists follow their length (4). Decoding checks every length against
// what is there and against the bounds below; bytes beyond the last member are an error, and so is
// a header field that would not be one field on the wire. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/limits.hpp"
#include "base/result.hpp"
#include "helpers/kit/hello.hpp"
#include "model/cidr.hpp"

namespace latchkey::deliver::protocol {

using kit::hello, kit::begin;

// Raised with every change of a message: service and helper come from the same build.
inline constexpr std::uint32_t protocol_version = 2;

inline constexpr std::size_t url_bytes_max = 2 * base::limits::kib;
inline constexpr std::size_t fields_max = 64;
inline constexpr std::size_t field_bytes_max = 8 * base::limits::kib;  // a name or a value
inline constexpr std::size_t body_bytes_max = 16 * base::limits::mib;
inline constexpr std::size_t networks_max = 1024;
inline constexpr std::size_t error_bytes_max = 256;
inline constexpr std::size_t response_bytes_max = base::limits::kib;
inline constexpr std::uint32_t timeout_ms_max = 600'000;

// Bounds of the attempts without a result that a helper holds, in number and in encoded bytes. The
// service keeps to them, but for the last attempt that it begins, so the helper always reads and
// never waits for anybody.
inline constexpr std::size_t attempts_max = 1536;  // one of each webhook, and 512
inline constexpr std::size_t attempts_bytes_max = 64 * base::limits::mib;
inline constexpr std::size_t attempt_bytes_max = 18 * base::limits::mib;

// ---- helper → service

struct result {
    std::uint64_t number = 0;               // of the attempt
    std::uint16_t status = 0;               // 0: there was no answer, and `error` says why
    std::uint32_t duration_ms = 0;          // from the begin of the request on
    std::uint32_t retry_after_seconds = 0;  // 0: the receiver named none
    std::string error;                      // a few words for people, visible ASCII
    std::string response;                   // the first KiB of the answer's content, as received
    bool operator==(result const&) const = default;
};

// An attempt that was not sent, since the one before it in its line was not delivered in time.
struct unsent {
    std::uint64_t number = 0;
    bool operator==(unsent const&) const = default;
};

// ---- service → helper

struct field {
    std::string name, value;
    bool operator==(field const&) const = default;
};

// One POST. Those of one line are sent one at a time, each once the one before it was delivered:
// the service sends some of them ahead, so that the helper need not wait for it in between.
struct attempt {
    std::uint64_t number = 0;  // of the service's choice; unique among those in flight
    std::string url;           // as check_webhook_url takes it
    std::vector<field> fields;
    std::string body;
    std::uint32_t timeout_ms = 20'000;  // 1 to timeout_ms_max: in all, from the name's look-up on
    std::vector<model::cidr> allow;     // networks that may be reached though they are not public
    std::uint64_t line = 0;             // 0: of none, sent at once
    std::uint64_t predecessor = 0;      // the number before it in its line; 0: it begins a run
    bool operator==(attempt const&) const = default;
};

// The index is the type in the encoding: append only.
using message = std::variant<hello, result, begin, attempt, unsent>;

std::string encode(message const& content);
// The error says what is wrong with the bytes.
base::result<message> decode(std::string_view bytes);

}  // namespace latchkey::deliver::protocol
