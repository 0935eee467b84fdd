#include "store/environment_cluster.hpp"

#include "base/bytes.hpp"
#include "store/engine/checksum.hpp"
#include "store/engine/read_version.hpp"
#include "store/environment.hpp"

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
}

std::optional<cluster_position> environment::node() const {
    return read_cluster(*state_).position;
}

bool environment::has_unfinished_load() const {
    return read_cluster(*state_).is_unfinished;
}

base::result<void> environment::attach(shared_log& log, cluster_id const& cluster) {
    auto const place = "the store in " + state_->directory;
    auto const record = read_cluster(*state_);
    if (record.is_unfinished)
        return base::error{place + " was not completely loaded from its cluster: load it again"};
    if (!record.is_node) return base::error{place + " is no node of a cluster"};
    if (!record.position)
        return base::error{place +
                           " does not tell its position in the cluster: its record is "
                           "damaged"};
    if (record.position->cluster != cluster) {
        auto const text = [](cluster_id const& id) { return base::to_hex({id.data(), id.size()}); };
        return base::error{place + " belongs to another cluster, " +
                           text(record.position->cluster) + " instead of " + text(cluster) +
                           ": restore a backup of a node of this one, or begin with an empty "
                           "directory"};
    }
    state_->cluster = cluster;
    state_->log = &log;
    return {};
}

void environment::detach() {
    state_->log = nullptr;
}

}  // namespace latchkey::store
