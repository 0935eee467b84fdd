#include "store/pages/read_version.hpp"

#include <atomic>
#include <cstddef>
#include <utility>

namespace latchkey::store {

bool is_overtaken(MDB_txn* txn, MDB_txn* probe) {
    std::size_t const version = ::mdb_txn_id(txn);
    std::atomic_thread_fence(std::memory_order_acquire);
    MDB_envinfo info;
    ::mdb_env_info(::mdb_txn_env(txn), &info);  // the newest number on a meta page
    if (info.me_last_txnid <= version) return false;
    if (info.me_last_txnid > version + 1) return true;
    // Version + 1 is still being written, or it is complete and version + 2 may be overwriting the
    // page of this version. The current number tells; a new read transaction begins with it.
    if (::mdb_txn_renew(probe) != 0) return false;  // the next call of LMDB reports the failure
    bool const is_later = ::mdb_txn_id(probe) != version;
    ::mdb_txn_reset(probe);
    return is_later;
}

int begin_read(MDB_env* env, MDB_txn** txn) {
    MDB_txn* probe = nullptr;
    if (int const code = ::mdb_txn_begin(env, nullptr, MDB_RDONLY, &probe); code != 0) return code;
    ::mdb_txn_reset(probe);
    int code = ::mdb_txn_begin(env, nullptr, MDB_RDONLY, txn);
    while (code == 0 && is_overtaken(*txn, probe)) {
        ::mdb_txn_reset(*txn);
        code = ::mdb_txn_renew(*txn);
        if (code != 0) ::mdb_txn_abort(std::exchange(*txn, nullptr));
    }
    if (code != 0) *txn = nullptr;
    ::mdb_txn_abort(probe);
    return code;
}

}  // namespace latchkey::store
