// Every bound of the program that is not a setting, and the defaults of those that are. Full means
// refusing early, with a status (API §1).
#pragma once

#include <cstddef>
#include <cstdint>

namespace latchkey::base::limits {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

// A request (defaults of settings).
inline constexpr std::size_t request_line_bytes_max = 8 * kib;  // 414
inline constexpr std::size_t header_bytes_max =
    16 * kib;                                           // 431; the section without the request line
inline constexpr std::size_t header_fields_max = 100;   // 431
inline constexpr std::size_t body_bytes_max = 1 * mib;  // 413
inline constexpr std::size_t empty_lines_before_request_max = 4;

// Chunked bodies.
inline constexpr std::size_t chunk_size_digits_max = 8;
inline constexpr std::size_t chunk_extension_bytes_max = 256;       // of one chunk
inline constexpr std::size_t chunk_extensions_bytes_max = 4 * kib;  // of one body
inline constexpr std::size_t trailer_bytes_max = 4 * kib;
inline constexpr std::size_t trailer_fields_max = 32;

// Credentials in bodies (API §2).
inline constexpr std::size_t credential_body_bytes_max = 128 * kib;
inline constexpr std::size_t credential_bodies_bytes_max = 16 * mib;
inline constexpr std::size_t credential_bytes_max = 256;

// Events from outside (API §12): a payload.
inline constexpr std::size_t event_bytes_max = 256 * kib;

// A connection.
inline constexpr std::size_t receive_buffer_bytes = 4 * kib;
inline constexpr std::size_t unparsed_bytes_max = 64 * kib;
inline constexpr std::size_t unsent_bytes_max = 256 * kib;
inline constexpr std::size_t requests_per_turn_max = 64;
inline constexpr std::size_t skipped_body_bytes_max = 256 * kib;  // more ends the connection
inline constexpr std::size_t lingering_bytes_max =
    16 * mib;  // read and dropped after a last answer

// A worker, past which it answers 503 (defaults of settings).
inline constexpr std::size_t requests_in_flight_max = 4096;
inline constexpr std::size_t queued_bytes_max = 256 * mib;

// JSON.
inline constexpr std::size_t json_depth_max = 32;
inline constexpr std::size_t faults_max = 50;

// Lists (API §7).
inline constexpr std::uint64_t page_limit_default = 20;
inline constexpr std::uint64_t page_limit_max = 100;
inline constexpr std::uint64_t page_reach_max = 100'000;  // page × limit
inline constexpr std::int64_t usage_points_max = 1440;    // of one answer (API §4)

// The store.
inline constexpr std::size_t commands_per_commit_max = 1024;
inline constexpr std::size_t command_bytes_per_commit_max = 4 * mib;
inline constexpr std::size_t commands_queued_max = 16 * kib;
inline constexpr std::size_t command_bytes_queued_max = 64 * mib;
inline constexpr std::int64_t id_max = (std::int64_t{1} << 53) - 1;

static_assert(request_line_bytes_max + header_bytes_max < unparsed_bytes_max,
              "a whole head must fit into what a connection may keep unparsed");
static_assert(credential_body_bytes_max <= body_bytes_max);
static_assert(event_bytes_max <= body_bytes_max);
static_assert(page_limit_max <= page_reach_max);

}  // namespace latchkey::base::limits
