#include "store/engine/transaction.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/time_units.hpp"
#include "store/engine/checksum.hpp"
#include "store/engine/file_end.hpp"

namespace latchkey::store {

transaction::transaction(environment_state& store, intent intent) : store_(store), intent_(intent) {
    locked_ = store_.lock.acquire(store_.lock_patience);
    if (locked_)
        begin();
    else
        fail(EBUSY);
}

void transaction::begin() {
    if (int const code = ::mdb_txn_begin(store_.env, nullptr, 0, &txn_); code != 0) {
        txn_ = nullptr;
        fail(code);
        return;
    }
    knows_end_ = knows_file_end(store_.env, txn_);
    if (store_.cluster && !begin_in_cluster()) return;
    begin_command();
    auto const bytes = get(table::index, key_bytes{tag::counters});
    auto const counters = bytes ? decode_counters(*bytes) : std::nullopt;
    if (!counters) {
        fail(MDB_CORRUPTED);  // no effect after a damaged record, which failed already
        return;
    }
    counters_ = *counters;
    read_time();
}

void transaction::read_time() {
    if (failure_ != 0) return;
    now_ = store_.time.time_at(store_.clocks(), counters_.written_at);
    find_age_time();
}

void transaction::find_age_time() {
    constexpr base::mono_ns half_ms = base::millisecond / 2;  // twice the pace of uptime
    uptime_ = store_.uptime();
    auto const bytes = find(table::index, key_bytes{tag::age_time});
    age_lags_ = bytes.has_value();
    auto const previous =
        bytes ? read_id(*bytes).value_or(counters_.written_at) : counters_.written_at;
    auto const gap = now_ - previous;
    age_time_ = previous == 0 || gap <= base::limits::clock_step_ms_max
                    ? now_
                    : previous + std::min(gap, (uptime_ - store_.aged_at) / half_ms);
}

transaction::~transaction() {
    if (txn_ != nullptr) ::mdb_txn_abort(txn_);
    unlock();
}

void transaction::unlock() {
    if (std::exchange(locked_, false)) store_.lock.release();
}

void transaction::fail(int code) {
    if (failure_ == 0) failure_ = code;
}

write_capacity const& transaction::capacity(std::uint64_t growth) {
    if (!capacity_) capacity_ = find_write_capacity(store_, growth, knows_end_);
    return *capacity_;
}

void transaction::begin_command() {
    growing_ = false;
    initial_end_ = knows_end_ ? file_end(txn_) : 0;
}

// LMDB writes no page before the commit, so checking after each put is early enough. An end that
// was beyond the bound before the command is not its fault.
void transaction::check_file_end() {
    if (!knows_end_ || failure_ != 0) return;
    auto const end = file_end(txn_);
    if (end <= initial_end_) return;
    if (end > (growing_ ? capacity().grow_end : capacity().write_end)) fail(MDB_MAP_FULL);
}

std::optional<std::string_view> transaction::get(table table, std::string_view key) {
    std::string_view content;
    if (failure_ != 0) return std::nullopt;
    int const code = read(table, key, content);
    if (code == 0) return content;
    if (code != MDB_NOTFOUND) fail(code);
    return std::nullopt;
}

std::optional<std::string_view> transaction::find(table table, std::string_view key) {
    std::string_view content;
    if (failure_ != 0) return std::nullopt;
    int const code = read(table, key, content);
    if (code == 0) return content;
    if (code != MDB_NOTFOUND && code != record_damaged) fail(code);
    return std::nullopt;
}

int transaction::read(table table, std::string_view key, std::string_view& content) {
    auto name = val_of(key);
    MDB_val value;
    int const code = ::mdb_get(txn_, store_.dbi(table), &name, &value);
    if (code == MDB_NOTFOUND) return is_absent(table, key) ? MDB_NOTFOUND : record_damaged;
    if (code != 0) return code;
    auto const checked = store_.pages.is_within_page(view_of(value))
                             ? content_of(table, key, view_of(value))
                             : std::nullopt;
    if (!checked) {
        store_.damage.note(table, key);
        return record_damaged;
    }
    content = *checked;
    return 0;
}

// Records that clients name by id are looked for with care before they count as absent: LMDB finds
// nothing also behind a damaged key. Entries of other indexes are usually absent when they are
// asked for, and a bulk load asks for each, so there LMDB's answer is accepted.
bool transaction::is_absent(table table, std::string_view key) {
    bool const has_id = table != table::index || static_cast<tag>(key[0]) == tag::key ||
                        static_cast<tag>(key[0]) == tag::webhook;
    MDB_cursor* cursor = nullptr;
    if (!has_id || ::mdb_cursor_open(txn_, store_.dbi(table), &cursor) != 0) return true;
    bool const absent = is_surely_absent(
        cursor, key, [&](auto name, auto value) { return is_whole(table, name, value); });
    ::mdb_cursor_close(cursor);
    if (!absent) store_.damage.note(table, key);
    return absent;
}

bool transaction::is_whole(table table, std::string_view key, std::string_view value) {
    return store_.pages.is_within_page(value) && content_of(table, key, value).has_value();
}

void transaction::put(table table, std::string_view key, std::string_view value, unsigned flags) {
    if (failure_ != 0) return;
    dirty_ = true;
    auto const kind = (flags & MDB_APPEND) != 0 ? effect_kind::append : effect_kind::put;
    record({.kind = kind, .table = table, .key = key, .content = value});
    write(table, key, value, flags);
}

void transaction::write(table table, std::string_view key, std::string_view value, unsigned flags) {
    auto const dbi = store_.dbi(table);
    int code = put_checked(txn_, dbi, table, key, value, flags);
    // A damaged key at the end of the table sorts above all others; insert in front of it.
    if (code == MDB_KEYEXIST && (flags & MDB_APPEND) != 0)
        code = put_checked(txn_, dbi, table, key, value, MDB_NOOVERWRITE);
    if (code != 0) fail(code);
    check_file_end();
}

bool transaction::erase(table table, std::string_view key) {
    if (failure_ != 0 || !remove(table, key)) return false;
    dirty_ = true;
    record({.kind = effect_kind::erase, .table = table, .key = key});
    return true;
}

bool transaction::remove(table table, std::string_view key) {
    auto name = val_of(key);
    int const code = ::mdb_del(txn_, store_.dbi(table), &name, nullptr);
    if (code != 0 && code != MDB_NOTFOUND) fail(code);
    if (code != 0) return false;
    check_file_end();
    return true;
}

std::optional<std::string> transaction::first_key_with_prefix(std::string_view prefix) {
    MDB_cursor* cursor = nullptr;
    if (failure_ != 0) return std::nullopt;
    if (int const code = ::mdb_cursor_open(txn_, store_.dbi(table::index), &cursor); code != 0) {
        fail(code);
        return std::nullopt;
    }
    auto key = val_of(prefix);
    MDB_val value;
    std::optional<std::string> first;
    int code = ::mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    for (; code == 0 && !first && view_of(key).starts_with(prefix);
         code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        if (is_whole(table::index, view_of(key), view_of(value)))
            first = view_of(key);
        else
            store_.damage.note(table::index, view_of(key));
    }
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) fail(code);
    return first;
}

model::id transaction::last_id(table table) {
    MDB_cursor* cursor = nullptr;
    if (failure_ != 0) return 0;
    if (int const code = ::mdb_cursor_open(txn_, store_.dbi(table), &cursor); code != 0) {
        fail(code);
        return 0;
    }
    MDB_val key, value;
    int const code = ::mdb_cursor_get(cursor, &key, &value, MDB_LAST);
    auto const id = code == 0 ? read_id(view_of(key)).value_or(0) : 0;
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) fail(code);
    return id;
}

std::size_t transaction::erase_range(std::string_view begin, std::string_view end,
                                     std::size_t limit) {
    if (failure_ != 0 || limit == 0) return 0;
    auto const removed = remove_range(begin, end, limit);
    if (removed == 0) return 0;
    dirty_ = true;
    record({.kind = effect_kind::erase_range,
            .key = begin,
            .content = end,
            .count = static_cast<std::uint32_t>(removed)});
    return removed;
}

std::size_t transaction::remove_range(std::string_view begin, std::string_view end,
                                      std::size_t limit) {
    MDB_cursor* cursor = nullptr;
    if (int const code = ::mdb_cursor_open(txn_, store_.dbi(table::index), &cursor); code != 0) {
        fail(code);
        return 0;
    }
    std::size_t removed = 0;
    int code = 0;
    while (removed < limit) {
        auto key = val_of(begin);
        MDB_val value;
        code = ::mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
        if (code != 0 || view_of(key) >= end) break;
        code = ::mdb_cursor_del(cursor, 0);
        if (code != 0) break;
        ++removed;
    }
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) fail(code);
    check_file_end();
    return removed;
}

model::id transaction::next_change() {
    if (last_change_ < 0) last_change_ = last_id(table::changes);
    return ++last_change_;
}

std::uint64_t transaction::bytes_of(table table) {
    MDB_stat pages{};
    if (failure_ != 0) return 0;
    if (int const code = ::mdb_stat(txn_, store_.dbi(table), &pages); code != 0) fail(code);
    return (pages.ms_branch_pages + pages.ms_leaf_pages + pages.ms_overflow_pages) *
           store_.page_bytes;
}

std::optional<model::id> transaction::first_id(table table) {
    MDB_cursor* cursor = nullptr;
    if (failure_ != 0) return std::nullopt;
    if (int const code = ::mdb_cursor_open(txn_, store_.dbi(table), &cursor); code != 0) {
        fail(code);
        return std::nullopt;
    }
    MDB_val key, value;
    int const code = ::mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    auto const id = code == 0 ? read_id(view_of(key)) : std::nullopt;
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) fail(code);
    return id;
}

std::vector<model::id> transaction::ids_with_prefix(std::string_view prefix, std::size_t limit) {
    std::vector<model::id> ids;
    if (limit == 0) return ids;
    any_id_with_prefix(prefix, [&](model::id id) {
        ids.push_back(id);
        return ids.size() == limit;
    });
    return ids;
}

bool transaction::any_id_with_prefix(std::string_view prefix,
                                     base::function_ref<bool(model::id)> accepts) {
    MDB_cursor* cursor = nullptr;
    if (failure_ != 0) return false;
    if (int const code = ::mdb_cursor_open(txn_, store_.dbi(table::index), &cursor); code != 0) {
        fail(code);
        return false;
    }
    auto key = val_of(prefix);
    MDB_val value;
    bool accepted = false;
    int code = ::mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (code == 0 && !accepted && view_of(key).starts_with(prefix)) {
        auto const id = read_id(view_of(key).substr(prefix.size()));
        if (id && is_whole(table::index, view_of(key), view_of(value)))
            accepted = accepts(*id);
        else
            store_.damage.note(table::index, view_of(key));
        code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) fail(code);
    return accepted;
}

void transaction::scan(table table, std::string_view begin,
                       base::function_ref<bool(std::string_view, std::string_view)> visitor) {
    MDB_cursor* cursor = nullptr;
    if (failure_ != 0) return;
    if (int const code = ::mdb_cursor_open(txn_, store_.dbi(table), &cursor); code != 0)
        return fail(code);
    auto key = val_of(begin);
    MDB_val value;
    int code = ::mdb_cursor_get(cursor, &key, &value, begin.empty() ? MDB_FIRST : MDB_SET_RANGE);
    for (bool more = true; code == 0 && more;) {
        auto const name = view_of(key), entry = view_of(value);
        auto const content =
            store_.pages.is_within_page(entry) ? content_of(table, name, entry) : std::nullopt;
        if (content)
            more = visitor(name, *content);
        else
            store_.damage.note(table, name);
        if (more) code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) fail(code);
}

int transaction::write_counters() {
    begin_command();
    counters_.written_at = now_;
    encode(counters_, scratch, known_schema());
    put(table::index, key_bytes{tag::counters}, scratch);
    std::array<char, 8> value;
    if (age_time_ < now_)
        put(table::index, key_bytes{tag::age_time}, id_value(age_time_, value));
    else if (age_lags_)
        erase(table::index, key_bytes{tag::age_time});
    return failure_;
}

int transaction::commit() {
    if (failure_ != 0) return failure_;
    if (!dirty_ && !has_rows_) return 0;
    int const code = commit_locked();
    if (code == 0) unlock();
    return code;
}

int transaction::commit_locked() {
    if (dirty_)
        if (int const code = write_counters(); code != 0) return code;
    if (store_.cluster)
        if (int const code = append_row(); code != 0) return code;
    int const code = ::mdb_txn_commit(std::exchange(txn_, nullptr));
    if (code == 0) {
        store_.aged_at = uptime_;
        if (store_.cluster) note_applied();
    }
    // LMDB reports the end of the map before it writes the first page: nothing has happened.
    if (code == 0 || code == MDB_MAP_FULL) return code == 0 || !won_ ? code : row_unapplied;
    // After any other failure the state of the disk is unknown, and a second fsync would not tell:
    // end without acknowledging anything. The next start finds the last complete commit.
    base::log(
        base::severity::failure,
        lmdb_error("the store cannot be written; ending without acknowledging", code).message);
    ::_exit(1);
}

int transaction::commit_pages() {
    (store_.cluster ? has_rows_ : dirty_) = true;
    return commit();
}

}  // namespace latchkey::store
