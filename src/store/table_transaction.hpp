// One write transaction of LMDB on the tables, with a sticky error: after the first failure nothing
// more happens, reads find nothing, and the owner checks `ok()` before it uses any outcome. It
// knows bytes: checksums, and how far the file may grow. What a transaction is for the records is
// transaction.hpp. One thread; private to the store.
//
// A record without its checksum is such a failure too: a command must not take it for a missing
// one. Code that can do without the record uses `find`.
//
// A view returned by `get` is invalidated by the next put or erase: decode and decide first, then
// write.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "store/commit_fate.hpp"
#include "store/environment_state.hpp"
#include "store/files/write_capacity.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::store {

class table_transaction {
  public:
    table_transaction(table_transaction const&) = delete;
    table_transaction& operator=(table_transaction const&) = delete;

    std::uint64_t id() const { return txn_ == nullptr ? 0 : ::mdb_txn_id(txn_); }
    bool ok() const { return failure_.ok(); }
    commit_result const& failure() const { return failure_; }
    void fail(commit_result failure);

    // Begins a command; until `allow_growth` it counts as one that only frees. A put that moves the
    // end of the file beyond what `capacity` allows fails with MDB_MAP_FULL.
    void begin_command();
    void allow_growth() { growing_ = true; }
    bool is_growing() const { return growing_; }
    // Determined at the first call; `growth` as for find_write_capacity.
    write_capacity const& capacity(std::uint64_t growth = 0);
    environment_state const& store() const { return store_; }
    environment_state& store() { return store_; }

    std::optional<std::string_view> get(table table, std::string_view key);
    // The same, but a damaged record is logged and then treated as missing.
    std::optional<std::string_view> find(table table, std::string_view key);
    bool has(table table, std::string_view key) { return get(table, key).has_value(); }
    // The first key of the index that begins with `prefix`. This and the next functions skip
    // damaged entries.
    std::optional<std::string> first_key_with_prefix(std::string_view prefix);
    // The ids at the end of the first `limit` keys of the index that begin with `prefix`.
    std::vector<model::id> ids_with_prefix(std::string_view prefix, std::size_t limit);
    // Is one of these ids accepted? In ascending order, until one is. The callback must not write.
    bool any_id_with_prefix(std::string_view prefix, base::function_ref<bool(model::id)> accepts);
    // Visits the entries of a table in order, from the first key not below `begin`, until the
    // visitor returns false. The visitor must not write.
    void scan(table table, std::string_view begin,
              base::function_ref<bool(std::string_view key, std::string_view value)> visitor);
    // The last and the first id of a table whose keys are ids. 0 and nullopt: it is empty.
    model::id last_id(table table);
    std::optional<model::id> first_id(table table);
    std::uint64_t bytes_of(table table);  // that its pages take

    std::string scratch;  // for encoding records

  protected:
    // Waits for the write lock, which another process may hold for one commit; fails with EBUSY
    // after `environment_state::lock_patience`.
    explicit table_transaction(environment_state& store);
    ~table_transaction();  // aborts unless committed

    bool begin_tables();
    int commit_tables();  // 0 or LMDB's code; the lock stays
    void unlock();

  private:
    class cursor;
    friend class transaction;      // which records its changes
    friend class log_transaction;  // which applies those of others

    // Change the tables; nothing records these changes here.
    void write(table table, std::string_view key, std::string_view value, unsigned flags);
    bool remove(table table, std::string_view key);
    std::size_t remove_range(std::string_view begin, std::string_view end, std::size_t limit);
    // What lacked space was not what this transaction decides.
    void replace_full(commit_fate fate) {
        if (failure_ == MDB_MAP_FULL) failure_ = fate;
    }
    void forget_capacity() { capacity_.reset(); }  // what follows grows by other amounts
    int read(table table, std::string_view key, std::string_view& content);
    bool is_absent(table table, std::string_view key);
    bool is_whole(table table, std::string_view key, std::string_view value);
    void check_file_end();

    environment_state& store_;
    MDB_txn* txn_ = nullptr;
    commit_result failure_;
    bool locked_ = false;
    bool growing_ = false;
    bool knows_end_ = false;
    std::uint64_t initial_end_ = 0;  // of the file, in pages, when the command began
    std::optional<write_capacity> capacity_;
};

}  // namespace latchkey::store
