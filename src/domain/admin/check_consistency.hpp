// A consistency check of the whole store: pages that do not belong in their place, records without
// their checksum, records that cannot be decoded, indexes without their records and records without
// their indexes, counts that differ from the number of records, ids beyond the sequence. For
// `latchkey check` and for the tests.
//
//     for (auto const& sentence : domain::check_consistency(*store)) …  // none: it is consistent
//
// It reads one snapshot, so it may run beside a server, whose freed pages it keeps from being
// reused until it ends. Time and memory grow with the store (32 bytes per user with posts).
#pragma once

#include <string>
#include <vector>

#include "domain/store_terms.hpp"
#include "store/environment.hpp"

namespace latchkey::domain {

// Sentences with table, ids or page; of those that differ only in numbers the first three and how
// many more. Posts of deleted users that are still to be removed are in order. What is encrypted
// under another master key than the one at hand, or needs one, is in `locked` instead, if given.
std::vector<std::string> check_consistency(environment& store,
                                           std::vector<std::string>* locked = nullptr);

// Pages and checksums alone, at the speed of reading the file.
std::vector<std::string> check_checksums(environment& store);

}  // namespace latchkey::domain
