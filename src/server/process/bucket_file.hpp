// Persistence of the rate limit buckets over a graceful restart: the file `buckets` in the data
// directory. A failure is only a warning: without the file every bucket starts full, as after a
// crash (docs/api.md §10). Main thread, while no worker runs.
#pragma once

#include <string>

#include "limit/buckets.hpp"

namespace latchkey::server {

// Atomic replacement: written to a temporary file, synced and renamed, mode 0600. `now.wall` is
// store time, which continues with the next start.
void save_buckets(limit::buckets const& buckets, std::string const& data_directory,
                  base::instant const& now);

// Reads the file, if there is one, and removes it: after the next charge it is out of date.
// `generation_max`: the store's key epoch, see limit::restore.
void restore_buckets(limit::buckets& buckets, std::string const& data_directory,
                     base::instant const& now, std::uint64_t generation_max);

}  // namespace latchkey::server
