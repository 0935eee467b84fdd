// The file in which the buckets of the rate limits outlive a graceful restart: `buckets` in the
// data directory. What is wrong with it is a warning and not a reason not to start or stop: without
// it every bucket is full, which is what a crash may cost as well (API §10). On the main thread,
// while no worker runs.
#pragma once

#include <string>

#include "limit/buckets.hpp"

namespace latchkey::server {

// Written beside, synced and renamed, mode 0600: there is the whole file or none.
void save_buckets(limit::buckets const& from, std::string const& data_directory);

// Reads the file, if there is one, and removes it: once the buckets are charged it is out of date.
void restore_buckets(limit::buckets& to, std::string const& data_directory);

}  // namespace latchkey::server
