// How a store is opened (environment::open).
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.hpp"

namespace latchkey::store {

struct environment_options {
    std::string directory;                  // created with mode 0700 when absent; files get 0600
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
    // Open the store even if its last write lies far ahead of the clock: for commands that do not
    // depend on store time, and for the one that repairs it.
    bool any_time = false;
    // Clocks of tests; null: the machine's. Without `mono` a test's wall clock never leaps, since
    // the monotonic clock is derived from it.
    base::wall_ms (*wall)() = nullptr;
    base::mono_ns (*mono)() = nullptr;
};

}  // namespace latchkey::store
