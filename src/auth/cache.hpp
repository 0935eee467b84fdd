// Authentication of a credential (api.md §3: key known, key state, client address), with a cache of
// fixed size in front of the store. One per worker, used on its thread only.
//
//     cache.follow(snapshot);                      // once a turn, after the renew
//     auto const verdict = cache.authenticate(text, client, snapshot, now);
//     if (verdict.problem != base::problem::none) … else verdict.caller->record().id …
//
// The cache is never stale: `follow` drops exactly the entries whose keys changed, or all when the
// worker fell behind the store's ring of changes. An unknown key costs at most one look-up in the
// store and never evicts a known one; garbage is refused by its checksum alone, unless digests were
// imported (api.md §4). A hit allocates nothing. Eviction is by second chance, about least recently
// used.
//
// A state that follows from the clock (expiry, not_before) is checked at every call against
// `now.wall`, since it is no change of the record.
//
// The requests of a burst mostly carry one key: from its second use on, its text is kept beside its
// digest until `forget_text`, which the worker calls before its turn ends and which wipes it. No
// other cached data is secret. The caller wipes the bytes of the credential.
#pragma once

#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "auth/bearer_grant.hpp"
#include "auth/identity.hpp"
#include "base/clock.hpp"
#include "base/problem.hpp"
#include "domain/snapshot.hpp"
#include "model/key.hpp"

namespace latchkey::auth {

// Proof that a key, or a token of a key record, was accepted; only the caches create one. Copied if
// a request must wait. Its scopes are those of the record that the token, if there is one, has too.
class principal {
  public:
    model::key const& record() const { return identity_->record; }
    limit::policy const& limits() const { return identity_->limits; }
    bearer_grant const* token() const { return token_.get(); }  // null: it showed a key
    bool may(model::scope needs) const {
        return record().scopes.allows(needs) && (!narrows() || token_->scopes->allows(needs));
    }
    bool may_send_events_of(std::string_view source) const {
        return record().scopes.allows_events_of(source) &&
               (!narrows() || token_->scopes->allows_events_of(source));
    }
    bool covers(model::scope_set const& other) const {
        return record().scopes.covers(other) && (!narrows() || token_->scopes->covers(other));
    }
    // When time alone ends what was shown: the record, its rotation or the token. 0: never.
    base::wall_ms ends_at() const;
    model::scope_set scopes() const {
        return narrows() ? model::intersection(record().scopes, *token_->scopes) : record().scopes;
    }

  private:
    friend class cache;
    friend class bearer_cache;
    bool narrows() const { return token_ != nullptr && token_->scopes.has_value(); }
    explicit principal(boost::local_shared_ptr<identity const> identity)
        : identity_(std::move(identity)) {}
    boost::local_shared_ptr<identity const> identity_;
    boost::local_shared_ptr<bearer_grant const> token_;
};

struct verdict {
    base::problem problem = base::problem::none;
    // Also set with a problem of state or address: the key is known, and the log names it.
    std::optional<principal> caller;
    std::string_view detail = {};  // a constant sentence; of a token that was refused
    bool is_token = false;
};

class cache {
  public:
    // `entries`: a power of two, at least 8; 24 bytes each. `keeps_text`: recent_text.hpp.
    explicit cache(std::size_t entries = 16 * 1024, bool keeps_text = true);
    ~cache();
    cache(cache const&) = delete;
    cache& operator=(cache const&) = delete;

    // Invalidates the entries that differ from `snapshot`. Call it before any `authenticate` with a
    // newer snapshot.
    void follow(domain::snapshot const& snapshot);

    // A key whose cache entry is being prefetched, so that other work can hide the memory latency
    // before `authenticate`. A view of the key's text.
    class presented_key {
        friend class cache;
        std::string_view text;
        std::optional<model::digest> digest;  // none: too long for a generated key
        bool has_digest_alone = false;
    };
    presented_key present(std::string_view key);
    // A key that was shown before and of which its digest is known.
    presented_key present(model::digest const& digest);
    // Once a turn, after its requests.
    void forget_text();

    // The key's problem, or none: key_invalid (then `caller` is empty), key_deactivated,
    // key_expired, key_not_yet_active, ip_not_allowed, in this order; internal_error when its
    // record cannot be read (domain::snapshot::damaged). `client` null: not known, and then a
    // non-empty allowlist refuses.
    verdict authenticate(presented_key const& presented, model::address const* client,
                         domain::snapshot const& snapshot, base::instant now);
    verdict authenticate(std::string_view key, model::address const* client,
                         domain::snapshot const& snapshot, base::instant now) {
        return authenticate(present(key), client, snapshot, now);
    }
    // The same for a caller that was accepted before, whose key may have changed since: for what
    // goes on after its request was answered. Its token is not judged (bearer_cache::is_good).
    verdict authenticate_again(principal const& caller, model::address const* client,
                               domain::snapshot const& snapshot, base::instant now);

    // Every call of `authenticate` increments one of the first four.
    struct counters {
        std::uint64_t hits = 0;       // known, from the cache
        std::uint64_t misses = 0;     // known, from the store
        std::uint64_t unknown = 0;    // looked up in the store, which has no such key
        std::uint64_t malformed = 0;  // refused by its form
        std::uint64_t evictions = 0;  // entries dropped because their keys changed
    };
    counters const& count() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace latchkey::auth
