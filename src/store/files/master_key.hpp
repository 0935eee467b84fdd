// The secret of a data directory: 32 random bytes in `master.key`, 0600, created at the first open.
// Private to store and domain.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace latchkey::store {

// Reads the key; creates it if there is none (nullopt instead if read-only). With `external_file`
// the key is there and is never created, and the directory remembers that, so that a process that
// does not know of it creates none. The caller holds the store's write lock, so that no two
// processes create one.
base::result<std::optional<std::array<char, 32>>> load_master_key(std::string const& directory,
                                                                  std::string const& external_file,
                                                                  bool read_only);

// The key for one purpose: HKDF with SHA-256 (RFC 5869), no salt, the label as info. The same label
// always gives the same key; keys of different labels reveal nothing about each other.
std::array<char, 32> derive(std::string_view master_key, std::string_view label);

// fsync of a directory, which makes new names in it durable.
base::result<void> sync_directory(std::string const& directory);

}  // namespace latchkey::store
