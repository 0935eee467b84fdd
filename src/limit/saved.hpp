// Buckets as bytes, so that a restart is no way around an hourly limit (API §10). What is kept is
// the debt of every bucket that is not full, TAT − now, with the wall time of the save; restored,
// the debt is less by the time that has passed. Which file the bytes lie in is the server's affair.
//
//     limit::save(buckets, now, [&](std::string_view part) { return write_all(file, part); });
//     auto const keys = limit::restore(buckets, now, bytes);  // how many, or what is wrong
//
//     "lkbucket", version (4), wall time in ms (8)
//     key id (8), which slots (1), their debts in ns (8 each)      ascending by id
//     0 (8), number of keys (8)
//     XXH3 over all before it, in parts of 64 KiB (8)
//
// Numbers are big-endian. The checksum tells damage, not malice: whoever can write the file can
// write the store beside it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.hpp"
#include "base/function_ref.hpp"
#include "base/result.hpp"
#include "limit/buckets.hpp"

namespace latchkey::limit {

// Hands on the bytes in parts of at most 64 KiB; ends early, with false, when `write` says false.
// Nobody may be charging meanwhile, or that charge may be missing.
bool save(buckets const& from, base::instant now, base::function_ref<bool(std::string_view)> write);

// Into a table in which nothing was charged yet. Everything is checked before anything is restored.
// A wall clock that went back since the save counts as no time passed; a bucket never owes more
// than its limit allows, since `admit` lowers it to that.
base::result<std::uint64_t> restore(buckets& to, base::instant now, std::string_view bytes);

}  // namespace latchkey::limit
