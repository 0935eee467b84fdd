#include "wire/http2/hpack_encoder.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/text.hpp"

namespace latchkey::http2 {
namespace {

constexpr unsigned char indexed_field = 0x80, added_literal = 0x40, plain_literal = 0x00,
                        secret_literal = 0x10, table_size_update = 0x20;
constexpr std::size_t status_index = 8;  // of ":status: 200"

// RFC 7541 §5.1.
void put_integer(std::uint64_t value, unsigned prefix_bits, unsigned char first,
                 std::string& output) {
    std::uint64_t const mask = (1u << prefix_bits) - 1;
    if (value < mask) return output.push_back(static_cast<char>(first | value));
    output.push_back(static_cast<char>(first | mask));
    for (value -= mask; value >= 0x80; value >>= 7)
        output.push_back(static_cast<char>(value | 0x80));
    output.push_back(static_cast<char>(value));
}

void put_string(std::string_view text, std::string& output) {
    put_integer(text.size(), 7, 0, output);
    output.append(text);
}

// The names of the static table, each under its first index.
struct static_names {
    static constexpr std::size_t slot_count = 256;
    std::array<std::uint8_t, slot_count> slots{};

    static_names() {
        auto const entries = static_table();
        for (std::size_t index = 1; index <= entries.size(); ++index) {
            auto const name = entries[index - 1].name;
            auto const hash = base::hash(name);
            if (find(name, hash) != 0) continue;
            auto slot = hash % slot_count;
            while (slots[slot] != 0) slot = (slot + 1) % slot_count;
            slots[slot] = static_cast<std::uint8_t>(index);
        }
    }
    // 0: none.
    std::size_t find(std::string_view name, std::uint64_t hash) const {
        auto slot = hash % slot_count;
        for (; slots[slot] != 0; slot = (slot + 1) % slot_count)
            if (static_table()[slots[slot] - 1u].name == name) return slots[slot];
        return 0;
    }
};

// Tells fields with one value apart at less cost than a hash; fields are compared after all.
std::uint64_t mark_of(std::string_view name) {
    return name.size() << 16 | std::uint64_t{static_cast<unsigned char>(name.front())} << 8 |
           static_cast<unsigned char>(name.back());
}

std::size_t static_name_index(std::string_view name, std::uint64_t hash) {
    static static_names const names;
    return names.find(name, hash);
}

}  // namespace

void hpack_encoder::set_table_limit(std::size_t bytes) {
    auto const limit = std::min(bytes, table_bytes_max);
    if (limit == table_.bytes_max() && !limit_changed_) return;
    smallest_limit_ = limit_changed_ ? std::min(smallest_limit_, limit) : limit;
    limit_changed_ = true;
    table_.resize(limit);
}

void hpack_encoder::begin_block(std::string& output) {
    if (!limit_changed_) return;
    limit_changed_ = false;
    if (smallest_limit_ < table_.bytes_max())
        put_integer(smallest_limit_, 5, table_size_update, output);
    put_integer(table_.bytes_max(), 5, table_size_update, output);
}

void hpack_encoder::add_status(unsigned status, std::string& output) {
    constexpr std::array<unsigned, 7> indexed{200, 204, 206, 304, 400, 404, 500};
    auto const match = std::ranges::find(indexed, status);
    if (match != indexed.end()) {
        auto const offset = static_cast<std::size_t>(match - indexed.begin());
        return put_integer(status_index + offset, 7, indexed_field, output);
    }
    std::array<char, 3> const digits{static_cast<char>('0' + status / 100),
                                     static_cast<char>('0' + status / 10 % 10),
                                     static_cast<char>('0' + status % 10)};
    add(":status", {digits.data(), digits.size()}, indexing::field, output);
}

void hpack_encoder::add(std::string_view name, std::string_view value, indexing mode,
                        std::string& output) {
    auto const hash = mode == indexing::field ? base::hash(value, mark_of(name)) : 0;
    if (mode == indexing::field)
        if (auto const index = find(hash, name, &value); index != 0)
            return put_integer(index, 7, indexed_field, output);
    auto const name_hash = base::hash(name);
    auto const name_index = find_name(name, name_hash);
    bool const is_new_name = name_index == 0;
    bool const added = mode == indexing::field || (mode == indexing::name && is_new_name);
    if (added)
        put_integer(name_index, 6, added_literal, output);
    else
        put_integer(name_index, 4, mode == indexing::never ? secret_literal : plain_literal,
                    output);
    if (is_new_name) put_string(name, output);
    put_string(value, output);
    if (!added) return;
    auto const previous = table_.added();
    table_.add({.name = name, .value = value});
    if (table_.added() == previous) return;  // larger than the table
    if (mode == indexing::field) remember(hash);
    remember(name_hash);
}

// The index of the entry, 0: it is not, or no longer, in the table.
std::size_t hpack_encoder::find(std::uint64_t hash, std::string_view name,
                                std::string_view const* value) const {
    auto const& reference = references_[hash % reference_count];
    if (reference.hash != hash || reference.number == 0) return 0;
    auto const age = table_.added() - reference.number;
    if (age >= table_.size()) return 0;
    auto const entry = table_[age];
    if (entry.name != name || (value != nullptr && entry.value != *value)) return 0;
    return static_table().size() + 1 + age;
}

std::size_t hpack_encoder::find_name(std::string_view name, std::uint64_t hash) const {
    if (auto const index = static_name_index(name, hash); index != 0) return index;
    return find(hash, name, nullptr);
}

}  // namespace latchkey::http2
