// The size of a store, for its operator. Any thread; costs two system calls.
#pragma once

#include <cstdint>

#include "store/environment.hpp"

namespace latchkey::store {

struct space {
    std::uint64_t disk_bytes = 0;       // blocks of the file on the disk, with reserved ones
    std::uint64_t used_bytes = 0;       // up to the last page; freed pages are reused
    std::uint64_t map_bytes = 0;        // upper bound of the size
    std::uint64_t changes_bytes = 0;    // of them changes, when a writer last looked
    std::uint64_t changes_trimmed = 0;  // changes that this process has removed for room
};
space space_of(environment& store);

}  // namespace latchkey::store
