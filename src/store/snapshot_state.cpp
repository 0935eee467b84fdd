// Records are looked for in this version's cache, then by interpolation in the table's pages, then
// by LMDB; whatever finds a record, its checksum is verified. LMDB finds nothing also behind a
// damaged page, so an absent key is proved by the sound entries on both sides of its gap. A store
// that cannot be read ends the process.
#include "store/snapshot_state.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/check.hpp"
#include "base/system/log.hpp"
#include "store/checksum.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::store {

void await_process_end(int code) {
    if (code == MDB_PANIC) std::this_thread::sleep_for(std::chrono::seconds(30));
}

void end_unread(int code) {
    base::log(base::severity::failure, lmdb_error("the store cannot be read", code).message);
    std::_Exit(EXIT_FAILURE);
}

namespace {

constexpr auto slot_wait_step = std::chrono::milliseconds(20);
constexpr int slot_wait_steps = 250;  // 5 s: until some of the commands that read have ended

// All reader slots may be taken by commands, or by processes that died.
int begin_reading(MDB_env* env, MDB_txn** txn) {
    for (int step = 0;; ++step) {
        int const code = ::mdb_txn_begin(env, nullptr, MDB_RDONLY, txn);
        if (code != MDB_READERS_FULL || step == slot_wait_steps) return code;
        int freed = 0;
        ::mdb_reader_check(env, &freed);
        if (freed == 0) std::this_thread::sleep_for(slot_wait_step);
    }
}

}  // namespace

snapshot_state::snapshot_state(environment_state& environment) : store(environment) {
    for (auto* const each : {&probe, &txn}) {
        int const code = begin_reading(store.env, each);
        await_process_end(code);
        if (code != 0) end_unread(code);
        ::mdb_txn_reset(*each);
    }
}

snapshot_state::~snapshot_state() {
    for (auto const* all : {&cursors, &probes})
        for (auto const& each : *all)
            if (each.native != nullptr) ::mdb_cursor_close(each.native);
    ::mdb_txn_abort(txn);
    ::mdb_txn_abort(probe);
}

std::optional<std::string_view> snapshot_state::find(table table, std::string_view key) {
    base::check(live, "a query of a snapshot that was reset");
    ++work.searches;
    auto name = val_of(key);
    MDB_val value;
    int const code = ::mdb_get(txn, store.dbi(table), &name, &value);
    if (code == 0) return view_of(value);
    if (code != MDB_NOTFOUND)
        note_damaged_page(code);
    else if (!is_absent(table, key))
        note_damage(table, key);
    return std::nullopt;
}

std::optional<std::string_view> snapshot_state::get(table table, std::string_view key) {
    auto const value = find(table, key);
    return value ? content(table, key, *value) : std::nullopt;
}

std::optional<std::string_view> snapshot_state::record(table table, model::id id) {
    base::check(live, "a query of a snapshot that was reset");
    if (auto const* const cached = find_cached(table, id))
        return cached_content(table, id, *cached);
    ++searches;
    return search(table, id);
}

std::optional<std::string_view> snapshot_state::listed_record(table table, model::id id) {
    if (auto const* const cached = find_cached(table, id))
        return cached_content(table, id, *cached);
    return search(table, id);
}

std::optional<std::string_view> snapshot_state::search(table table, model::id id) {
    auto const key = id_key(id);
    auto value = tree_of(table).find(id);
    if (value)
        ++work.searches;
    else
        value = find(table, key);
    if (!value) return std::nullopt;
    auto const result = content(table, key, *value);
    if (result)
        cache_slot(table, id) = {cache_name(table, id), version, *value, key_checksum(table, key)};
    return result;
}

// It lies within its page, as it did when it was searched.
std::optional<std::string_view> snapshot_state::cached_content(table table, model::id id,
                                                               cached_record const& cached) {
    ++work.records;
    work.bytes += cached.bytes.size();
    auto const content = content_of(cached.key_checksum, cached.bytes);
    if (!content) [[unlikely]]
        note_damage(table, id_key(id));
    return content;
}

std::optional<std::string_view> snapshot_state::content(table table, std::string_view key,
                                                        std::string_view value) {
    ++work.records;
    work.bytes += value.size();
    auto const content =
        store.pages.is_within_page(value) ? content_of(table, key, value) : std::nullopt;
    if (!content) [[unlikely]]
        note_damage(table, key);
    return content;
}

void snapshot_state::note_damage(table table, std::string_view key) {
    damaged = true;
    store.damage.note(table, key);
}

void snapshot_state::note_damaged_page(int code) {
    await_process_end(code);
    damaged = true;
    store.damage.note_page(::mdb_strerror(code));
}

// LMDB also reports "not found" when a page or key on the path is damaged.
bool snapshot_state::is_absent(table table, std::string_view key) {
    auto const is_whole = [&](std::string_view name, std::string_view value) {
        return store.pages.is_within_page(value) && content_of(table, name, value).has_value();
    };
    if (auto const root = root_of(table)) return file().lacks(*root, key, is_whole);
    auto* const probe = store.map.empty() ? current(probes, table) : nullptr;
    return probe != nullptr && is_surely_absent(probe, key, is_whole);
}

bool snapshot_state::has_sound_path(table table, std::string_view key,
                                    std::optional<std::uint64_t> page) {
    if (store.map.empty()) return true;
    auto const root = root_of(table);
    auto const leaf = root ? file().leaf_of(*root, key) : std::nullopt;
    return leaf && (!page || *leaf == *page);
}

std::optional<tree_root> snapshot_state::root_of(table table) {
    auto const index = static_cast<std::size_t>(table);
    auto& cached = roots_.at(index);
    if (cached.version == version) return cached.root;
    std::string_view const title = table_names[index];
    auto name = val_of(title);
    MDB_val value;
    if (store.map.empty() || ::mdb_get(txn, store.main, &name, &value) != 0) return std::nullopt;
    cached = {version, decode_tree_root(view_of(value))};
    return cached.root;
}

tree_reader snapshot_state::file() {
    if (sound_pages_.begin(version)) {
        MDB_envinfo info;
        ::mdb_env_info(store.env, &info);
        file_bytes_ = (info.me_last_pgno + 1) * store.page_bytes;
    }
    return {store.map.substr(0, file_bytes_), store.page_bytes, &sound_pages_};
}

id_tree& snapshot_state::tree_of(table table) {
    base::check(live, "a query of a snapshot that was reset");
    auto const index = static_cast<std::size_t>(table);
    auto& tree = trees_.at(index);
    if (tree.version != version) {
        auto const map = store.interpolates ? store.map : std::string_view();
        tree.pages.attach(txn, store.main, table_names[index], map);
        tree.version = version;
    }
    return tree.pages;
}

MDB_cursor* snapshot_state::current(std::array<table_cursor, table_count>& all, table table) {
    base::check(live, "a query of a snapshot that was reset");
    auto& slot = all.at(static_cast<std::size_t>(table));
    if (slot.native != nullptr && slot.renewals == renewals) return slot.native;
    int const code = slot.native == nullptr ? ::mdb_cursor_open(txn, store.dbi(table), &slot.native)
                                            : ::mdb_cursor_renew(txn, slot.native);
    if (code != 0) {
        note_damaged_page(code);
        return nullptr;
    }
    slot.renewals = renewals;
    return slot.native;
}

counters const& snapshot_state::counters() {
    if (counters_version_ == version && live) return counters_;
    auto const bytes = get(table::index, key_bytes{tag::counters});
    auto const decoded = bytes ? decode_counters(*bytes) : std::nullopt;
    damaged_counters_ = !decoded;
    counters_ = decoded.value_or(store::counters{});
    if (!readable(decoded)) {
        counters_version_ = UINT64_MAX;
        return counters_;
    }
    counters_version_ = version;
    return counters_;
}

tally snapshot_state::posts_of(model::id user) {
    auto const bytes = get(table::index, tally_key(user));
    if (!bytes) return {};
    return readable(decode_tally(*bytes)).value_or(tally{});
}

}  // namespace latchkey::store
