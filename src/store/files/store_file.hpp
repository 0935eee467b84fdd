// The file of a new store. Private to the store.
#pragma once

#include <string>

#include "base/result.hpp"

namespace latchkey::store {

// Creates the file unless it exists. After a power cut at any moment there is none or a complete
// one; its name is durable once the directory has been synced.
base::result<void> make_store_file(std::string const& path);

}  // namespace latchkey::store
