// The file of a new store. Private to the store.
#pragma once

#include <string>

#include "base/result.hpp"

namespace latchkey::store {

// Makes it unless it is there. Whatever moment the power fails at, afterwards there is none or a
// whole one; its name is on the disk only once the directory was synced.
base::result<void> make_store_file(std::string const& path);

}  // namespace latchkey::store
