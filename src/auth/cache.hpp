// From a credential to a principal (API §3: key known, key state, client address), with the keys
// that a worker has seen kept in a table of fixed size. One per worker, used on its thread alone.
//
//     cache.follow(snapshot);                      // once a turn, after the renew
//     auto const seen = cache.authenticate(text, client, snapshot, now);
//     if (seen.problem != base::problem::none) … else seen.who->record().id …
//
// The table is always what the snapshot says: `follow` drops exactly the entries whose keys
// changed, or all when it fell behind the store's ring of changes. An unknown key costs at most one
// look-up in the store and never pushes a known one out; garbage is refused by its checksum alone,
// unless digests were imported (API §4). A hit allocates nothing. Among known keys the one that was
// not used for longest, about, makes room (second chance).
//
// A state that only the clock changes (expiry, not_before) is no change of the record: it is asked
// at every call, against `now.wall`.
//
// The requests of a burst mostly come with one key: from the second time on its text is kept beside
// its digest until `forget_text`, which the worker calls before its turn ends, and wiped then. All
// else that is kept is no secret, and the bytes of the credential are the caller's to wipe.
#pragma once

#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/problem.hpp"
#include "limit/buckets.hpp"
#include "model/key.hpp"
#include "store/snapshot.hpp"

namespace latchkey::auth {

// A key's record with its limits prepared. Immutable; counted without atomics, since it never
// leaves its worker.
struct identity {
    limit::policy limits;
    model::key record;
};

// Proof that a key was accepted; only the cache makes one. Copied where a request must wait.
class principal {
  public:
    model::key const& record() const { return identity_->record; }
    limit::policy const& limits() const { return identity_->limits; }
    bool may(model::scope needs) const { return record().scopes.allows(needs); }

  private:
    friend class cache;
    explicit principal(boost::local_shared_ptr<identity const> who) : identity_(std::move(who)) {}
    boost::local_shared_ptr<identity const> identity_;
};

struct verdict {
    base::problem problem = base::problem::none;
    std::optional<principal> who;  // also set with a problem of state or address: the key is known,
                                   // and the log names it
};

class cache {
  public:
    explicit cache(std::size_t entries = 16 * 1024);  // a power of two, at least 8; 24 bytes each
    ~cache();
    cache(cache const&) = delete;
    cache& operator=(cache const&) = delete;

    // Brings the table to what `seen` says. Before any `authenticate` with a snapshot that moved.
    void follow(store::snapshot const& seen);

    // A key on its way to `authenticate`, whose entry in the table is being fetched from memory:
    // other work can be done meanwhile. A view of the key's text.
    class presented {
        friend class cache;
        std::string_view key;
        std::optional<model::digest> digest;  // none: the text is too long for a key of ours
    };
    presented present(std::string_view key);
    // Once a turn, when its requests have been looked at.
    void forget_text();

    // The key's problem, or none: key_invalid (then `who` is empty), key_deactivated, key_expired,
    // key_not_yet_active, ip_not_allowed, in this order; internal_error when its record cannot be
    // read (store::snapshot::damaged). `client` null: not known, and then a non-empty allowlist
    // refuses.
    verdict authenticate(presented const& shown, model::address const* client,
                         store::snapshot const& seen, base::instant now);
    verdict authenticate(std::string_view key, model::address const* client,
                         store::snapshot const& seen, base::instant now) {
        return authenticate(present(key), client, seen, now);
    }

    // Every call is one of the first four.
    struct counters {
        std::uint64_t hits = 0;       // known, from the table
        std::uint64_t misses = 0;     // known, from the store
        std::uint64_t unknown = 0;    // the store was asked and has no such key
        std::uint64_t malformed = 0;  // refused by its form
        std::uint64_t dropped = 0;    // entries taken out because their keys changed
    };
    counters const& count() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace latchkey::auth
