// Serialisation of the buckets, so that a restart does not reset an hourly limit (api.md §10). The
// snapshot has the debt of every bucket that is not full, TAT − now, with the wall time of the
// save; a restore reduces the debt by the elapsed time. The server chooses the file.
//
//     limit::save(buckets, now, [&](std::string_view chunk) { return write_all(file, chunk); });
//     auto const keys = limit::restore(buckets, now, bytes);  // their number, or an error
//
//     "lkbucket", version (4), wall time in ms (8)
//     by key id: key id (8), bit set of slots (1), of each slot debt in ns and generation (8, 8)
//     0 (8), number of keys (8)
//     XXH3 over everything before it, in chunks of 64 KiB (8)
//
// Version 1 has no generations: all 0. Numbers are big-endian. The checksum detects damage, not
// malice: a process that can write the file can write the store beside it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.hpp"
#include "base/function_ref.hpp"
#include "base/result.hpp"
#include "limit/buckets.hpp"

namespace latchkey::limit {

// Passes the bytes to `write` in chunks of at most 64 KiB; stops with false when `write` returns
// false. A charge made meanwhile may be missing.
bool save(buckets const& source, base::instant now,
          base::function_ref<bool(std::string_view)> write);

// Into a table without charges. Everything is validated before anything is restored. A wall clock
// that went back since the save counts as no time elapsed; a bucket never owes more than its limit
// allows, since `admit` lowers it to that. A generation above `generation_max`, the last that the
// store has assigned, means a snapshot of another store.
base::result<std::uint64_t> restore(buckets& target, base::instant now, std::string_view bytes,
                                    std::uint64_t generation_max = UINT64_MAX);

}  // namespace latchkey::limit
