// Is there space to write? Disk space is reserved before a transaction writes: on a full ext4 a
// commit fails with EIO, after which the state of the file is unknown, while fallocate fails with
// an ordinary ENOSPC. The end of the map is guarded in the same way: the last part of both is left
// to deletions, which allocate pages before they free old ones. Private to store and domain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "store/environment_state.hpp"

namespace latchkey::store {

// How much a transaction may write; valid while the write lock is held. `grow` and `write` admit a
// command; the ends bound what it does, since free pages may be scattered while a long value needs
// consecutive ones.
struct write_capacity {
    bool grow = true;             // false: disk or map is full, only commands that free may run
    bool write = true;            // false: not even those
    std::size_t weight_max = 0;   // of one transaction, in commands and in posts removed with a
                                  // user; small near the end of the map, lest a group overshoot it
    std::uint64_t grow_end = 0;   // in pages of the file: the bound of commands that grow
    std::uint64_t write_end = 0;  // the bound of commands that free
};

// Called within a write transaction; reserves disk blocks ahead of it. `growth` is the number of
// bytes beyond what a group of commands takes. With `ends_enforced` false nothing enforces the
// ends, so free pages do not count as space to grow.
write_capacity find_write_capacity(environment_state& store, std::uint64_t growth = 0,
                                   bool ends_enforced = true);

// Waits until no reader of any process uses a state before the last commit, so that the pages that
// earlier transactions freed can be used again: `readers_patience` at most, and once for a reader
// that stays longer. False: one still does. Without the write lock, by its next holder.
bool await_readers(environment_state& store);

}  // namespace latchkey::store
