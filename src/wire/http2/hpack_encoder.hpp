// Writes header blocks (HPACK, RFC 7541) for the client's decoder. What repeats from answer to
// answer is added to the client's table once and is one or two bytes from then on; what does not is
// a literal with an indexed name. No Huffman code: for the short values of an API it saves few
// bytes and costs more than all of the rest.
//
//     encoder.begin_block(output);
//     encoder.add_status(200, output);
//     encoder.add("content-type", "application/json", indexing::field, output);
//
// One per connection, on its thread. In the steady state nothing is allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/http2/header_table.hpp"

namespace latchkey::http2 {

enum class indexing : std::uint8_t {
    field,  // name and value are added to the table: both repeat
    name,   // the name is added, once, the value is literal
    never,  // the value is a secret: a literal that no intermediary may index (§6.2.3)
};

class hpack_encoder {
  public:
    static constexpr std::size_t table_bytes_max = 4096;

    // The client's SETTINGS_HEADER_TABLE_SIZE, when it was acknowledged (RFC 7541 §4.2).
    void set_table_limit(std::size_t bytes);

    // In front of the fields of each block.
    void begin_block(std::string& output);
    // 100 to 599.
    void add_status(unsigned status, std::string& output);
    // `name` in lower case.
    void add(std::string_view name, std::string_view value, indexing mode, std::string& output);
    std::size_t heap_bytes() const { return table_.heap_bytes(); }

  private:
    struct reference {
        std::uint64_t hash = 0;
        std::uint64_t number = 0;  // of the entry in the table; 0: none
    };
    static constexpr std::size_t reference_count = 64;

    std::size_t find(std::uint64_t hash, std::string_view name,
                     std::string_view const* value) const;
    std::size_t find_name(std::string_view name, std::uint64_t hash) const;
    void remember(std::uint64_t hash) {
        references_[hash % reference_count] = {hash, table_.added()};
    }

    dynamic_table table_{table_bytes_max};
    std::size_t smallest_limit_ = table_bytes_max;  // since the last block
    bool limit_changed_ = false;
    std::array<reference, reference_count> references_{};
};

}  // namespace latchkey::http2
