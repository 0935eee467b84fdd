// Limits of the contract, and defaults of the settings that are limits. Every queue, buffer and
// list is bounded; a full one refuses early, with a status (api.md §1).
//
// The rule: what bounds how much a client can send or make the service hold, and a bound on which
// several units must agree, is here. Elsewhere, since they change with what is beside them:
// - the bounds of a record's members, in model/ and domain: its encoding depends on them;
// - what a format or a standard prescribes, in the unit that reads it;
// - the parameters of an algorithm and the size of a structure that one unit uses (a bucket, a
//   cache, a batch, a scratch buffer).
// Relations are asserted below or, where a bound is not visible here, beside that bound.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time_units.hpp"

namespace latchkey::base::limits {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

// A request (defaults of settings).
inline constexpr std::size_t request_line_bytes_max = 8 * kib;  // 414
inline constexpr std::size_t method_bytes_max = 32;             // 501; registered ones have 17
inline constexpr std::size_t header_bytes_max = 16 * kib;       // 431; without the request line
inline constexpr std::size_t header_fields_max = 100;           // 431
inline constexpr std::size_t body_bytes_max = 1 * mib;          // 413
inline constexpr std::size_t empty_lines_before_request_max = 4;
inline constexpr std::size_t query_parameters_max = 16;
inline constexpr std::size_t idempotency_key_bytes_max = 255;

// HTTP/2 (defaults of settings). A body of 1 MiB takes two round trips in that window.
inline constexpr std::uint32_t http2_streams_max = 128;  // at once, of a connection
inline constexpr std::uint32_t http2_window_bytes = 512 * kib;
inline constexpr std::uint32_t http2_header_table_bytes = 4 * kib;  // of the client's encoder
static_assert(body_bytes_max <= 2 * http2_window_bytes);

// Chunked bodies.
inline constexpr std::size_t chunk_size_digits_max = 8;
inline constexpr std::size_t chunk_extension_bytes_max = 256;       // of one chunk
inline constexpr std::size_t chunk_extensions_bytes_max = 4 * kib;  // of one body
inline constexpr std::size_t trailer_bytes_max = 4 * kib;
inline constexpr std::size_t trailer_fields_max = 32;

// Credentials in bodies (api.md §2).
inline constexpr std::size_t credential_body_bytes_max = 128 * kib;
inline constexpr std::size_t credential_bodies_bytes_max = 16 * mib;  // received, in total
inline constexpr std::size_t anonymous_requests_max = 1024;           // waiting, per worker
inline constexpr std::size_t credential_bytes_max = 256;

// Keys (api.md §4): their lifetime, and the overlap of rotations, of secrets of events too.
inline constexpr std::int64_t ttl_seconds_min = 60;
inline constexpr std::int64_t ttl_seconds_max = 157'680'000;
inline constexpr std::int64_t overlap_seconds_max = 172'800;

// Payloads of events from external services (api.md §12).
inline constexpr std::size_t event_bytes_max = 256 * kib;

// A connection.
inline constexpr std::size_t receive_buffer_bytes = 4 * kib;
inline constexpr std::size_t unparsed_bytes_max = 64 * kib;
inline constexpr std::size_t unsent_bytes_max = 256 * kib;
// The largest body of a response that is sent although the worker's memory budget is used up.
inline constexpr std::size_t unbudgeted_bytes_max = 4 * kib;
// Unsent bytes that a connection may always have, once more than half of the worker's budget is
// used.
inline constexpr std::size_t scarce_unsent_bytes_min = 8 * kib;
// The rest of a body that is read and dropped when its request was answered early; a longer one
// ends the connection.
inline constexpr std::size_t skipped_body_bytes_max = 256 * kib;
inline constexpr std::size_t lingering_bytes_max = 16 * mib;  // discarded after a last answer

// Streams of events (api.md §16). What one step of a stream makes is bounded, and what is unsent is
// bounded as that of any connection.
inline constexpr std::size_t streams_max = 10'000;  // of the process: 503 (default of a setting)
inline constexpr std::size_t stream_step_bytes_max = 64 * kib;
inline constexpr std::int64_t stream_comment_interval_ns = 15 * second;

// A turn of a worker ends with one of these; other connections go first then.
inline constexpr std::int64_t turn_ns_max = 1 * millisecond;
inline constexpr std::size_t turn_answer_bytes_max = 256 * kib;

// A worker; beyond, it answers 503 (defaults of settings).
inline constexpr std::size_t requests_in_flight_max = 4096;
inline constexpr std::size_t queued_bytes_max = 256 * mib;

// JSON.
inline constexpr std::size_t json_depth_max = 32;
inline constexpr std::size_t json_kept_depth_max = 4;  // no route reads deeper values
inline constexpr std::size_t json_members_max = 128;   // of an object of a document (422)
inline constexpr std::size_t json_values_max = 512;    // members and elements of a document (422)
inline constexpr std::size_t faults_max = 50;

// Lists (api.md §7).
inline constexpr std::uint64_t page_limit_default = 20;
inline constexpr std::uint64_t page_limit_max = 100;
inline constexpr std::uint64_t page_reach_max = 100'000;  // page × limit
// A page ends with so many bytes, and a HEAD makes no more of it than a part.
inline constexpr std::size_t page_bytes_max = 1 * mib;
inline constexpr std::size_t head_page_bytes_max = 64 * kib;
// A page ends when reading records that are not in its list has cost so many ns
// (store/read_work.hpp).
inline constexpr std::int64_t page_cost_max = 2 * millisecond;
// Elements that may be read one by one to count a list.
inline constexpr std::uint64_t counted_elements_max = 2'000;
inline constexpr std::size_t search_bytes_max = 100;
inline constexpr std::int64_t usage_points_max = 1440;  // of one key in one answer (api.md §4)
inline constexpr std::size_t usage_keys_max = 100;      // of one answer
inline constexpr std::size_t usage_answer_points_max = 14'400;
inline constexpr std::size_t usage_records_max = 50'000;  // that one request reads

// The store.
inline constexpr std::size_t commands_per_commit_max = 1024;
inline constexpr std::size_t command_bytes_per_commit_max = 4 * mib;
inline constexpr std::size_t commands_queued_max = 16 * kib;
inline constexpr std::size_t command_bytes_queued_max = 64 * mib;
// Store time (store/time.hpp), in milliseconds: the largest accepted difference of the
// machine's clock (a wrong time zone, a step of NTP and a paused machine stay below it), and the
// largest age of an idle server's last write.
inline constexpr std::int64_t clock_step_ms_max = 24 * 3600 * 1000;
inline constexpr std::int64_t time_mark_ms = 600 * 1000;
// How long the writer waits for the store's write lock before it refuses writes.
inline constexpr std::int64_t write_lock_patience_ns = 5 * second;
// How long a process waits for a process of another container with the same process id.
inline constexpr std::int64_t process_number_patience_ns = 30 * second;
inline constexpr std::int64_t id_max = (std::int64_t{1} << 53) - 1;
// Ids of keys end earlier, since each has token buckets of its own (limit/buckets.hpp).
inline constexpr std::int64_t key_id_max = (std::int64_t{1} << 26) - 1;

// A request fits what a connection buffers.
static_assert(request_line_bytes_max + header_bytes_max < unparsed_bytes_max,
              "a whole head must fit the unparsed bytes of a connection");
static_assert(receive_buffer_bytes <= unparsed_bytes_max);
static_assert(credential_bytes_max <= header_bytes_max && credential_bytes_max <= body_bytes_max);
static_assert(skipped_body_bytes_max <= body_bytes_max && body_bytes_max <= lingering_bytes_max,
              "a client must be able to send a refused body to its end");
static_assert(idempotency_key_bytes_max <= header_bytes_max);
static_assert(stream_step_bytes_max <= unsent_bytes_max);
static_assert(unbudgeted_bytes_max <= scarce_unsent_bytes_min);
static_assert(scarce_unsent_bytes_min < unsent_bytes_max && unsent_bytes_max < queued_bytes_max);

// Parts are not larger than the whole.
static_assert(chunk_extension_bytes_max <= chunk_extensions_bytes_max);
static_assert(trailer_bytes_max <= header_bytes_max && trailer_fields_max <= header_fields_max);
static_assert(credential_body_bytes_max <= body_bytes_max);
static_assert(credential_body_bytes_max <= credential_bodies_bytes_max);
static_assert(event_bytes_max <= body_bytes_max);
static_assert(json_kept_depth_max <= json_depth_max && json_members_max <= json_values_max);
static_assert(ttl_seconds_min < ttl_seconds_max && overlap_seconds_max < ttl_seconds_max);
static_assert(page_limit_default <= page_limit_max && page_limit_max <= page_reach_max);
static_assert(head_page_bytes_max <= page_bytes_max);

// A request fits a command, a command a commit, a commit the queue.
static_assert(body_bytes_max < command_bytes_per_commit_max);
static_assert(command_bytes_per_commit_max <= command_bytes_queued_max);
static_assert(commands_per_commit_max <= commands_queued_max);
static_assert(requests_in_flight_max <= commands_queued_max,
              "one worker's requests must not fill the queue");
static_assert(faults_max <= 0xff, "their number is one byte of a record");
static_assert(key_id_max <= id_max);
static_assert(time_mark_ms < clock_step_ms_max, "a command measures its clock by the time mark");

}  // namespace latchkey::base::limits
