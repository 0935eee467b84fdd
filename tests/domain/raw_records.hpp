// Records as the store has them, read and written past it, with valid checksums.
#pragma once

#include "store/checksum.hpp"
#include "store/environment_state.hpp"
#include "store/lmdb_value.hpp"
#include "support.hpp"

namespace latchkey::domain {

// Empty: there is none.
inline std::string raw_record(environment& store, table table, std::string_view name) {
    auto& native = store.native();
    MDB_txn* txn = nullptr;
    EXPECT_EQ(::mdb_txn_begin(native.env, nullptr, MDB_RDONLY, &txn), 0);
    auto key = val_of(name);
    MDB_val value;
    std::string content;
    if (::mdb_get(txn, native.dbi(table), &key, &value) == 0)
        content = content_of(table, name, view_of(value)).value_or("");
    ::mdb_txn_abort(txn);
    return content;
}

inline void put_raw_record(environment& store, table table, std::string_view name,
                           std::string_view content) {
    auto& native = store.native();
    MDB_txn* txn = nullptr;
    ASSERT_EQ(::mdb_txn_begin(native.env, nullptr, 0, &txn), 0);
    ASSERT_EQ(put_checked(txn, native.dbi(table), table, name, content, 0), 0);
    ASSERT_EQ(::mdb_txn_commit(txn), 0);
}

inline void put_counters(environment& store, base::function_ref<void(counters&)> change) {
    key_bytes const name{tag::counters};
    auto all = decode_counters(raw_record(store, table::index, name)).value_or(counters{});
    change(all);
    std::string bytes;
    encode(all, bytes);
    put_raw_record(store, table::index, name, bytes);
}

}  // namespace latchkey::domain
