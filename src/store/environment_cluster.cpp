#include "store/environment_cluster.hpp"

#include "store/checksum.hpp"
#include "store/pages/read_version.hpp"

namespace latchkey::store {

cluster_record read_cluster(environment_state const& store) {
    cluster_record record;
    MDB_txn* txn = nullptr;
    if (begin_read(store.env, &txn) != 0) return record;
    auto const dbi = store.dbi(table::index);
    auto const position = key_bytes{tag::position}, load = key_bytes{tag::unfinished_load};
    auto key = val_of(position);
    MDB_val value;
    record.is_node = ::mdb_get(txn, dbi, &key, &value) == 0;
    if (record.is_node)
        if (auto const content = content_of(table::index, position, view_of(value)))
            record.position = decode_position(*content);
    key = val_of(load);
    record.is_unfinished = ::mdb_get(txn, dbi, &key, &value) == 0;
    record.is_node |= record.is_unfinished;
    ::mdb_txn_abort(txn);
    return record;
}

void note_cluster(environment_state& store) {
    auto const record = read_cluster(store);
    store.cluster.reset();
    if (record.position)
        store.cluster = record.position->cluster;
    else if (record.is_node)
        store.cluster = cluster_id{};  // of no cluster, so no log fits
    // One sync a commit instead of two: what a power cut undoes, the last transaction, is in the
    // log, and the node applies it again before it answers requests.
    ::mdb_env_set_flags(store.env, MDB_NOMETASYNC, store.cluster ? 1 : 0);
}

}  // namespace latchkey::store
