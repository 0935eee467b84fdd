// Mends a store whose time is ahead of the clock (time.hpp): a wrong clock has written the time of
// the last write, and dated records in the future. For `latchkey reset-time`.
//
// What happened after now happened now: times of creation, change, publication, receipt and use,
// and ends of keys. What began after now keeps its length and begins now: lifetimes of keys that
// were created then, overlaps, outcomes under Idempotency-Keys. Usage of steps in the future is
// added to the present step. A time that a client chose for a key that existed before is kept,
// since it cannot be told from a right one; so are entries of the audit log, whose chain of hashes
// covers their times.
//
//     auto const opened = store::environment::open({.directory = …, .any_time = true});
//     if (auto const claim = opened.value()->claim_for_server(); !claim) …
//     auto const report = domain::reset_time(*opened.value(), false);
//
// In transactions of a few hundred records, with the time of the last write at the end: an
// interrupted one leaves a store that is still refused, and the next one continues. One thread; the
// caller has the store to itself, and no snapshot of its environment is used afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "domain/frame/kind.hpp"
#include "domain/store_terms.hpp"
#include "store/environment.hpp"

namespace latchkey::domain {

struct time_reset {
    base::wall_ms last_write = 0;  // the time of the last write
    base::wall_ms now = 0;         // the new time; equal to before: it was not ahead
    // The numbers of redated records, in the order of kind_list.hpp.
    struct count {
        redated_name name;
        std::uint64_t number = 0;
    };
    std::vector<count> counts;
    std::uint64_t audit_entries = 0;  // of a time after now, not changed
};

// With `dry_run` nothing is written, and the report tells what would be. An error is of the store
// or the disk.
base::result<time_reset> reset_time(environment& store, bool dry_run);

}  // namespace latchkey::domain
