// One read transaction of LMDB, renewed in place; a renewal that two commits have overtaken is
// repeated. Each query is a look-up in a table or in the index and a decoding of the bytes found,
// and `readable` notes damage where these decode to nothing. The changed keys are read from a ring
// that epochs address.
#include "domain/snapshot.hpp"

#include "domain/frame/id_walk.hpp"
#include "domain/idempotency/kept_outcome.hpp"
#include "domain/posts/purging_users.hpp"
#include "store/pages/read_version.hpp"
#include "store/snapshot_state.hpp"

namespace latchkey::domain {
namespace {

table table_of(resource resource) {
    return resource == resource::user ? table::users : table::posts;
}

}  // namespace

snapshot::snapshot(environment& store) : state_(std::make_unique<snapshot_state>(store.native())) {}
snapshot::~snapshot() = default;

// A renewal that was overtaken by two commits would show a later version under this one's number,
// and everything that is cached by version would be wrong (read_version.hpp); so it is repeated.
void snapshot::renew() {
    do {
        reset();
        int const code = ::mdb_txn_renew(state_->txn);
        await_process_end(code);
        // A store that another process has let grow beyond this one's map, or a damaged file.
        if (code != 0) end_unread(code);
        state_->live = true;
        state_->version = ::mdb_txn_id(state_->txn);
    } while (is_overtaken(state_->txn, state_->probe));
    state_->damaged = false;
    ++state_->renewals;
}

void snapshot::reset() {
    if (!state_->live) return;
    ::mdb_txn_reset(state_->txn);
    state_->live = false;
}

std::uint64_t snapshot::version() const {
    return state_->version;
}
std::uint64_t snapshot::position() const {
    if (!state_->store.cluster) return 0;
    auto const bytes = state_->get(table::index, key_bytes{tag::position});
    auto const position = bytes ? state_->readable(decode_position(*bytes)) : std::nullopt;
    return position ? position->position : 0;
}
base::wall_ms snapshot::time_at(base::instant const& reading) const {
    return state_->store.time.time_at(reading, state_->counters().written_at);
}
base::wall_ms snapshot::time() const {
    return time_at(state_->store.clocks());
}
bool snapshot::damaged() const {
    return state_->damaged;
}
void snapshot::clear_damage() const {
    state_->damaged = false;
}

void snapshot::prefetch_page(resource resource, model::id id) const {
    if (!is_cached(resource, id)) state_->tree_of(table_of(resource)).prefetch_page(id);
}
void snapshot::prefetch_record(resource resource, model::id id) const {
    if (!is_cached(resource, id)) state_->tree_of(table_of(resource)).prefetch_record(id);
}
void snapshot::prefetch(resource resource, std::span<model::id const> ids) const {
    if (!ids.empty()) state_->tree_of(table_of(resource)).prefetch(ids);
}
bool snapshot::is_cached(resource resource, model::id id) const {
    return state_->is_cached(table_of(resource), id);
}
std::uint64_t snapshot::searches() const {
    return state_->searches;
}
read_work const& snapshot::work() const {
    return state_->work;
}

std::optional<model::user_view> snapshot::user(model::id id) const {
    auto const bytes = state_->record(table::users, id);
    if (!bytes) return std::nullopt;
    return state_->readable(model::decode_user(id, *bytes));
}

std::optional<model::post_view> snapshot::post(model::id id) const {
    auto const bytes = state_->record(table::posts, id);
    if (!bytes) return std::nullopt;
    auto const view = state_->readable(model::decode_post(id, *bytes));
    if (!view || is_being_purged(*state_, view->user_id)) return std::nullopt;
    return view;
}

std::optional<model::id> snapshot::user_with_email(std::string_view email) const {
    if (email.size() > model::email_bytes_max) return std::nullopt;
    auto const bytes = state_->get(table::index, email_key(model::folded_email(email)));
    if (!bytes) return std::nullopt;
    return state_->readable(read_id(*bytes));
}

std::uint64_t snapshot::posts_of(model::id user) const {
    return sum_of(state_->posts_of(user));
}

std::optional<model::key> snapshot::key(model::id id) const {
    auto const bytes = state_->get(table::index, key_key(id));
    if (!bytes) return std::nullopt;
    return state_->readable(model::decode_key(id, *bytes));
}

std::optional<model::key> snapshot::key_with_digest(model::digest const& digest) const {
    auto const bytes = state_->get(table::index, digest_key(digest));
    if (!bytes) return std::nullopt;
    auto const id = state_->readable(read_id(*bytes));
    if (!id) return std::nullopt;
    auto record = key(*id);
    // Damage must not turn another key into this one.
    if (record && record->digest != digest) record.reset();
    return state_->readable(std::move(record));
}

std::vector<model::key> snapshot::keys() const {
    std::vector<model::key> all;
    id_walk walk(*state_, table::index, key_bytes{tag::key});
    for (bool valid = walk.first(); valid; valid = walk.next()) {
        auto const bytes = walk.content();
        if (!bytes) continue;
        if (auto each = state_->readable(model::decode_key(walk.id(), *bytes)))
            all.push_back(std::move(*each));
    }
    return all;
}

bool snapshot::has_imported_digests() const {
    return state_->counters().imported_keys != 0 || !state_->has_readable_counters();
}
std::uint64_t snapshot::key_epoch() const {
    return state_->counters().key_epoch;
}

std::optional<std::vector<model::digest>> snapshot::keys_changed_since(std::uint64_t epoch) const {
    auto const current = state_->counters().key_epoch;
    // An epoch beyond ours belongs to another store, which a restore has replaced.
    if (epoch > current || current - epoch > key_changes_max) return std::nullopt;
    std::vector<model::digest> digests;
    digests.reserve(current - epoch);
    while (epoch != current) {
        auto const bytes = state_->get(table::index, key_change_key(++epoch));
        auto const entry = bytes ? decode_key_change(*bytes) : std::nullopt;
        if (!entry || entry->epoch != epoch) return std::nullopt;
        digests.push_back(entry->digest);
    }
    return digests;
}

std::optional<outcome> snapshot::find_outcome(idempotency const& idempotency,
                                              base::wall_ms now) const {
    auto const bytes =
        state_->get(table::index, kept_outcome_key(idempotency.lineage, idempotency.key));
    if (!bytes) return std::nullopt;
    auto entry = state_->readable(decode_kept_outcome(*bytes));
    if (!entry) return outcome{.problem = base::problem::internal_error};
    return replay(std::move(*entry), idempotency, now);
}

}  // namespace latchkey::domain
