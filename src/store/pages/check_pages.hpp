// The pages of a store's file and the checksum of each record on them, read without LMDB; the
// meaning of the records is checked by check_consistency.cpp. Nothing in the file can end the
// process. Private to store and domain.
#pragma once

#include <optional>

#include "store/environment_state.hpp"
#include "store/findings.hpp"
#include "store/pages/tree_reader.hpp"

namespace latchkey::store {

// The whole file in memory, independent of LMDB's map; empty where it cannot be mapped.
class file_view {
  public:
    explicit file_view(int descriptor);
    ~file_view();
    file_view(file_view const&) = delete;
    file_view& operator=(file_view const&) = delete;
    std::string_view bytes() const {
        return begin_ == nullptr ? std::string_view() : std::string_view(begin_, size_);
    }

  private:
    char* begin_ = nullptr;
    std::size_t size_ = 0;
};

// False: pages of the table are damaged.
bool check_table_pages(tree_reader const& file, table table, std::optional<tree_root> const& root,
                       findings& report);

// All tables, as the snapshot `txn` has them. False: a page is damaged, so records are missing and
// LMDB must not be led there.
bool check_pages(environment_state& store, MDB_txn* txn, findings& report);

inline constexpr table all_tables[] = {table::users,     table::posts,  table::index,
                                       table::audit,     table::events, table::changes,
                                       table::deliveries};

}  // namespace latchkey::store
