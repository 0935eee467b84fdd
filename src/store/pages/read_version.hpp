// A race in LMDB 0.9's read transactions, and its detection. LMDB reads the number of the version
// (mti_txnid) and then copies the roots of its tables from a meta page that every second commit
// overwrites: version v is in page v & 1, and so is v + 2. A thread that is preempted in between
// copies the roots of a later version, or half of them, under the number v.
//
// A commit writes its meta page first, which takes as long as the disk does, and then its number;
// so v + 2 is never written before v + 1 is the current number. Any thread; private to the store.
#pragma once

#include <lmdb.h>

namespace latchkey::store {

// May the tables of `txn`, begun or renewed just now, be those of a later version? Then it must be
// renewed again; that terminates, since each time a commit has completed in between. `probe` is
// another read transaction of the environment, reset before and after.
bool is_overtaken(MDB_txn* txn, MDB_txn* probe);

// mdb_txn_begin for a read transaction that is not overtaken; 0 or LMDB's code.
int begin_read(MDB_env* env, MDB_txn** txn);

}  // namespace latchkey::store
