// The whole state of a store, record by record, for the other copies of a cluster: `cluster init`
// sends it, `cluster check` compares it with the engine's. One snapshot, in the order of tables and
// keys, without what is local to this copy (layout.hpp) and without checksums.
//
//     domain::state_reader reader(*environment);
//     while (auto const record = reader.next()) … record->key, record->content …
//     if (auto const error = reader.failure()) … the store is damaged …
//
// Two stores at the same position have the same records. One thread; the environment must outlive
// it, and pages that are freed meanwhile are not reused before it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "domain/store_terms.hpp"
#include "store/environment.hpp"

struct MDB_txn;
struct MDB_cursor;

namespace latchkey::domain {

// Views, of state_reader until its next call.
struct state_record {
    std::uint8_t table = 0;  // below state_tables
    std::string_view key;    // at most 511 bytes
    std::string_view content;
    bool operator==(state_record const&) const = default;
};
inline constexpr std::uint8_t state_tables = 7;

// By table, then by the bytes of the key: the order in which records are read and loaded.
bool is_before(state_record const& left, state_record const& right);

class state_reader {
  public:
    explicit state_reader(environment& store);
    ~state_reader();
    state_reader(state_reader const&) = delete;
    state_reader& operator=(state_reader const&) = delete;

    // The position in the log that the snapshot shows; nullopt: the store is no node.
    std::optional<cluster_position> position() const { return position_; }
    // nullopt: that was the last one, or reading has failed.
    std::optional<state_record> next();
    std::optional<base::error> failure() const { return failure_; }

  private:
    bool open_table();
    void fail(int code);

    environment_state& store_;
    MDB_txn* txn_ = nullptr;
    MDB_cursor* cursor_ = nullptr;  // null: the table is to be opened
    std::uint8_t table_ = 0;
    std::optional<cluster_position> position_;
    std::optional<base::error> failure_;
};

}  // namespace latchkey::domain
