#include "store/transaction.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/log.hpp"

namespace latchkey::store {

transaction::transaction(environment::state& store) : store_(store) {
    if (int const code = ::mdb_txn_begin(store_.env, nullptr, 0, &txn_); code != 0) {
        txn_ = nullptr;
        fail(code);
        return;
    }
    auto const bytes = get(table::index, key_bytes{tag::heads});
    auto const found = bytes ? decode_heads(*bytes) : std::nullopt;
    if (!found) {
        fail(MDB_CORRUPTED);
        return;
    }
    heads_ = *found;
    now_ = std::max(store_.wall(), heads_.written_at);
}

transaction::~transaction() {
    if (txn_ != nullptr) ::mdb_txn_abort(txn_);
}

void transaction::fail(int code) {
    if (failure_ == 0) failure_ = code;
}

room const& transaction::space() {
    if (!space_) space_ = store_.make_room();
    return *space_;
}

std::optional<std::string_view> transaction::get(table where, std::string_view key) {
    if (failure_ != 0) return std::nullopt;
    auto name = val_of(key);
    MDB_val value;
    int const code = ::mdb_get(txn_, store_.dbi(where), &name, &value);
    if (code == 0) return view_of(value);
    if (code != MDB_NOTFOUND) fail(code);
    return std::nullopt;
}

void transaction::put(table where, std::string_view key, std::string_view value, unsigned flags) {
    if (failure_ != 0) return;
    wrote_ = true;
    auto name = val_of(key);
    auto content = val_of(value);
    if (int const code = ::mdb_put(txn_, store_.dbi(where), &name, &content, flags); code != 0)
        fail(code);
}

bool transaction::erase(table where, std::string_view key) {
    if (failure_ != 0) return false;
    auto name = val_of(key);
    int const code = ::mdb_del(txn_, store_.dbi(where), &name, nullptr);
    if (code == 0) return wrote_ = true;
    if (code != MDB_NOTFOUND) fail(code);
    return false;
}

std::optional<model::id> transaction::first_id(table where) {
    MDB_cursor* cursor = nullptr;
    if (failure_ != 0) return std::nullopt;
    if (int const code = ::mdb_cursor_open(txn_, store_.dbi(where), &cursor); code != 0)
        return fail(code), std::nullopt;
    MDB_val key, value;
    int const code = ::mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    auto const id = code == 0 ? read_id(view_of(key)) : std::nullopt;
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) fail(code);
    return id;
}

std::size_t transaction::erase_range(std::string_view begin, std::string_view end,
                                     std::size_t most) {
    MDB_cursor* cursor = nullptr;
    if (failure_ != 0 || most == 0) return 0;
    if (int const code = ::mdb_cursor_open(txn_, store_.dbi(table::index), &cursor); code != 0)
        return fail(code), 0;
    std::size_t gone = 0;
    int code = 0;
    while (gone < most) {
        auto key = val_of(begin);
        MDB_val value;
        code = ::mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
        if (code != 0 || view_of(key) >= end) break;
        code = ::mdb_cursor_del(cursor, 0);
        if (code != 0) break;
        wrote_ = true;
        ++gone;
    }
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) fail(code);
    return gone;
}

std::vector<model::id> transaction::ids_under(std::string_view prefix, std::size_t most) {
    std::vector<model::id> found;
    if (most == 0) return found;
    any_under(prefix, [&](model::id id) {
        found.push_back(id);
        return found.size() == most;
    });
    return found;
}

bool transaction::any_under(std::string_view prefix, base::function_ref<bool(model::id)> accepts) {
    MDB_cursor* cursor = nullptr;
    if (failure_ != 0) return false;
    if (int const code = ::mdb_cursor_open(txn_, store_.dbi(table::index), &cursor); code != 0)
        return fail(code), false;
    auto key = val_of(prefix);
    MDB_val value;
    bool found = false;
    int code = ::mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (code == 0 && !found && view_of(key).starts_with(prefix)) {
        auto const id = read_id(view_of(key).substr(prefix.size()));
        if (!id) {
            code = MDB_CORRUPTED;
            break;
        }
        found = accepts(*id);
        code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) fail(code);
    return found;
}

int transaction::keep_heads() {
    heads_.written_at = now_;
    encode(heads_, scratch);
    put(table::index, key_bytes{tag::heads}, scratch);
    return failure_;
}

int transaction::commit() {
    if (failure_ != 0) return failure_;
    if (!wrote_) return 0;
    if (int const code = keep_heads(); code != 0) return code;
    int const code = ::mdb_txn_commit(std::exchange(txn_, nullptr));
    // The map's end is met before LMDB writes its first page, and then nothing has happened.
    if (code == 0 || code == MDB_MAP_FULL) return code;
    // Whether the rest is on the disk nobody knows, and a second fsync would not tell: go, without
    // acknowledging anything. The next start finds the last commit that was whole.
    base::say(
        base::severity::failure,
        lmdb_error("the store cannot be written; ending without acknowledging", code).message);
    ::_exit(1);
}

}  // namespace latchkey::store
