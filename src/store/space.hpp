// How large a store is, for its operator. Any thread; costs two system calls.
#pragma once

#include <cstdint>

#include "store/environment.hpp"

namespace latchkey::store {

struct space {
    std::uint64_t disk_bytes = 0;  // what the file takes on the disk, reserved blocks too
    std::uint64_t used_bytes = 0;  // up to the last page; pages that were freed are reused
    std::uint64_t map_bytes = 0;   // what it can grow to at most
};
space space_of(environment& store);

}  // namespace latchkey::store
