// Times and sizes of the state_lane. Private to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"
#include "base/time_units.hpp"

namespace latchkey::replicate {

inline constexpr std::uint32_t long_statement_ms = 120'000;
inline base::mono_ns long_deadline() {
    return base::read_mono() + 150 * base::second;
}
inline constexpr base::mono_ns idle_time_max = 10 * base::second;

// The log is folded when so many rows or so much time have gathered; another node does it when the
// one whose turn it is has not for a while.
inline constexpr std::uint64_t unfolded_rows_max = 2000;
inline constexpr base::mono_ns fold_interval = 60 * base::second;
inline constexpr base::mono_ns fold_patience = 180 * base::second;
// After one that failed, and each further one, twice as long.
inline constexpr base::mono_ns fold_pause_min = 10 * base::second;
inline constexpr base::mono_ns fold_pause_max = 160 * base::second;
// Bounds of one transaction of a fold, so that a failure loses little work, and of one statement in
// it.
inline constexpr std::size_t fold_bytes_max = 1u << 20;
inline constexpr std::size_t records_per_statement = 500;
// So much waits behind a statement that takes its time: it fits the buffers of a connection, where
// what is not read would make the server look dead (tcp_user_timeout, conninfo.cpp).
inline constexpr std::size_t in_flight_bytes_max = 32u << 10;
// So many folded rows stay for nodes that were away for a moment.
inline constexpr std::uint64_t spare_rows = 10'000;
inline constexpr std::uint64_t rows_per_removal = 1000;

inline constexpr std::uint8_t tables_max = 32;            // of a store
inline constexpr std::size_t record_overhead_bytes = 16;  // of one record in a chunk

}  // namespace latchkey::replicate
