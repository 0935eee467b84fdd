// Plain LMDB transactions, since nothing of a load may be counted, recorded or sent to the log.
// Tables are dropped first; then records are appended in key order (MDB_APPEND), which LMDB itself
// checks. A mark, the first key of the index, stays until the position is there: a store with it is
// not opened as a node.
#include "domain/admin/state_load.hpp"

#include <utility>

#include "base/check.hpp"
#include "store/checksum.hpp"
#include "store/environment_cluster.hpp"
#include "store/environment_state.hpp"
#include "store/files/write_capacity.hpp"

namespace latchkey::domain {
namespace {

// A transaction of this copy alone: no counters, no effects, no log.
class local_transaction {
  public:
    explicit local_transaction(environment_state& store) : store_(store) {
        // State is loaded before the node joins its cluster.
        base::check(store.log == nullptr, "a local change of a store with a log");
        store_.lock.acquire(write_lock::for_ever);
        code_ = ::mdb_txn_begin(store_.env, nullptr, 0, &txn_);
        if (code_ != 0) txn_ = nullptr;
    }
    ~local_transaction() {
        if (txn_ != nullptr) ::mdb_txn_abort(txn_);
        store_.lock.release();
    }
    local_transaction(local_transaction const&) = delete;
    local_transaction& operator=(local_transaction const&) = delete;

    int code() const { return code_; }
    bool has_room(std::uint64_t growth) {
        return code_ == 0 && find_write_capacity(store_, growth, false).grow;
    }
    std::size_t entries(table table) {
        MDB_stat stat{};
        if (code_ == 0) code_ = ::mdb_stat(txn_, store_.dbi(table), &stat);
        return stat.ms_entries;
    }
    bool has(std::string_view key) {
        auto name = val_of(key);
        MDB_val value;
        return code_ == 0 && ::mdb_get(txn_, store_.dbi(table::index), &name, &value) == 0;
    }
    void put(table table, std::string_view key, std::string_view content, unsigned flags = 0) {
        if (code_ == 0) code_ = put_checked(txn_, store_.dbi(table), table, key, content, flags);
    }
    void erase(std::string_view key) {
        if (code_ != 0) return;
        auto name = val_of(key);
        code_ = ::mdb_del(txn_, store_.dbi(table::index), &name, nullptr);
        if (code_ == MDB_NOTFOUND) code_ = 0;
    }
    // All tables but the version of the schema.
    void clear() {
        auto const name = key_bytes{tag::schema};
        auto key = val_of(name);
        MDB_val value;
        if (code_ == 0) code_ = ::mdb_get(txn_, store_.dbi(table::index), &key, &value);
        std::string schema(code_ == 0 ? view_of(value) : std::string_view());
        for (auto const dbi : store_.tables)
            if (code_ == 0) code_ = ::mdb_drop(txn_, dbi, 0);
        auto content = val_of(schema);
        if (code_ == 0) code_ = ::mdb_put(txn_, store_.dbi(table::index), &key, &content, 0);
    }
    int commit() {
        if (code_ == 0) code_ = ::mdb_txn_commit(std::exchange(txn_, nullptr));
        return code_;
    }

  private:
    environment_state& store_;
    MDB_txn* txn_ = nullptr;
    int code_;
};

// Enough for the bytes of the records, LMDB's headers, and pages that are not quite full.
std::uint64_t growth_of(std::span<state_record const> records) {
    constexpr std::uint64_t bytes_per_record = 64, page_bytes = 4096;
    std::uint64_t growth = 0;
    for (auto const& each : records) {
        auto const bytes = each.key.size() + each.content.size() + bytes_per_record;
        growth += bytes + bytes / 4 + (bytes > page_bytes / 2 ? page_bytes : 0);
    }
    return growth;
}

base::error full_error() {
    return base::error{
        "the disk or the store's map is full (store.map_mib): it has no room for the state of the "
        "cluster"};
}

base::result<void> result_of(int code) {
    if (code == MDB_MAP_FULL) return full_error();
    if (code != 0) return lmdb_error("the state of the cluster cannot be loaded", code);
    return {};
}

// Nothing but the schema, the counters and what says something about the copy.
bool is_new(local_transaction& txn) {
    for (auto const table : {table::users, table::posts, table::audit, table::events,
                             table::changes, table::deliveries})
        if (txn.entries(table) != 0) return false;
    std::size_t count = 0;
    for (auto const tag : {tag::schema, tag::counters, tag::age_time})
        if (txn.has(key_bytes{tag})) ++count;
    return txn.entries(table::index) == count;
}

void put_position(local_transaction& txn, cluster_position const& position) {
    std::string content;
    encode(position, content);
    txn.put(table::index, key_bytes{tag::position}, content);
}

}  // namespace

// The mark is the first key of the index, so that all others can be appended.
base::result<state_load> state_load::begin(environment& store, cluster_id const& cluster) {
    auto& native = store.native();
    {
        local_transaction txn(native);
        if (txn.code() == 0 && !txn.has(key_bytes{tag::unfinished_load}) && !is_new(txn))
            return base::error{"the store in " + native.directory +
                               " is not empty: a node that joins a cluster begins with an empty "
                               "data directory"};
        txn.clear();
        txn.put(table::index, key_bytes{tag::unfinished_load}, {cluster.data(), cluster.size()});
        if (auto const result = result_of(txn.commit()); !result) return result.error();
    }
    note_cluster(native);
    return state_load(store, cluster);
}

base::result<void> state_load::add(std::span<state_record const> records) {
    local_transaction txn(store_->native());
    if (!txn.has_room(growth_of(records))) return full_error();
    for (auto const& each : records) {
        auto const table = static_cast<store::table>(each.table);
        if (each.table >= state_tables || each.key.empty() ||
            (table == table::index && is_local(each.key)))
            return base::error{"the state of the cluster has a record that belongs to none"};
        txn.put(table, each.key, each.content, MDB_APPEND);
        if (txn.code() == MDB_KEYEXIST)
            return base::error{"the state of the cluster is not in order"};
    }
    return result_of(txn.commit());
}

base::result<void> state_load::finish(std::uint64_t position, std::uint32_t schema,
                                      row_nonce const& nonce) {
    local_transaction txn(store_->native());
    if (txn.code() == 0 && !txn.has(key_bytes{tag::counters}))
        return base::error{"the state of the cluster has no counts: it is not complete"};
    txn.erase(key_bytes{tag::unfinished_load});
    put_position(txn, {cluster_, position, schema, nonce});
    if (auto const result = result_of(txn.commit()); !result) return result;
    note_cluster(store_->native());
    return {};
}

base::result<void> join_cluster(environment& store, cluster_id const& cluster) {
    auto& native = store.native();
    if (read_cluster(native).is_node)
        return base::error{"the store in " + native.directory + " is a node of a cluster already"};
    {
        local_transaction txn(native);
        put_position(txn, {.cluster = cluster, .schema = row_schema()});
        if (auto const result = result_of(txn.commit()); !result) return result;
    }
    note_cluster(native);
    return {};
}

base::result<void> leave_cluster(environment& store) {
    auto& native = store.native();
    if (read_cluster(native).is_unfinished)
        return base::error{"the store in " + native.directory +
                           " was not completely loaded from its cluster"};
    {
        local_transaction txn(native);
        txn.erase(key_bytes{tag::position});
        if (auto const result = result_of(txn.commit()); !result) return result;
    }
    note_cluster(native);
    return {};
}

}  // namespace latchkey::domain
