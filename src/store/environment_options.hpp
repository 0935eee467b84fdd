// How a store is opened (environment::open).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace latchkey::store {

// When it is told that a key expires or is not used (api.md §16), in milliseconds.
struct key_time_rules {
    static constexpr std::int64_t day_ms = 24 * 3'600'000;
    // Before the expiry, each; in any order.
    std::vector<std::int64_t> expiring_ms = {14 * day_ms, 3 * day_ms, day_ms};
    std::int64_t unused_ms = 90 * day_ms;  // after the last use; 0: never
};

struct environment_options {
    std::string directory;  // created with mode 0700 when absent; files get 0600
    // 32 bytes that must be there; empty: `master.key` in the directory, created when absent.
    std::string master_key_file{};
    std::uint64_t map_bytes = 64ull << 30;  // upper bound of the store's size
    bool read_only = false;
    // A server claims the directory, upgrades an older schema, and can read (not write) beyond
    // `map_bytes`, where a command with a larger bound may have written.
    bool for_server = false;
    bool sync = true;  // false only in the crash tests
    // Users and posts are found by id_tree.hpp; false, for tests and benchmarks: by LMDB.
    bool interpolates = true;
    // Retention of events, enforced by a writer; 0: unlimited.
    std::int64_t event_retention_ms = 0;
    // Writes record what they change (api.md §16). A writer keeps it so long, and so much of it; 0:
    // unlimited.
    bool records_changes = false;
    std::int64_t change_retention_ms = 0;
    std::uint64_t changes_max = 0;
    // The oldest go once they take more, a quarter of that while the store is full. 0: a quarter of
    // the map.
    std::uint64_t changes_bytes_max = 0;
    key_time_rules key_times;
    // Open the store even if its last write lies far ahead of the clock: for commands that do not
    // depend on store time, and for the one that repairs it.
    bool any_time = false;
    // Clocks of tests; null: the machine's. Without `mono` a test's wall clock never leaps, since
    // the monotonic clock is derived from it.
    base::wall_ms (*wall)() = nullptr;
    base::mono_ns (*mono)() = nullptr;
};

}  // namespace latchkey::store
