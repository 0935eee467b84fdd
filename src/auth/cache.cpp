// A key is found by its digest: in the table, else in the store, whose answer the table keeps. The
// form of a text is checked only where its digest is not cached, since a cached one proves it.
// `follow` erases the digests that the store's ring names since its epoch; it clears the table
// where the ring does not reach back so far, or the epoch is that of another store.
#include "auth/cache.hpp"

#include <algorithm>
#include <boost/smart_ptr/make_local_shared.hpp>
#include <utility>

#include "auth/key_form.hpp"
#include "auth/recent_text.hpp"
#include "auth/table.hpp"
#include "base/prefetch.hpp"
#include "base/thread_checker.hpp"

namespace latchkey::auth {

struct cache::state {
    state(std::size_t entries, bool keeps_text) : keys(entries), recent(keeps_text) {}

    [[no_unique_address]] base::thread_checker thread;
    table keys;
    recent_text recent;
    counters count;
    std::uint64_t version = 0;  // of the last snapshot passed to `follow`
    std::uint64_t epoch = 0;
    bool followed = false;
    bool imported = false;  // the store has imported digests, whose keys have any form

    void drop_changes(domain::snapshot const& snapshot, std::uint64_t now_epoch);
    // Null: not cached.
    table::entry const* find(model::digest const& digest);
    // Null: no such key.
    table::entry look_up(model::digest const& digest, domain::snapshot const& snapshot,
                         base::wall_ms now);
};

namespace {

base::problem problem_of(model::key const& record, model::address const* client,
                         base::instant now) {
    auto const problem = model::refusal_of(record.state_at(now.wall));
    if (problem != base::problem::none) return problem;
    auto const& networks = record.ip_allowlist;
    bool const allowed =
        networks.empty() ||
        (client != nullptr && std::any_of(networks.begin(), networks.end(), [&](auto const& each) {
             return each.contains(*client);
         }));
    return allowed ? base::problem::none : base::problem::ip_not_allowed;
}

// The keys whose level its buckets take over: those it replaces, as long as a bucket that was empty
// at the rotation would not have filled since.
void add_predecessors(limit::policy& limits, model::key const& record,
                      domain::snapshot const& snapshot, base::wall_ms now) {
    auto const fill_ms = limit::fill_time_ns(limits) / base::millisecond;
    auto rotated_at = record.created_at;
    for (auto id = record.replaces; id != 0 && now - rotated_at < fill_ms;) {
        auto const earlier = snapshot.key(id);
        if (!earlier) return;
        limits.predecessors.push_back(limit::predecessor_of(limits, *earlier));
        if (limits.predecessors.size() == limit::predecessors_max) return;
        rotated_at = earlier->created_at;
        id = earlier->replaces;
    }
}

table::entry make_identity(model::key&& record, domain::snapshot const& snapshot,
                           base::wall_ms now) {
    auto limits = limit::prepare(record.rate_limits, record.limit_slots, record.limit_generations);
    add_predecessors(limits, record, snapshot, now);
    return boost::make_local_shared<identity const>(identity{std::move(limits), std::move(record)});
}

}  // namespace

base::wall_ms principal::ends_at() const {
    base::wall_ms end = 0;
    auto const bound = [&](base::wall_ms time) {
        if (time != 0 && (end == 0 || time < end)) end = time;
    };
    bound(record().expires_at);
    bound(record().rotation_ends_at);
    if (token_ != nullptr) bound(std::min(token_->expires_at, token_->kept_until));
    return end;
}

cache::presented_key cache::present(std::string_view key) {
    presented_key presented;
    presented.text = key;
    // A known digest makes the check of the form unnecessary (4 % of a request). A text longer than
    // a generated key is checked for its form first.
    if (key.size() > key_bytes) return presented;
    presented.digest = state_->recent.digest(key);
    state_->keys.prefetch(*presented.digest);
    return presented;
}

cache::presented_key cache::present(model::digest const& digest) {
    presented_key presented;
    presented.digest = digest;
    presented.has_digest_alone = true;
    return presented;
}

void cache::forget_text() {
    state_->recent.wipe();
}

verdict cache::authenticate(presented_key const& presented, model::address const* client,
                            domain::snapshot const& snapshot, base::instant now) {
    state_->thread.check();
    verdict result;
    auto const key = presented.text;
    auto digest = presented.digest;
    table::entry const* cached = digest ? state_->find(*digest) : nullptr;
    bool const formed = cached != nullptr || presented.has_digest_alone || has_key_form(key) ||
                        (state_->imported && has_imported_form(key));
    if (!formed) {
        ++state_->count.malformed;
        result.problem = base::problem::key_invalid;
        return result;
    }
    if (!digest) cached = state_->find(digest.emplace(digest_of(key)));
    if (cached == nullptr) snapshot.clear_damage();  // of an earlier request of this turn
    auto entry = cached != nullptr ? *cached : state_->look_up(*digest, snapshot, now.wall);
    // A record for tokens has no text: nothing that is shown as a key leads to one.
    if (entry != nullptr && entry->record.kind == model::key_kind::jwt &&
        !presented.has_digest_alone) [[unlikely]]
        entry = nullptr;
    if (entry == nullptr) {
        // An unreadable record does not prove that the key is unknown, so it must not count as a
        // failed authentication of the client.
        result.problem =
            snapshot.damaged() ? base::problem::internal_error : base::problem::key_invalid;
        return result;
    }
    // Read next, for the limits and the response's header.
    auto const& limits = entry->limits;
    base::prefetch(limits.rules.data(), limits.rules.size() * sizeof(limit::rule));
    base::prefetch(limits.header.data(), limits.header.size());
    result.problem = problem_of(entry->record, client, now);
    result.caller = principal(std::move(entry));
    return result;
}

verdict cache::authenticate_again(principal const& caller, model::address const* client,
                                  domain::snapshot const& snapshot, base::instant now) {
    state_->thread.check();
    auto const& digest = caller.record().digest;
    auto const* const cached = state_->keys.find(digest);
    if (cached == nullptr) snapshot.clear_damage();
    auto entry = cached != nullptr ? *cached : state_->look_up(digest, snapshot, now.wall);
    verdict result;
    result.problem = base::problem::key_invalid;
    if (entry == nullptr) return result;
    result.problem = problem_of(entry->record, client, now);
    result.caller = principal(std::move(entry));
    result.caller->token_ = caller.token_;
    return result;
}

table::entry const* cache::state::find(model::digest const& digest) {
    auto const* const entry = keys.find(digest);
    if (entry != nullptr) [[likely]]
        ++count.hits;
    return entry;
}

table::entry cache::state::look_up(model::digest const& digest, domain::snapshot const& snapshot,
                                   base::wall_ms now) {
    auto record = snapshot.key_with_digest(digest);
    if (!record) {
        ++count.unknown;
        return nullptr;
    }
    ++count.misses;
    auto entry = make_identity(std::move(*record), snapshot, now);
    keys.insert(entry);
    return entry;
}

void cache::follow(domain::snapshot const& snapshot) {
    auto& own = *state_;
    std::uint64_t const version = snapshot.version();
    if (own.followed && version == own.version) [[likely]]
        return;
    // Most commits change no key and leave the epoch as it is. 0: no key was ever created, or the
    // epoch cannot be read; then no entry can be trusted.
    std::uint64_t const epoch = snapshot.key_epoch();
    if (!own.followed || epoch != own.epoch || epoch == 0) {
        own.drop_changes(snapshot, epoch);
        own.imported = snapshot.has_imported_digests();
    }
    own.version = version;
    own.epoch = epoch;
    own.followed = true;
}

void cache::state::drop_changes(domain::snapshot const& snapshot, std::uint64_t now_epoch) {
    // A smaller epoch belongs to another store, where no entry is valid. Entries of look-ups before
    // the first `follow` are dropped too.
    auto const changes = followed && now_epoch > epoch
                             ? snapshot.keys_changed_since(epoch)
                             : std::optional<std::vector<model::digest>>();
    if (!changes) {
        count.evictions += keys.clear();
        return;
    }
    for (auto const& digest : *changes) count.evictions += keys.erase(digest) ? 1 : 0;
}

cache::cache(std::size_t entries, bool keeps_text)
    : state_(std::make_unique<state>(entries, keeps_text)) {}
cache::~cache() = default;

cache::counters const& cache::count() const {
    return state_->count;
}

}  // namespace latchkey::auth
