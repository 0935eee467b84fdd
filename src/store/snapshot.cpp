#include "store/snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/check.hpp"
#include "store/id_walk.hpp"
#include "store/snapshot_state.hpp"

namespace latchkey::store {
namespace {

// Once a commit could not be written, LMDB refuses everybody. The thread that wrote is about to say
// why and to end the process (transaction::commit); who comes here first must not end it otherwise.
void await_end_if_panic(int code) {
    if (code == MDB_PANIC) std::this_thread::sleep_for(std::chrono::seconds(30));
}

// LMDB notes which version is read, and then copies where its tables are from a place that the
// commit after the next one writes. A thread that waited in between reads a later version under the
// name of an earlier one, and what is remembered by version would be of another.
bool was_overtaken(MDB_env* env, std::uint64_t version) {
    std::atomic_thread_fence(std::memory_order_acquire);
    MDB_envinfo info;
    ::mdb_env_info(env, &info);
    return info.me_last_txnid > version + 1;
}

table table_of(resource which) {
    return which == resource::user ? table::users : table::posts;
}

}  // namespace

snapshot::snapshot(environment& store) : state_(std::make_unique<state>(store.native())) {}
snapshot::~snapshot() = default;

void snapshot::renew() {
    do {
        reset();
        int const code = ::mdb_txn_renew(state_->txn);
        await_end_if_panic(code);
        base::check(code == 0, "a snapshot that cannot be renewed");
        state_->live = true;
        state_->version = ::mdb_txn_id(state_->txn);
    } while (was_overtaken(state_->store.env, state_->version));
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
bool snapshot::damaged() const {
    return state_->damaged;
}
void snapshot::forget_damage() {
    state_->damaged = false;
}

void snapshot::prefetch_page(resource which, model::id id) const {
    if (!at_hand(which, id)) state_->tree_of(table_of(which)).prefetch_page(id);
}
void snapshot::prefetch_record(resource which, model::id id) const {
    if (!at_hand(which, id)) state_->tree_of(table_of(which)).prefetch_record(id);
}
void snapshot::prefetch(resource which, std::span<model::id const> ids) const {
    if (!ids.empty()) state_->tree_of(table_of(which)).prefetch(ids);
}
bool snapshot::at_hand(resource which, model::id id) const {
    return state_->remembered(table_of(which), id).has_value();
}
std::uint64_t snapshot::searches() const {
    return state_->searches;
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
    if (!view || state_->is_doomed(view->user_id)) return std::nullopt;
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
    auto found = key(*id);
    // Another's key must not be taken for this one.
    if (found && found->digest != digest) found.reset();
    if (!found) state_->damaged = true;
    return found;
}

std::vector<model::key> snapshot::keys() const {
    std::vector<model::key> all;
    id_walk walk(state_->cursor(table::index), key_bytes{tag::key});
    for (bool there = walk.first(); there; there = walk.next())
        if (auto each = state_->readable(model::decode_key(walk.id(), walk.value())))
            all.push_back(std::move(*each));
    return all;
}

bool snapshot::has_imported_digests() const {
    return state_->heads().imported_keys != 0;
}
std::uint64_t snapshot::key_epoch() const {
    return state_->heads().key_epoch;
}

std::optional<std::vector<model::digest>> snapshot::keys_changed_since(std::uint64_t epoch) const {
    auto const now = state_->heads().key_epoch;
    // An epoch of the future is one of another store, which a backup has replaced.
    if (epoch > now || now - epoch > key_changes_max) return std::nullopt;
    std::vector<model::digest> changed;
    changed.reserve(now - epoch);
    while (epoch != now) {
        auto const bytes = state_->get(table::index, key_change_key(++epoch));
        auto const entry = bytes ? decode_key_change(*bytes) : std::nullopt;
        if (!entry || entry->epoch != epoch) return std::nullopt;
        changed.push_back(entry->digest);
    }
    return changed;
}

snapshot::state::state(environment::state& opened) : store(opened) {
    int const code = ::mdb_txn_begin(store.env, nullptr, MDB_RDONLY, &txn);
    await_end_if_panic(code);
    base::check(code == 0, "a snapshot that cannot begin (are all reader slots taken?)");
    ::mdb_txn_reset(txn);
}

snapshot::state::~state() {
    for (auto* const each : cursors)
        if (each != nullptr) ::mdb_cursor_close(each);
    ::mdb_txn_abort(txn);
}

std::optional<std::string_view> snapshot::state::get(table where, std::string_view key) const {
    base::check(live, "a query of a snapshot that was reset");
    auto name = val_of(key);
    MDB_val value;
    int const code = ::mdb_get(txn, store.dbi(where), &name, &value);
    if (code == 0) return store::view_of(value);
    base::check(code == MDB_NOTFOUND, "a read of the store that LMDB refused");
    return std::nullopt;
}

std::optional<std::string_view> snapshot::state::record(table where, model::id id) {
    base::check(live, "a query of a snapshot that was reset");
    if (auto const known = remembered(where, id)) return known;
    ++searches;
    auto bytes = tree_of(where).find(id);
    if (!bytes) bytes = get(where, id_key(id));
    if (bytes) place_of(where, id) = {name_of(where, id), version, *bytes};
    return bytes;
}

std::optional<std::string_view> snapshot::state::remembered(table where, model::id id) {
    auto const& place = place_of(where, id);
    if (place.name != name_of(where, id) || place.version != version) return std::nullopt;
    return place.bytes;
}

id_tree& snapshot::state::tree_of(table where) {
    base::check(live, "a query of a snapshot that was reset");
    auto const at = static_cast<std::size_t>(where);
    auto& there = trees_.at(at);
    if (there.version != version) {
        there.pages.follow(txn, store.main, table_names[at], store.map);
        there.version = version;
    }
    return there.pages;
}

MDB_cursor* snapshot::state::cursor(table where) {
    base::check(live, "a query of a snapshot that was reset");
    auto const at = static_cast<std::size_t>(where);
    if (cursors[at] != nullptr && cursor_renewals[at] == renewals) return cursors[at];
    int const code = cursors[at] == nullptr ? ::mdb_cursor_open(txn, store.dbi(where), &cursors[at])
                                            : ::mdb_cursor_renew(txn, cursors[at]);
    base::check(code == 0, "a cursor that cannot be opened");
    cursor_renewals[at] = renewals;
    return cursors[at];
}

heads const& snapshot::state::heads() {
    if (heads_version_ == version && live) return heads_;
    auto const bytes = get(table::index, key_bytes{tag::heads});
    auto const found = bytes ? readable(decode_heads(*bytes)) : std::nullopt;
    base::check(found.has_value(), "a store without its heads");
    heads_ = *found;
    heads_version_ = version;
    doomed_.clear();
    if (heads_.purges != 0) find_doomed();
    return heads_;
}

void snapshot::state::find_doomed() {
    id_walk walk(cursor(table::index), key_bytes{tag::purge});
    for (bool there = walk.first(); there; there = walk.next()) doomed_.push_back(walk.id());
}

bool snapshot::state::is_doomed(model::id user) {
    return heads().purges != 0 && std::ranges::binary_search(doomed_, user);
}

tally snapshot::state::posts_of(model::id user) {
    auto const bytes = get(table::index, tally_key(user));
    if (!bytes) return {};
    return readable(decode_tally(*bytes)).value_or(tally{});
}

}  // namespace latchkey::store
