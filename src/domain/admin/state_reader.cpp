#include "domain/admin/state_reader.hpp"

#include <tuple>

#include "store/checksum.hpp"
#include "store/environment_state.hpp"
#include "store/pages/read_version.hpp"

namespace latchkey::domain {

static_assert(state_tables == table_count);

bool is_before(state_record const& left, state_record const& right) {
    return std::tie(left.table, left.key) < std::tie(right.table, right.key);
}

state_reader::state_reader(environment& store) : store_(store.native()) {
    if (int const code = begin_read(store_.env, &txn_); code != 0) {
        txn_ = nullptr;
        fail(code);
        return;
    }
    auto const name = key_bytes{tag::position};
    auto key = val_of(name);
    MDB_val value;
    if (::mdb_get(txn_, store_.dbi(table::index), &key, &value) != 0) return;
    auto const content = content_of(table::index, name, view_of(value));
    if (content) position_ = decode_position(*content);
    if (!position_) fail(record_damaged);
}

state_reader::~state_reader() {
    if (cursor_ != nullptr) ::mdb_cursor_close(cursor_);
    if (txn_ != nullptr) ::mdb_txn_abort(txn_);
}

void state_reader::fail(int code) {
    failure_ = lmdb_error("the store in " + store_.directory + " cannot be read", code);
}

bool state_reader::open_table() {
    if (cursor_ != nullptr) return true;
    int const code =
        ::mdb_cursor_open(txn_, store_.dbi(static_cast<store::table>(table_)), &cursor_);
    if (code != 0) fail(code);
    return code == 0;
}

std::optional<state_record> state_reader::next() {
    while (!failure_ && table_ < state_tables && open_table()) {
        auto const table = static_cast<store::table>(table_);
        MDB_val key, value;
        int const code = ::mdb_cursor_get(cursor_, &key, &value, MDB_NEXT);
        if (code == MDB_NOTFOUND) {
            ::mdb_cursor_close(cursor_);
            cursor_ = nullptr;
            ++table_;
            continue;
        }
        if (code != 0) {
            fail(code);
            break;
        }
        if (table == table::index && is_local(view_of(key))) continue;
        auto const content = store_.pages.is_within_page(view_of(value))
                                 ? content_of(table, view_of(key), view_of(value))
                                 : std::nullopt;
        if (content) return state_record{table_, view_of(key), *content};
        store_.damage.note(table, view_of(key));
        fail(record_damaged);
    }
    return std::nullopt;
}

}  // namespace latchkey::domain
