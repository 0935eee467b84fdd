// The two tables that HPACK refers to: 61 fields that never change (RFC 7541 Appendix A), and one
// per direction of a connection that keeps what was sent before, newest first, within a size that
// counts 32 bytes for each entry beside its text (§4.1).
//
// The dynamic table keeps its text in one buffer, oldest entry first; what is live is moved to the
// front when the end is reached, of a larger buffer until that has twice the size of the table, and
// so once for each 4 KiB that were added: most clients keep a few short fields, on each of many
// connections. Nothing is allocated before the first entry. Belongs to one connection, on its
// thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "wire/http/request.hpp"

namespace latchkey::http2 {

inline constexpr std::size_t entry_overhead_bytes = 32;
// The longest name or value that a dynamic table takes, since it keeps their sizes in 16 bits.
inline constexpr std::size_t entry_text_bytes_max = 0xffff;

struct table_entry {
    std::string_view name;
    std::string_view value;
    http::field_name id = http::field_name::unknown;
    bool valid = true;       // see header_field::valid
    bool name_valid = true;  // the same of the name alone
};

// As HPACK counts it (§4.1).
inline std::size_t counted_bytes_of(table_entry const& entry) {
    return entry.name.size() + entry.value.size() + entry_overhead_bytes;
}

// Random bytes with which the values in a table are masked (XOR), so that a credential that a
// client had indexed does not stand in memory as text for as long as its connection lives, where a
// core dump or the swap would show it. It is no encryption: mask and values are in one process.
struct table_mask {
    std::array<char, 64> bytes;
};

// [0] is index 1.
std::span<table_entry const, 61> static_table();

class dynamic_table {
  public:
    // The largest that it may become by `resize`; at first it is that large. `mask` (null: none)
    // outlives the table.
    explicit dynamic_table(std::size_t bytes_max, table_mask const* mask = nullptr)
        : capacity_(bytes_max), bytes_max_(bytes_max), mask_(mask) {}

    std::size_t size() const { return count_; }
    std::size_t bytes_max() const { return bytes_max_; }
    // How many entries were ever added: the newest one's number.
    std::uint64_t added() const { return added_; }
    std::size_t heap_bytes() const {
        return slots_ ? text_bytes_ + slot_count() * sizeof(slot) : 0;
    }
    // 0 is the newest; below size(). The views hold until the next change; the value is masked.
    table_entry operator[](std::size_t index) const;
    // Copies a masked value to `output`, as it was.
    void unmask(std::string_view value, char* output) const;

    // Evicts as many as must go for it; one that is larger than the table leaves it empty (§4.4).
    // The text of `entry` must not lie in this table.
    void add(table_entry const& entry);
    void resize(std::size_t bytes_max);

  private:
    struct slot {
        std::uint32_t position = 0;  // of the name in text_; the value is behind it
        std::uint32_t counted_bytes = 0;
        std::uint16_t name_bytes = 0;
        std::uint16_t value_bytes = 0;
        http::field_name id = http::field_name::unknown;
        bool valid = true;
        bool name_valid = true;
    };
    slot& slot_of(std::uint64_t number) const { return slots_[number & (slot_count() - 1)]; }
    // A power of two, at least the most entries that fit.
    std::size_t slot_count() const { return std::bit_ceil(capacity_ / entry_overhead_bytes); }
    void evict_to(std::size_t bytes);
    void make_room(std::size_t bytes);

    std::size_t capacity_;
    std::size_t bytes_max_;
    table_mask const* mask_;
    std::size_t bytes_ = 0;  // as HPACK counts them
    std::size_t count_ = 0;
    std::uint64_t added_ = 0;
    std::size_t end_ = 0;         // of the text of the newest entry
    std::size_t text_bytes_ = 0;  // of text_
    std::unique_ptr<char[]> text_;
    std::unique_ptr<slot[]> slots_;  // a ring by number
};

}  // namespace latchkey::http2
