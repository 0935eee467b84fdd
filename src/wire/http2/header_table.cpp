// The dynamic table is a ring of slots, counted from the first entry ever, which point into one
// buffer of text that only grows at its end. Values are stored under a mask, so that secrets do not
// lie in memory in clear. An entry is evicted by its count alone; its bytes go when text is moved.
#include "wire/http2/header_table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace latchkey::http2 {
namespace {

constexpr std::size_t text_bytes_min = 512;

void apply_mask(table_mask const* mask, std::string_view text, char* output) {
    if (mask == nullptr) {
        text.copy(output, text.size());
        return;
    }
    // A copy, which no output overlaps, and a length that is known: several bytes at once.
    auto const bytes = mask->bytes;
    for (; text.size() >= bytes.size(); text.remove_prefix(bytes.size()), output += bytes.size())
        for (std::size_t i = 0; i < bytes.size(); ++i)
            output[i] = static_cast<char>(text[i] ^ bytes[i]);
    for (std::size_t i = 0; i < text.size(); ++i) output[i] = static_cast<char>(text[i] ^ bytes[i]);
}

}  // namespace

std::span<table_entry const, 61> static_table() {
    static std::array<table_entry, 61> const entries = [] {
        std::array<table_entry, 61> all{{{":authority", ""},
                                         {":method", "GET"},
                                         {":method", "POST"},
                                         {":path", "/"},
                                         {":path", "/index.html"},
                                         {":scheme", "http"},
                                         {":scheme", "https"},
                                         {":status", "200"},
                                         {":status", "204"},
                                         {":status", "206"},
                                         {":status", "304"},
                                         {":status", "400"},
                                         {":status", "404"},
                                         {":status", "500"},
                                         {"accept-charset", ""},
                                         {"accept-encoding", "gzip, deflate"},
                                         {"accept-language", ""},
                                         {"accept-ranges", ""},
                                         {"accept", ""},
                                         {"access-control-allow-origin", ""},
                                         {"age", ""},
                                         {"allow", ""},
                                         {"authorization", ""},
                                         {"cache-control", ""},
                                         {"content-disposition", ""},
                                         {"content-encoding", ""},
                                         {"content-language", ""},
                                         {"content-length", ""},
                                         {"content-location", ""},
                                         {"content-range", ""},
                                         {"content-type", ""},
                                         {"cookie", ""},
                                         {"date", ""},
                                         {"etag", ""},
                                         {"expect", ""},
                                         {"expires", ""},
                                         {"from", ""},
                                         {"host", ""},
                                         {"if-match", ""},
                                         {"if-modified-since", ""},
                                         {"if-none-match", ""},
                                         {"if-range", ""},
                                         {"if-unmodified-since", ""},
                                         {"last-modified", ""},
                                         {"link", ""},
                                         {"location", ""},
                                         {"max-forwards", ""},
                                         {"proxy-authenticate", ""},
                                         {"proxy-authorization", ""},
                                         {"range", ""},
                                         {"referer", ""},
                                         {"refresh", ""},
                                         {"retry-after", ""},
                                         {"server", ""},
                                         {"set-cookie", ""},
                                         {"strict-transport-security", ""},
                                         {"transfer-encoding", ""},
                                         {"user-agent", ""},
                                         {"vary", ""},
                                         {"via", ""},
                                         {"www-authenticate", ""}}};
        for (auto& entry : all)
            if (entry.name.front() != ':') entry.id = http::field_name_of(entry.name);
        return all;
    }();
    return entries;
}

table_entry dynamic_table::operator[](std::size_t index) const {
    auto const& slot = slot_of(added_ - index);
    char const* const text = text_.get() + slot.position;
    return {{text, slot.name_bytes},
            {text + slot.name_bytes, slot.value_bytes},
            slot.id,
            slot.valid,
            slot.name_valid};
}

void dynamic_table::unmask(std::string_view value, char* output) const {
    apply_mask(mask_, value, output);
}

void dynamic_table::add(table_entry const& entry) {
    auto const bytes = counted_bytes_of(entry);
    evict_to(bytes > bytes_max_ ? 0 : bytes_max_ - bytes);
    if (bytes > bytes_max_) return;
    if (auto const size = entry.name.size() + entry.value.size(); end_ + size > text_bytes_)
        make_room(size);
    if (!slots_) slots_ = std::make_unique_for_overwrite<slot[]>(slot_count());
    auto& slot = slot_of(++added_);
    slot = {static_cast<std::uint32_t>(end_),
            static_cast<std::uint32_t>(bytes),
            static_cast<std::uint16_t>(entry.name.size()),
            static_cast<std::uint16_t>(entry.value.size()),
            entry.id,
            entry.valid,
            entry.name_valid};
    entry.name.copy(text_.get() + end_, entry.name.size());
    apply_mask(mask_, entry.value, text_.get() + end_ + entry.name.size());
    end_ += entry.name.size() + entry.value.size();
    bytes_ += bytes;
    ++count_;
}

void dynamic_table::resize(std::size_t bytes_max) {
    bytes_max_ = bytes_max;
    evict_to(bytes_max);
}

void dynamic_table::evict_to(std::size_t bytes) {
    for (; bytes_ > bytes; --count_) bytes_ -= slot_of(added_ - count_ + 1).counted_bytes;
}

// Moves the live text to the front, where at least as much is free then as is live.
void dynamic_table::make_room(std::size_t bytes) {
    auto const begin = count_ == 0 ? end_ : slot_of(added_ - count_ + 1).position;
    auto const live = end_ - begin;
    if (auto const room = 2 * (live + bytes); room > text_bytes_) {
        text_bytes_ = std::min(2 * capacity_, std::max(2 * room, text_bytes_min));
        auto larger = std::make_unique_for_overwrite<char[]>(text_bytes_);
        if (live != 0) std::memcpy(larger.get(), text_.get() + begin, live);
        text_ = std::move(larger);
    } else {
        std::memmove(text_.get(), text_.get() + begin, live);
    }
    for (std::size_t index = 0; index < count_; ++index)
        slot_of(added_ - index).position -= static_cast<std::uint32_t>(begin);
    end_ = live;
}

}  // namespace latchkey::http2
