// The end of the file within a write transaction, in pages, including those not written yet. LMDB's
// interface reports only the end of the last commit, and its own bound is the size of the map,
// which a server makes larger than the store's. So the number is read from MDB_txn, which begins
// with two pointers, this number and the transaction's id (mdb.c, `struct MDB_txn`, the same in all
// of 0.9), and is used only if both numbers agree with the interface.
#pragma once

#include <lmdb.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace latchkey::store {

inline std::array<std::uint64_t, 2> file_end_words(MDB_txn const* txn) {
    std::array<std::uint64_t, 2> words;
    std::memcpy(words.data(), reinterpret_cast<char const*>(txn) + 2 * sizeof(void*), sizeof words);
    return words;
}

inline std::uint64_t file_end(MDB_txn const* txn) {
    return file_end_words(txn)[0];
}

// To be asked of a transaction that has just begun. False: an LMDB that `file_end` does not know.
inline bool knows_file_end(MDB_env* env, MDB_txn* txn) {
    MDB_envinfo info;
    auto const words = file_end_words(txn);
    return sizeof(void*) == 8 && ::mdb_env_info(env, &info) == 0 &&
           words[0] == info.me_last_pgno + 1 && words[1] == ::mdb_txn_id(txn);
}

}  // namespace latchkey::store
