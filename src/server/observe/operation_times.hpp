// When the operator's actions on a running service last succeeded, and whether the last one did:
// reloads, and backups by `latchkey backup`, which leaves a note in the data directory. Main
// thread; the note is written by another process.
#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace latchkey::server {

struct operation_time {
    bool succeeded = true;         // the last one
    base::wall_ms success_at = 0;  // of the last one that did; 0: none
};

// `DATA/backup.state`, one line: `ok 1767323045678` or `failed 1767323045678`, the time of the last
// success. nullopt: no backup was made, or the note cannot be read.
std::optional<operation_time> read_backup_note(std::string const& data);
// Replaces the note; a failure keeps the time of the success before it.
base::result<void> write_backup_note(std::string const& data, bool succeeded, base::wall_ms now);

}  // namespace latchkey::server
