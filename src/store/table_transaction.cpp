// The first failure is kept, and every function returns at once after it; cursors live for one call
// and pass their failures on. After each put the end of the file is compared with what the command
// may use, since LMDB writes no page before the commit. An absent key is believed only where the
// entries beside its gap are sound, for keys that clients name by id.
#include "store/table_transaction.hpp"

#include <cerrno>
#include <utility>

#include "store/checksum.hpp"
#include "store/pages/file_end.hpp"

namespace latchkey::store {

// For the length of a call: what fails with it is the transaction's failure, the end of the table
// is none.
class table_transaction::cursor {
  public:
    cursor(table_transaction& owner, table table) : owner_(owner) {
        if (owner_.ok()) note(::mdb_cursor_open(owner_.txn_, owner_.store_.dbi(table), &cursor_));
    }
    ~cursor() {
        if (cursor_ != nullptr) ::mdb_cursor_close(cursor_);
    }
    cursor(cursor const&) = delete;
    cursor& operator=(cursor const&) = delete;

    bool move(MDB_cursor_op direction) {
        return cursor_ != nullptr && note(::mdb_cursor_get(cursor_, &key_, &value_, direction));
    }
    bool seek(std::string_view key) {
        key_ = val_of(key);
        return move(MDB_SET_RANGE);
    }
    bool remove() { return note(::mdb_cursor_del(cursor_, 0)); }
    std::string_view name() const { return view_of(key_); }
    std::string_view entry() const { return view_of(value_); }

  private:
    bool note(int code) {
        if (code != 0 && code != MDB_NOTFOUND) owner_.fail(code);
        return code == 0;
    }

    table_transaction& owner_;
    MDB_cursor* cursor_ = nullptr;
    MDB_val key_{}, value_{};
};

table_transaction::table_transaction(environment_state& store) : store_(store) {
    locked_ = store_.lock.acquire(store_.lock_patience);
    if (!locked_) fail(EBUSY);
}

table_transaction::~table_transaction() {
    if (txn_ != nullptr) ::mdb_txn_abort(txn_);
    unlock();
}

void table_transaction::unlock() {
    if (std::exchange(locked_, false)) store_.lock.release();
}

bool table_transaction::begin_tables() {
    if (!ok()) return false;
    if (int const code = ::mdb_txn_begin(store_.env, nullptr, 0, &txn_); code != 0) {
        txn_ = nullptr;
        fail(code);
        return false;
    }
    knows_end_ = knows_file_end(store_.env, txn_);
    return true;
}

int table_transaction::commit_tables() {
    return ::mdb_txn_commit(std::exchange(txn_, nullptr));
}

void table_transaction::fail(commit_result failure) {
    if (ok()) failure_ = failure;
}

write_capacity const& table_transaction::capacity(std::uint64_t growth) {
    if (!capacity_) capacity_ = find_write_capacity(store_, growth, knows_end_);
    return *capacity_;
}

void table_transaction::begin_command() {
    growing_ = false;
    initial_end_ = knows_end_ ? file_end(txn_) : 0;
}

// LMDB writes no page before the commit, so checking after each put is early enough. An end that
// was beyond the bound before the command is not its fault.
void table_transaction::check_file_end() {
    if (!knows_end_ || !ok()) return;
    auto const end = file_end(txn_);
    if (end <= initial_end_) return;
    if (end > (growing_ ? capacity().grow_end : capacity().write_end)) fail(MDB_MAP_FULL);
}

std::optional<std::string_view> table_transaction::get(table table, std::string_view key) {
    std::string_view content;
    if (!ok()) return std::nullopt;
    int const code = read(table, key, content);
    if (code == 0) return content;
    if (code != MDB_NOTFOUND) fail(code);
    return std::nullopt;
}

std::optional<std::string_view> table_transaction::find(table table, std::string_view key) {
    std::string_view content;
    if (!ok()) return std::nullopt;
    int const code = read(table, key, content);
    if (code == 0) return content;
    if (code != MDB_NOTFOUND && code != record_damaged) fail(code);
    return std::nullopt;
}

int table_transaction::read(table table, std::string_view key, std::string_view& content) {
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
bool table_transaction::is_absent(table table, std::string_view key) {
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

bool table_transaction::is_whole(table table, std::string_view key, std::string_view value) {
    return store_.pages.is_within_page(value) && content_of(table, key, value).has_value();
}

void table_transaction::write(table table, std::string_view key, std::string_view value,
                              unsigned flags) {
    auto const dbi = store_.dbi(table);
    int code = put_checked(txn_, dbi, table, key, value, flags);
    // A damaged key at the end of the table sorts above all others; insert in front of it.
    if (code == MDB_KEYEXIST && (flags & MDB_APPEND) != 0)
        code = put_checked(txn_, dbi, table, key, value, MDB_NOOVERWRITE);
    if (code != 0) fail(code);
    check_file_end();
}

bool table_transaction::remove(table table, std::string_view key) {
    auto name = val_of(key);
    int const code = ::mdb_del(txn_, store_.dbi(table), &name, nullptr);
    if (code != 0 && code != MDB_NOTFOUND) fail(code);
    if (code != 0) return false;
    check_file_end();
    return true;
}

std::optional<std::string> table_transaction::first_key_with_prefix(std::string_view prefix) {
    cursor place(*this, table::index);
    for (bool more = place.seek(prefix); more && place.name().starts_with(prefix);
         more = place.move(MDB_NEXT)) {
        if (is_whole(table::index, place.name(), place.entry())) return std::string(place.name());
        store_.damage.note(table::index, place.name());
    }
    return std::nullopt;
}

model::id table_transaction::last_id(table table) {
    cursor place(*this, table);
    return place.move(MDB_LAST) ? read_id(place.name()).value_or(0) : 0;
}

std::optional<model::id> table_transaction::first_id(table table) {
    cursor place(*this, table);
    return place.move(MDB_FIRST) ? read_id(place.name()) : std::nullopt;
}

std::size_t table_transaction::remove_range(std::string_view begin, std::string_view end,
                                            std::size_t limit) {
    std::size_t removed = 0;
    {
        cursor place(*this, table::index);
        while (removed < limit && place.seek(begin) && place.name() < end && place.remove())
            ++removed;
    }
    check_file_end();
    return removed;
}

std::uint64_t table_transaction::bytes_of(table table) {
    MDB_stat pages{};
    if (!ok()) return 0;
    if (int const code = ::mdb_stat(txn_, store_.dbi(table), &pages); code != 0) fail(code);
    return (pages.ms_branch_pages + pages.ms_leaf_pages + pages.ms_overflow_pages) *
           store_.page_bytes;
}

std::vector<model::id> table_transaction::ids_with_prefix(std::string_view prefix,
                                                          std::size_t limit) {
    std::vector<model::id> ids;
    if (limit == 0) return ids;
    any_id_with_prefix(prefix, [&](model::id id) {
        ids.push_back(id);
        return ids.size() == limit;
    });
    return ids;
}

bool table_transaction::any_id_with_prefix(std::string_view prefix,
                                           base::function_ref<bool(model::id)> accepts) {
    cursor place(*this, table::index);
    for (bool more = place.seek(prefix); more && place.name().starts_with(prefix);
         more = place.move(MDB_NEXT)) {
        auto const id = read_id(place.name().substr(prefix.size()));
        if (!id || !is_whole(table::index, place.name(), place.entry()))
            store_.damage.note(table::index, place.name());
        else if (accepts(*id))
            return true;
    }
    return false;
}

void table_transaction::scan(table table, std::string_view begin,
                             base::function_ref<bool(std::string_view, std::string_view)> visitor) {
    cursor place(*this, table);
    bool more = begin.empty() ? place.move(MDB_FIRST) : place.seek(begin);
    for (; more; more = place.move(MDB_NEXT)) {
        auto const entry = place.entry();
        auto const content = store_.pages.is_within_page(entry)
                                 ? content_of(table, place.name(), entry)
                                 : std::nullopt;
        if (!content)
            store_.damage.note(table, place.name());
        else if (!visitor(place.name(), *content))
            return;
    }
}

}  // namespace latchkey::store
