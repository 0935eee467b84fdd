// One LMDB environment (one file `store.mdb` and its lock in the data directory), opened once per
// process (a second open of the same directory is a bug and ends the process), full durability.
// Several processes may have it open: the server and the command line. Thread-safe once opened.
//
//     auto opened = store::environment::open({.directory = "/var/lib/latchkey"});
//     if (!opened) … opened.error().message is a sentence for the operator …
//     if (auto const claimed = opened.value()->claim_for_server(); !claimed) …
//
// In the directory: `store.mdb`, LMDB's `store.mdb-lock`, `master.key` (32 random bytes, made at
// the first open), `server.lock` (the server's process id). A file system without fallocate works,
// but there a full disk may end the process instead of answering 507.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace latchkey::store {

struct environment_options {
    std::string directory;                  // made (0700) when absent; files are 0600
    std::uint64_t map_bytes = 64ull << 30;  // the most that the store may grow to
    bool read_only = false;
    // A server claims the directory, brings an older schema up to date, and can read (not write)
    // beyond `map_bytes`: what a command with a larger bound wrote beside it.
    bool for_server = false;
    bool sync = true;  // only the crash harness turns it off
    // How long events are kept, by a writer; 0: for ever.
    std::int64_t event_retention_ms = 0;
    // The wall clock of write transactions; null: the machine's. A test moves its own.
    std::int64_t (*wall)() = nullptr;
};

class environment {
  public:
    static base::result<std::unique_ptr<environment>> open(environment_options const& options);
    ~environment();
    environment(environment const&) = delete;
    environment& operator=(environment const&) = delete;

    // Claims the store for a server (flock on `server.lock`); fails with a sentence that names the
    // process that holds it. Held until this object goes.
    base::result<void> claim_for_server();
    // Does a server, of whatever process, serve this store right now?
    bool has_server() const;
    // Frees reader slots of processes that died; at start and every minute.
    void clear_stale_readers();

    // The 32 bytes of `master.key`, from which the keys for cursors and secrets are derived; empty
    // only when opened read-only beside none. A secret: never into a log.
    std::string_view master_key() const;
    // The key for one purpose, derived from the master key (HKDF, the label as info; "cursors"); a
    // secret like it. nullopt where that is empty.
    std::optional<std::array<char, 32>> derived_key(std::string_view label) const;

    struct state;
    state& native() { return *state_; }

  private:
    explicit environment(std::unique_ptr<state>);
    std::unique_ptr<state> state_;
};

}  // namespace latchkey::store
