// What a snapshot is made of: the read-only transaction, one cursor for each table, and what was
// looked up once since the last renew. Private to the store.
#pragma once

#include <array>
#include <vector>

#include "store/environment_state.hpp"
#include "store/id_tree.hpp"
#include "store/snapshot.hpp"

namespace latchkey::store {

struct snapshot::state {
    explicit state(environment::state& opened);
    ~state();
    state(state const&) = delete;
    state& operator=(state const&) = delete;

    environment::state& store;
    MDB_txn* txn = nullptr;
    bool live = false;
    bool damaged = false;
    std::uint64_t renewals = 0;
    std::uint64_t version = 0;
    std::uint64_t searches = 0;
    std::array<MDB_cursor*, table_count> cursors{};
    std::array<std::uint64_t, table_count> cursor_renewals{};  // when each was last made current

    std::optional<std::string_view> get(table where, std::string_view key) const;
    // A user's or post's record.
    std::optional<std::string_view> record(table where, model::id id);
    // Found without a search, if it was asked for of late.
    std::optional<std::string_view> remembered(table where, model::id id);
    id_tree& tree_of(table where);
    MDB_cursor* cursor(table where);

    // The heads of this version; read at most once for each.
    store::heads const& heads();
    // Is it the id of a deleted user whose posts are still being removed? Nothing but a compare as
    // long as there is none.
    bool is_doomed(model::id user);
    tally posts_of(model::id user);  // by status

    // What a record says, or nothing and `damaged`.
    template <class Record>
    std::optional<Record> readable(std::optional<Record> record) {
        if (!record) damaged = true;
        return record;
    }

  private:
    // Where a record was found. In one version nothing moves, so it is there still: asked for
    // again, as what many ask for is, it need not be looked for. The next commit makes all of them
    // void.
    struct found {
        std::uint64_t name = 0;
        std::uint64_t version = UINT64_MAX;
        std::string_view bytes;
    };
    std::array<found, 256> found_{};  // by the last bits of the name
    static std::uint64_t name_of(table where, model::id id) {
        return static_cast<std::uint64_t>(id) * table_count + static_cast<std::uint64_t>(where);
    }
    found& place_of(table where, model::id id) {
        return found_[name_of(where, id) % found_.size()];
    }

    // The tables of users and of posts, as of a version.
    struct tree {
        std::uint64_t version = UINT64_MAX;
        id_tree pages;
    };
    std::array<tree, 2> trees_;

    std::uint64_t heads_version_ = 0;
    store::heads heads_;
    std::vector<model::id> doomed_;  // ascending; of heads_version_
    void find_doomed();
};

}  // namespace latchkey::store
