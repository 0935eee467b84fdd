// Effects: what a transaction did to the tables, as a flat byte string that another copy of the
// store applies without deciding anything. One entry after another, numbers big-endian:
//
//     put, append    kind (1), table (1), key length (2), key, content length (4), content
//     erase          kind (1), table (1), key length (2), key
//     erase_range    kind (1), table (1), length (2) and first key, length (2) and end, count (4)
//
// The content has no checksum, since each copy computes its own. Entries are in the order of the
// changes, so a key may occur again. The form belongs to the schema version. Private to the store.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "store/layout.hpp"

namespace latchkey::store {

enum class effect_kind : std::uint8_t { put = 1, append = 2, erase = 3, erase_range = 4 };

// Views into the decoded bytes.
struct effect {
    effect_kind kind = effect_kind::put;
    store::table table = table::index;
    std::string_view key;
    std::string_view content;  // of erase_range: the end of the range
    std::uint32_t count = 0;   // of erase_range: that many entries from `key` on
};

// Appends one entry. A key has at most 511 bytes, as LMDB demands.
void encode(effect const& effect, std::string& effects);

// Decodes one entry after the other; nullopt at the end, or at an entry that is none: then `ok` is
// false.
class effect_reader {
  public:
    explicit effect_reader(std::string_view effects) : rest_(effects) {}
    std::optional<effect> next();
    bool ok() const { return ok_; }

  private:
    std::optional<effect> read_entry();

    base::reader rest_;
    bool ok_ = true;
};

}  // namespace latchkey::store
