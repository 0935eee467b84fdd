// Reports of records without their checksum: a count for the metrics and one log line per second at
// most. Both name the table and the ids, never the content: an e-mail address, a digest or the name
// of a project is not shown. Private to the store.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "store/layout.hpp"

namespace latchkey::store {

// The title of the kind of a record: "users", "the index of posts by user", "keys".
std::string_view kind_of(table table, std::string_view key);
// The same with the ids of its key: "the index of posts by user, 3, 17". A key of another form has
// no ids.
std::string describe(table table, std::string_view key);

class damage_log {
  public:
    // Any thread. Writes to standard error.
    void note(table table, std::string_view key);
    // A page that LMDB refuses to read.
    void note_page(std::string_view reason);
    // A record with a correct checksum and another form, or an entry of an index that leads to no
    // record.
    void note_misfit();
    std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

  private:
    void report(std::string const& event);

    std::atomic<std::uint64_t> count_{0};
    std::atomic<std::uint64_t> suppressed_{0};  // since the last line
    std::atomic<base::mono_ns> next_line_{0};
};

}  // namespace latchkey::store
