// Checks a store that may be damaged in a child process: LMDB maps the file, so reading one that
// was truncated or overwritten can end the process. For `latchkey check` and for restores.
//
// Call it while this process has one thread and has not opened the directory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace latchkey::domain {

struct inspection_report {
    std::uint64_t users = 0, posts = 0, keys = 0, audit_entries = 0;
    std::uint64_t position = 0;  // in the log of its cluster; 0: no node, or before the first row
    std::vector<std::string> wrong;  // the sentences of check_consistency() and verify_audit()
    std::string time_ahead;          // the warning when its time is too far ahead of the clock
    // Why a master key is not that of this store, or which secrets are encrypted under another one.
    std::vector<std::string> locked;
};

// The remedy for a damaged store.
inline constexpr std::string_view advice_on_damage =
    "stop the service, keep a copy of store.mdb, and put the last backup in its place (latchkey "
    "restore FILE --force); without one, latchkey export takes out the users and posts that can be "
    "read and latchkey import puts them into a new data directory. Look for a failing disk or "
    "memory.";

// The remedy for `locked`.
inline constexpr std::string_view advice_on_master_key =
    "put the master.key of this store, from where it was copied to, into the data directory, or "
    "name its file with store.master_key_file. Without it these secrets are lost and must be made "
    "again: latchkey events secret set, latchkey webhooks rotate-secret.";

// `master_key_file` as in environment_options. An error: the store could not be opened, or reading
// it ended the child process.
base::result<inspection_report> inspect(std::string const& directory,
                                        std::string const& master_key_file = {});

}  // namespace latchkey::domain
