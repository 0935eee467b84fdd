// A block is read once, representation by representation; texts are decompressed or copied into one
// buffer, since later fields may evict the entry that they come from. Beyond the list's limit
// fields are still decoded, for the table must stay in step, but their text is given back.
#include "wire/http2/hpack_decoder.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.hpp"
#include "wire/http/byte_class.hpp"
#include "wire/http2/huffman.hpp"

namespace latchkey::http2 {
namespace {

// No length or index of a block that is accepted comes near it, and sums of it do not overflow.
constexpr std::uint32_t integer_max = 1u << 28;

constexpr std::array<bool, 256> make_name_bytes() {
    std::array<bool, 256> table{};
    for (unsigned byte = 0; byte < 256; ++byte)
        table[byte] = http::is(static_cast<char>(byte), http::byte_class::token) &&
                      !(byte >= 'A' && byte <= 'Z');
    return table;
}
constexpr auto name_bytes = make_name_bytes();

bool is_valid_name(std::string_view name) {
    if (name.starts_with(':')) name.remove_prefix(1);
    if (name.empty()) return false;
    for (char const byte : name)
        if (!name_bytes[static_cast<unsigned char>(byte)]) return false;
    return true;
}

bool is_valid_value(std::string_view value) {
    if (value.empty()) return true;
    auto const is_blank = [](char byte) { return byte == ' ' || byte == '\t'; };
    if (is_blank(value.front()) || is_blank(value.back())) return false;
    for (char const *next = value.data(), *const end = next + value.size();; ++next) {
        next = http::skip_text(next, end);
        if (next == end) return true;
        if (*next == '\0' || *next == '\r' || *next == '\n') return false;
    }
}

http::field_name field_id_of(std::string_view name) {
    return name.starts_with(':') ? http::field_name::unknown : http::field_name_of(name);
}

}  // namespace

// One pass over one block.
class block_reader {
  public:
    block_reader(hpack_decoder& decoder, std::string_view block, header_text& text,
                 hpack_decoder::sink give)
        : decoder_(decoder),
          next_(block.data()),
          end_(next_ + block.size()),
          text_(text),
          give_(give) {}

    hpack_decoder::result run() {
        while (next_ != end_) {
            if (!read_representation()) return hpack_decoder::result::malformed;
            if (list_bytes_ > text_.expanded_bytes_max()) return hpack_decoder::result::excessive;
        }
        return too_large_ ? hpack_decoder::result::too_large : hpack_decoder::result::complete;
    }

  private:
    bool read_representation() {
        auto const first = static_cast<unsigned char>(*next_);
        if ((first & 0x80) != 0) return read_indexed();
        if ((first & 0xe0) == 0x20) return read_table_size();
        field_seen_ = true;
        return (first & 0x40) != 0 ? read_literal(6, true) : read_literal(4, false);
    }

    // RFC 7541 §6.1.
    bool read_indexed() {
        field_seen_ = true;
        auto const index = read_integer(7);
        auto const entry = index ? find(*index) : std::nullopt;
        if (!entry) return false;
        if (!count(counted_bytes_of(*entry))) return true;
        // Copied, since later fields of the block may move the table's text or evict it.
        bool const permanent = *index <= static_table().size();
        auto const name = permanent ? entry->name : copied(entry->name);
        auto const value = permanent ? entry->value : unmasked(entry->value);
        mark_ = used_bytes_;
        give_({name, value, entry->id, entry->valid});
        return true;
    }

    // §6.2: a literal, whose name may be that of an entry.
    bool read_literal(unsigned prefix_bits, bool indexed) {
        auto const index = read_integer(prefix_bits);
        if (!index) return false;
        table_entry field;
        if (*index != 0) {
            auto const entry = find(*index);
            if (!entry) return false;
            // Text that nothing uses any more is not copied.
            bool const stays = *index <= static_table().size() || (too_large_ && !indexed);
            field.name = stays ? entry->name : copied(entry->name);
            field.id = entry->id;
            field.name_valid = entry->name_valid;
        } else {
            auto const name = read_string();
            if (!name) return false;
            field.name = *name;
            field.id = field_id_of(*name);
            field.name_valid = is_valid_name(*name);
        }
        auto const value = read_string();
        if (!value) return false;
        field.value = *value;
        field.valid = field.name_valid && is_valid_value(*value);
        if (indexed) decoder_.table_.add(field);
        if (count(counted_bytes_of(field)))
            give_({field.name, field.value, field.id, field.valid});
        else
            used_bytes_ = mark_;
        return true;
    }

    // §6.3 and §4.2: only in front of the first field, and not above what was allowed.
    bool read_table_size() {
        auto const size = read_integer(5);
        if (!size || field_seen_ || *size > decoder_.limit_) return false;
        decoder_.table_.resize(*size);
        return true;
    }

    std::optional<table_entry> find(std::uint32_t index) const {
        auto const fixed = static_table();
        if (index == 0) return std::nullopt;
        if (index <= fixed.size()) return fixed[index - 1];
        index -= static_cast<std::uint32_t>(fixed.size()) + 1;
        if (index >= decoder_.table_.size()) return std::nullopt;
        return decoder_.table_[index];
    }

    // §5.1.
    std::optional<std::uint32_t> read_integer(unsigned prefix_bits) {
        if (next_ == end_) return std::nullopt;
        std::uint32_t const mask = (1u << prefix_bits) - 1;
        std::uint64_t value = static_cast<unsigned char>(*next_++) & mask;
        if (value < mask) return static_cast<std::uint32_t>(value);
        for (unsigned shift = 0; next_ != end_ && shift <= 28; shift += 7) {
            auto const byte = static_cast<unsigned char>(*next_++);
            value += std::uint64_t{byte & 0x7fu} << shift;
            if (value > integer_max) return std::nullopt;
            if ((byte & 0x80) == 0) return static_cast<std::uint32_t>(value);
        }
        return std::nullopt;
    }

    // §5.2.
    std::optional<std::string_view> read_string() {
        if (next_ == end_) return std::nullopt;
        bool const compressed = (static_cast<unsigned char>(*next_) & 0x80) != 0;
        auto const size = read_integer(7);
        if (!size || *size > static_cast<std::size_t>(end_ - next_)) return std::nullopt;
        std::string_view const encoded(next_, *size);
        next_ += *size;
        char* const output = space(compressed ? huffman_decoded_bytes_max(*size) : *size);
        if (!compressed) {
            encoded.copy(output, *size);
            return take(output, *size);
        }
        auto const decoded = huffman_decode(encoded, output);
        if (!decoded) return std::nullopt;
        return take(output, *decoded);
    }

    std::string_view copied(std::string_view text) {
        char* const output = space(text.size());
        text.copy(output, text.size());
        return take(output, text.size());
    }

    std::string_view unmasked(std::string_view value) {
        char* const output = space(value.size());
        decoder_.table_.unmask(value, output);
        return take(output, value.size());
    }

    // There is room: fields that are not kept give theirs back, and the block is bounded.
    char* space(std::size_t bytes) {
        base::check(bytes <= text_.capacity_ - used_bytes_, "a header field without room");
        text_.dirty_bytes_ = std::max(text_.dirty_bytes_, used_bytes_ + bytes);
        return text_.bytes_.get() + used_bytes_;
    }
    std::string_view take(char* output, std::size_t bytes) {
        used_bytes_ += bytes;
        return {output, bytes};
    }

    // Whether the field still fits the list (RFC 9113 §6.5.2: SETTINGS_MAX_HEADER_LIST_SIZE).
    bool count(std::size_t bytes) {
        list_bytes_ += bytes;
        if (list_bytes_ > text_.list_bytes_max_) too_large_ = true;
        if (!too_large_) mark_ = used_bytes_;
        return !too_large_;
    }

    hpack_decoder& decoder_;
    char const* next_;
    char const* end_;
    header_text& text_;
    hpack_decoder::sink give_;
    std::size_t used_bytes_ = 0;  // of the text
    std::size_t mark_ = 0;        // behind the last field that is kept
    std::size_t list_bytes_ = 0;
    bool field_seen_ = false;
    bool too_large_ = false;
};

hpack_decoder::result hpack_decoder::decode(std::string_view block, header_text& text, sink give) {
    if (block.size() > text.block_bytes_max()) return result::excessive;
    return block_reader(*this, block, text, give).run();
}

}  // namespace latchkey::http2
