#include "http2_script.hpp"

namespace latchkey::session::script {

std::string bytes(std::initializer_list<unsigned> octets) {
    std::string result;
    for (auto const octet : octets) result.push_back(static_cast<char>(octet));
    return result;
}

std::string number(std::uint32_t value) {
    return bytes({value >> 24 & 0xff, value >> 16 & 0xff, value >> 8 & 0xff, value & 0xff});
}

// ---- frames

std::string frame(unsigned type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload) {
    auto const size = static_cast<std::uint32_t>(payload.size());
    auto result = number(size).substr(1) + bytes({type, flags}) + number(stream);
    return result.append(payload);
}
std::string frame(h2_type type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload) {
    return frame(static_cast<unsigned>(type), flags, stream, payload);
}

std::string with_reserved_bit(std::string frames) {
    frames[5] = static_cast<char>(frames[5] | 0x80);
    return frames;
}

std::string data(std::uint32_t stream, std::string_view content, std::uint8_t flags) {
    return frame(h2_type::data, flags, stream, content);
}
std::string headers(std::uint32_t stream, std::string_view block, std::uint8_t flags) {
    return frame(h2_type::headers, flags, stream, block);
}
std::string continuation(std::uint32_t stream, std::string_view part, std::uint8_t flags) {
    return frame(h2_type::continuation, flags, stream, part);
}
std::string dependency(std::uint32_t parent, unsigned weight, bool exclusive) {
    return number(parent | (exclusive ? 0x80000000 : 0)) + bytes({weight - 1});
}
std::string priority(std::uint32_t stream, std::uint32_t parent, unsigned weight, bool exclusive) {
    return frame(h2_type::priority, 0, stream, dependency(parent, weight, exclusive));
}
std::string priority_update(std::uint32_t stream, std::string_view value) {
    return frame(h2_type::priority_update, 0, 0, number(stream).append(value));
}
std::string reset(std::uint32_t stream, code reason) {
    return frame(h2_type::rst_stream, 0, stream, number(static_cast<std::uint32_t>(reason)));
}
std::string settings_of(setting_list values) {
    std::string payload;
    for (auto const& [name, value] : values) payload += bytes({0, name}) + number(value);
    return frame(h2_type::settings, 0, 0, payload);
}
std::string settings_ack() {
    return frame(h2_type::settings, flag::ack, 0);
}
std::string ping(std::string_view payload, std::uint8_t flags) {
    return frame(h2_type::ping, flags, 0, payload);
}
std::string goaway(std::uint32_t last_stream, std::uint32_t reason, std::string_view detail) {
    return frame(h2_type::goaway, 0, 0, number(last_stream) + number(reason).append(detail));
}
std::string window_update(std::uint32_t stream, std::uint32_t increment) {
    return frame(h2_type::window_update, 0, stream, number(increment));
}

std::string padded(unsigned padding, std::string_view content) {
    return bytes({padding}).append(content).append(padding, '\0');
}

// ---- header blocks

std::string integer(unsigned pattern, unsigned prefix_bits, std::uint64_t value) {
    std::uint64_t const full = (1u << prefix_bits) - 1;
    if (value < full) return bytes({pattern | static_cast<unsigned>(value)});
    auto result = bytes({pattern | static_cast<unsigned>(full)});
    for (value -= full; value >= 0x80; value >>= 7)
        result += bytes({0x80 | static_cast<unsigned>(value & 0x7f)});
    return result + bytes({static_cast<unsigned>(value)});
}

std::string text(std::string_view plain) {
    return integer(0, 7, plain.size()).append(plain);
}
std::string huffman(std::string_view packed) {
    return integer(0x80, 7, packed.size()).append(packed);
}
std::string indexed(std::uint64_t index) {
    return integer(0x80, 7, index);
}
std::string table_size(std::uint64_t bytes) {
    return integer(0x20, 5, bytes);
}

std::string literal(std::uint64_t name_index, std::string_view value_literal, retention kind) {
    unsigned const prefix_bits = kind == retention::in_table ? 6 : 4;
    return integer(static_cast<unsigned>(kind), prefix_bits, name_index).append(value_literal);
}
std::string literal(std::string_view name, std::string_view value, retention kind) {
    return literal(0, text(name) + text(value), kind);
}

std::string block(fields const& list) {
    std::string result;
    for (auto const& [name, value] : list) result += literal(name, value);
    return result;
}

// ---- requests

fields client::get_fields(fields const& more) const {
    fields list{{":method", "GET"},
                {":scheme", "https"},
                {":authority", "a"},
                {":path", "/api/v1/users/1"},
                {"x-api-key", key_}};
    list.insert(list.end(), more.begin(), more.end());
    return list;
}

fields client::post_fields(fields const& more) const {
    fields list{{":method", "POST"},
                {":scheme", "https"},
                {":authority", "a"},
                {":path", "/api/v1/keys/verify"},
                {"content-type", "application/json"},
                {"x-api-key", key_}};
    list.insert(list.end(), more.begin(), more.end());
    return list;
}

fields client::get_fields_but(std::string_view name, char const* value) const {
    fields list;
    for (auto& field : get_fields()) {
        if (field.first != name)
            list.push_back(std::move(field));
        else if (value != nullptr)
            list.emplace_back(field.first, value);
    }
    return list;
}

}  // namespace latchkey::session::script
