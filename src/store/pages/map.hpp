// Where LMDB has mapped its file. LMDB does not tell, the system does. Private to the store.
#pragma once

#include <lmdb.h>

#include <string_view>

namespace latchkey::store {

// The mapping of the environment's file, from /proc/self/maps; empty where it is not found there,
// as on file systems that show another device number (btrfs).
std::string_view map_of(MDB_env* env);

}  // namespace latchkey::store
