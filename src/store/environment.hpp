// One LMDB environment (one file `store.mdb` and its lock in the data directory), opened once per
// process (a second open of the same directory is a bug and ends the process), full durability.
// Several processes may have it open: the server and the command line. Thread-safe once opened.
//
//     auto store = store::environment::open({.directory = "/var/lib/latchkey"});
//     if (!store) … store.error().message is a sentence for the operator …
//     if (auto const claim = store.value()->claim_for_server(); !claim) …
//
// Files in the directory: `store.mdb`, LMDB's `store.mdb-lock`, `master.key` (32 random bytes,
// created at the first open), `server.lock` (the server's process id). A file system without
// fallocate works, but there a full disk may end the process instead of answering 507.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "store/environment_options.hpp"
#include "store/shared_log.hpp"

namespace latchkey::store {

struct environment_state;

class environment {
  public:
    static base::result<std::unique_ptr<environment>> open(environment_options const& options);
    ~environment();
    environment(environment const&) = delete;
    environment& operator=(environment const&) = delete;

    // Claims the store for a server (flock on `server.lock`) for the lifetime of this object. The
    // error names the process that holds the claim.
    base::result<void> claim_for_server();
    // Does a server of any process serve this store now?
    bool has_server() const;
    // Store time (time.hpp), as of the last write.
    base::wall_ms time() const;
    // How far the machine's clock is ahead of store time (negative: behind it), and whether that is
    // too far for the clock to be trusted.
    struct clock_offset {
        base::wall_ms ahead = 0;
        bool doubted = false;
    };
    clock_offset offset_of_clock() const;
    // The error of a store that is only opened with `any_time`; nullopt: its time is plausible.
    std::optional<base::error> time_ahead() const;
    // Frees reader slots of dead processes; called at the start and every minute.
    void clear_stale_readers();

    // The 32 bytes of `master.key`, from which the keys for cursors and secrets are derived; empty
    // only if opened read-only without that file. Secret: never log it.
    std::string_view master_key() const;
    // The key for one purpose, derived from the master key (HKDF, the label as info; "cursors").
    // Secret too; nullopt if the master key is empty.
    std::optional<std::array<char, 32>> derived_key(std::string_view label) const;

    // The cluster of which this store is a node, and its position now; nullopt: it is none.
    std::optional<cluster_position> node() const;
    // The load of a cluster's state into this store was interrupted: only another load can use it.
    bool has_unfinished_load() const;
    // From now on every transaction goes through the log. Before the writer starts and before
    // `apply`; `log` is not owned and must outlive both. An error: the store is no node of that
    // cluster. A node without a log can only be read.
    base::result<void> attach(shared_log& log, cluster_id const& cluster);
    // After the writer has stopped.
    void detach();

    // Number of damaged records and pages that this process has read. Any thread.
    std::uint64_t damaged_reads() const;

    // Private to store and domain.
    environment_state& native() { return *state_; }

  private:
    explicit environment(std::unique_ptr<environment_state>);
    std::unique_ptr<environment_state> state_;
};

}  // namespace latchkey::store
