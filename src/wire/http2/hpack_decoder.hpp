// Takes header blocks apart (HPACK, RFC 7541). One per connection: what one block adds to the table
// the next ones refer to, so every block must be decoded, in order, also that of a request which is
// refused.
//
//     header_text text;                        // one for all connections of a thread
//     auto const result = decoder.decode(block, text, [&](header_field const& field) { … });
//
// The fields' views point into `text` and hold until the next block is decoded with it. In the
// steady state nothing is allocated. Belongs to its connection, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "base/function_ref.hpp"
#include "wire/http2/header_table.hpp"

namespace latchkey::http2 {

struct header_field {
    std::string_view name;
    std::string_view value;  // in memory that may be overwritten
    http::field_name id = http::field_name::unknown;
    // The name is a lower-case token, or one behind a colon; the value has no NUL, CR, LF and no
    // white space around it (RFC 9113 §8.2.1).
    bool valid = true;
};

// Where the text of the fields of one block lies.
class header_text {
  public:
    // The text of such a list fits, and behind it that of one field more: its literals take at most
    // 8/5 of a block, and its name may be that of an entry.
    explicit header_text(std::size_t list_bytes_max)
        : list_bytes_max_(list_bytes_max),
          capacity_(8 * list_bytes_max + entry_text_bytes_max),
          bytes_(std::make_unique_for_overwrite<char[]>(capacity_)) {}

    std::size_t list_bytes_max() const { return list_bytes_max_; }
    // The largest block: four bytes of code for each byte of text that a list may have.
    std::size_t block_bytes_max() const { return 4 * list_bytes_max_; }
    // The largest text of one block in all, as HPACK counts it: a few bytes may refer to a large
    // entry again and again.
    std::size_t expanded_bytes_max() const { return 16 * list_bytes_max_; }
    // Overwrites what was decoded, which may be a credential in any field.
    void wipe() { base::wipe(bytes_.get(), std::exchange(dirty_bytes_, 0)); }

  private:
    friend class block_reader;
    friend class hpack_decoder;
    std::size_t list_bytes_max_;
    std::size_t capacity_;
    std::unique_ptr<char[]> bytes_;
    std::size_t dirty_bytes_ = 0;  // since the last `wipe`
};

class hpack_decoder {
  public:
    // `mask` (null: none) outlives the decoder.
    explicit hpack_decoder(std::size_t table_bytes, table_mask const* mask = nullptr)
        : table_(table_bytes, mask), limit_(table_bytes) {}

    enum class result : std::uint8_t {
        complete,
        too_large,  // the list; not all fields were given out, the table is up to date
        excessive,  // the block is far too large: no more of the connection can be decoded
        malformed,  // COMPRESSION_ERROR: nothing of the connection can be decoded any more
    };
    using sink = base::function_ref<void(header_field const& field)>;
    result decode(std::string_view block, header_text& text, sink give);
    std::size_t heap_bytes() const { return table_.heap_bytes(); }

  private:
    friend class block_reader;
    dynamic_table table_;
    std::size_t limit_;  // what SETTINGS_HEADER_TABLE_SIZE allows
};

}  // namespace latchkey::http2
