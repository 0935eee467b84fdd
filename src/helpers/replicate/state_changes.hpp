// The effects of rows as changes of the state that the engine keeps: what many rows do to a record
// comes down to its last value. The form of effects belongs to the store (docs/architecture.md);
// this is a second reader of it, without the store's libraries:
//
//     put, append    kind 1, 2 (1), table (1), key length (2), key, content length (4), content
//     erase          kind 3 (1), table (1), key length (2), key
//     erase_range    kind 4 (1), table (1), length (2) and first key, length (2) and end, count (4)
//
// No I/O; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace latchkey::replicate {

// The entries of [begin, end), at most `count` of them from `begin` on.
struct range_erasure {
    std::uint8_t table = 0;
    std::string begin, end;
    std::uint32_t count = 0;
};

class state_changes {
  public:
    using record_key = std::pair<std::uint8_t, std::string>;

    // Takes the effects from `rest` until an erase_range, whose reach depends on what stands before
    // it: that has to be written first. `rest` is then what follows the range.
    base::result<std::optional<range_erasure>> add(std::string_view& rest);

    // The last value of each record; nullopt: it is erased.
    std::map<record_key, std::optional<std::string>> const& records() const { return records_; }
    void clear() { records_.clear(); }

  private:
    std::map<record_key, std::optional<std::string>> records_;
};

}  // namespace latchkey::replicate
