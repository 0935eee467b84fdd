// Looks at everything in the store and tells what does not fit together: records that cannot be
// read, indexes without their records and records without their indexes, counts that differ from
// what is there, ids beyond the sequence. For `latchkey check` and for the tests.
//
//     for (auto const& sentence : store::verify(*environment)) …    // nothing: the store is whole
//
// It reads one snapshot, so it may run beside a server, whose old pages it keeps from being reused
// as long as it takes. Time and memory grow with the store (32 bytes a user who has posts).
#pragma once

#include <string>
#include <vector>

#include "store/environment.hpp"

namespace latchkey::store {

inline constexpr std::size_t inconsistencies_max = 1000;

// One sentence each; at most inconsistencies_max. Posts of deleted users that are still to be
// removed are in order.
std::vector<std::string> verify(environment& store);

}  // namespace latchkey::store
