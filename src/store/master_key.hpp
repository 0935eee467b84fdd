// The secret of a data directory: 32 random bytes in `master.key`, 0600, made at the first open.
// Private to the store.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace latchkey::store {

// Reads it; makes it when there is none (nullopt instead when read-only). The caller holds the
// store's write lock, so no two processes make one.
base::result<std::optional<std::array<char, 32>>> load_master_key(std::string const& directory,
                                                                  bool read_only);

// The key for one purpose, named by its label: HKDF with SHA-256 (RFC 5869), no salt, the label as
// info. The same label always gives the same key; keys of different labels tell nothing of each
// other.
std::array<char, 32> derive(std::string_view master_key, std::string_view label);

// A new name in a directory is on the disk only after this.
base::result<void> sync_directory(std::string const& directory);

}  // namespace latchkey::store
