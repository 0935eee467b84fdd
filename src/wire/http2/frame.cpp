// Heads are read and written as big-endian words. Only settings that differ from the protocol's
// defaults are written. The priority field is a dictionary of structured fields: its reader walks
// all of the grammar but keeps two members, since a fault anywhere voids the whole field.
#include "wire/http2/frame.hpp"

#include <algorithm>
#include <cstring>

#include "wire/http/byte_class.hpp"

namespace latchkey::http2 {
namespace {

// §6.5.2, and RFC 9218 §2.1.
enum class setting : std::uint16_t {
    header_table_size = 1,
    enable_push = 2,
    max_concurrent_streams = 3,
    initial_window_size = 4,
    max_frame_size = 5,
    max_header_list_size = 6,
    no_rfc7540_priorities = 9,
};
constexpr std::size_t setting_bytes = 6;

void put_uint16(std::uint32_t value, std::string& output) {
    output.push_back(static_cast<char>(value >> 8));
    output.push_back(static_cast<char>(value));
}
void put_uint32(std::uint32_t value, std::string& output) {
    put_uint16(value >> 16, output);
    put_uint16(value & 0xffff, output);
}

void put_setting(setting name, std::uint32_t value, std::uint32_t initial, std::string& output) {
    if (value == initial) return;
    put_uint16(static_cast<std::uint32_t>(name), output);
    put_uint32(value, output);
}

}  // namespace

std::uint32_t read_uint32(char const* bytes) {
    std::uint32_t value;
    std::memcpy(&value, bytes, sizeof value);
    return __builtin_bswap32(value);
}

frame_head read_frame_head(char const* bytes) {
    auto const first = read_uint32(bytes);
    return {first >> 8, static_cast<frame_type>(first & 0xff), static_cast<std::uint8_t>(bytes[4]),
            read_uint32(bytes + 5) & stream_id_max};
}

void write_frame_head(frame_head const& head, char* output) {
    auto const first = __builtin_bswap32(head.length << 8 | static_cast<std::uint32_t>(head.type));
    auto const stream = __builtin_bswap32(head.stream);
    std::memcpy(output, &first, sizeof first);
    output[4] = static_cast<char>(head.flags);
    std::memcpy(output + 5, &stream, sizeof stream);
}

void put_frame_head(frame_head const& head, std::string& output) {
    std::array<char, frame_head_bytes> bytes;
    write_frame_head(head, bytes.data());
    output.append(bytes.data(), bytes.size());
}

error_code read_settings(std::string_view payload, settings& target) {
    if (payload.size() % setting_bytes != 0) return error_code::frame_size_error;
    target.header_table_bytes_least = UINT32_MAX;
    for (; !payload.empty(); payload.remove_prefix(setting_bytes)) {
        auto const name = static_cast<setting>(static_cast<unsigned char>(payload[0]) << 8 |
                                               static_cast<unsigned char>(payload[1]));
        auto const value = read_uint32(payload.data() + 2);
        switch (name) {
            case setting::header_table_size:
                target.header_table_bytes = value;
                target.header_table_bytes_least = std::min(target.header_table_bytes_least, value);
                break;
            case setting::enable_push:
                if (value > 1) return error_code::protocol_error;
                target.push = value == 1;
                break;
            case setting::max_concurrent_streams:
                target.streams_max = value;
                break;
            case setting::initial_window_size:
                if (value > window_max) return error_code::flow_control_error;
                target.window = value;
                break;
            case setting::max_frame_size:
                if (value < default_frame_bytes_max || value > frame_bytes_limit)
                    return error_code::protocol_error;
                target.frame_bytes_max = value;
                break;
            case setting::max_header_list_size:
                target.header_list_bytes_max = value;
                break;
            case setting::no_rfc7540_priorities:
                if (value > 1) return error_code::protocol_error;
                target.no_rfc7540_priorities = value == 1;
                break;
        }  // others are ignored (§6.5.2)
    }
    return error_code::no_error;
}

void put_settings(settings const& ours, std::string& output) {
    settings const initial;
    std::string payload;
    put_setting(setting::header_table_size, ours.header_table_bytes, initial.header_table_bytes,
                payload);
    put_setting(setting::enable_push, ours.push ? 1 : 0, 1, payload);
    put_setting(setting::max_concurrent_streams, ours.streams_max, initial.streams_max, payload);
    put_setting(setting::initial_window_size, ours.window, initial.window, payload);
    put_setting(setting::max_frame_size, ours.frame_bytes_max, initial.frame_bytes_max, payload);
    put_setting(setting::max_header_list_size, ours.header_list_bytes_max,
                initial.header_list_bytes_max, payload);
    put_setting(setting::no_rfc7540_priorities, ours.no_rfc7540_priorities ? 1 : 0, 0, payload);
    put_frame_head({static_cast<std::uint32_t>(payload.size()), frame_type::settings, 0, 0},
                   output);
    output.append(payload);
}

void put_settings_ack(std::string& output) {
    put_frame_head({0, frame_type::settings, flag::ack, 0}, output);
}

void put_ping_ack(std::string_view payload, std::string& output) {
    put_frame_head({static_cast<std::uint32_t>(payload.size()), frame_type::ping, flag::ack, 0},
                   output);
    output.append(payload);
}

void put_rst_stream(std::uint32_t stream, error_code code, std::string& output) {
    put_frame_head({4, frame_type::rst_stream, 0, stream}, output);
    put_uint32(static_cast<std::uint32_t>(code), output);
}

void put_goaway(std::uint32_t last_stream, error_code code, std::string_view detail,
                std::string& output) {
    put_frame_head({static_cast<std::uint32_t>(8 + detail.size()), frame_type::goaway, 0, 0},
                   output);
    put_uint32(last_stream, output);
    put_uint32(static_cast<std::uint32_t>(code), output);
    output.append(detail);
}

void put_window_update(std::uint32_t stream, std::uint32_t increment, std::string& output) {
    put_frame_head({4, frame_type::window_update, 0, stream}, output);
    put_uint32(increment, output);
}

content content_of(frame_head const& head, std::string_view payload) {
    content inner;
    std::size_t padding = 0;
    if (head.has(flag::padded)) {
        if (payload.empty()) return {{}, error_code::frame_size_error, {}};
        padding = static_cast<unsigned char>(payload.front());
        payload.remove_prefix(1);
    }
    if (head.type == frame_type::headers && head.has(flag::priority)) {
        if (payload.size() < 5) return {{}, error_code::frame_size_error, {}};
        inner.dependency = read_uint32(payload.data()) & stream_id_max;
        payload.remove_prefix(5);
    }
    if (padding > payload.size()) return {{}, error_code::protocol_error, {}};
    payload.remove_suffix(padding);
    inner.bytes = payload;
    return inner;
}

// ---- RFC 8941 §4.2.2, as far as it must be understood to find two members

namespace {

bool is_key_start(char byte) {
    return (byte >= 'a' && byte <= 'z') || byte == '*';
}
bool is_key_byte(char byte) {
    return is_key_start(byte) || http::is_digit(byte) || byte == '_' || byte == '-' || byte == '.';
}

class dictionary_reader {
  public:
    explicit dictionary_reader(std::string_view text) : rest_(text) {}

    // False: there is no further member, or the text is malformed.
    bool next() {
        key_ = value_ = {};
        if (is_first_)
            skip(" ");
        else if (!skip_comma())
            return false;
        is_first_ = false;
        if (rest_.empty()) {
            is_malformed_ = is_malformed_ || has_comma_;
            return false;
        }
        if (!is_key_start(rest_.front())) return fail();
        key_ = take(is_key_byte);
        value_ = "?1";
        if (rest_.starts_with('=')) {
            rest_.remove_prefix(1);
            auto const begin = rest_;
            if (!skip_value()) return fail();
            value_ = begin.substr(0, begin.size() - rest_.size());
        }
        return skip_parameters() || fail();
    }
    bool is_malformed() const { return is_malformed_; }
    std::string_view key() const { return key_; }
    std::string_view value() const { return value_; }

  private:
    bool fail() {
        is_malformed_ = true;
        return false;
    }
    void skip(std::string_view bytes) {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(bytes), rest_.size()));
    }
    bool skip_comma() {
        skip(" \t");
        if (rest_.empty()) return false;
        if (rest_.front() != ',') return fail();
        rest_.remove_prefix(1);
        skip(" \t");
        has_comma_ = true;
        return true;
    }
    std::string_view take(bool (*is_wanted)(char)) {
        std::size_t size = 0;
        while (size < rest_.size() && is_wanted(rest_[size])) ++size;
        auto const result = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return result;
    }
    bool skip_value() {
        if (!rest_.starts_with('(')) return skip_item();
        rest_.remove_prefix(1);
        for (;;) {
            skip(" ");
            if (rest_.starts_with(')')) {
                rest_.remove_prefix(1);
                return true;
            }
            if (rest_.empty() || !skip_item() || !skip_parameters()) return false;
            if (!rest_.starts_with(' ') && !rest_.starts_with(')')) return false;
        }
    }
    bool skip_item() {
        if (rest_.empty()) return false;
        char const first = rest_.front();
        if (first == '"') return skip_quoted();
        if (first == '?') {
            bool const is_boolean = rest_.size() >= 2 && (rest_[1] == '0' || rest_[1] == '1');
            if (is_boolean) rest_.remove_prefix(2);
            return is_boolean;
        }
        if (first == ':') {
            auto const end = rest_.find(':', 1);
            if (end == rest_.npos) return false;
            rest_.remove_prefix(end + 1);
            return true;
        }
        if (first == '-' || http::is_digit(first)) {
            rest_.remove_prefix(first == '-');
            auto const digits = take([](char byte) { return http::is_digit(byte) || byte == '.'; });
            return !digits.empty() && digits.size() <= 16 && http::is_digit(digits.front()) &&
                   http::is_digit(digits.back()) && std::ranges::count(digits, '.') <= 1;
        }
        bool const is_token = (first >= 'A' && first <= 'Z') || is_key_start(first);
        take([](char byte) {
            return http::is(byte, http::byte_class::token) || byte == ':' || byte == '/';
        });
        return is_token;
    }
    bool skip_quoted() {
        for (std::size_t i = 1; i < rest_.size(); ++i) {
            if (rest_[i] == '\\')
                ++i;
            else if (rest_[i] == '"') {
                rest_.remove_prefix(i + 1);
                return true;
            }
        }
        return false;
    }
    bool skip_parameters() {
        while (rest_.starts_with(';')) {
            rest_.remove_prefix(1);
            skip(" ");
            if (rest_.empty() || !is_key_start(rest_.front())) return false;
            take(is_key_byte);
            if (!rest_.starts_with('=')) continue;
            rest_.remove_prefix(1);
            if (!skip_item()) return false;
        }
        return true;
    }

    std::string_view rest_, key_, value_;
    bool is_first_ = true;
    bool has_comma_ = false;
    bool is_malformed_ = false;
};

}  // namespace

std::optional<priority> parse_priority(std::string_view text) {
    priority result;
    dictionary_reader members(text);
    while (members.next()) {
        auto const value = members.value();
        if (members.key() == "u") {
            bool const is_urgency = value.size() == 1 && value[0] >= '0' && value[0] <= '7';
            if (is_urgency) result.urgency = static_cast<std::uint8_t>(value[0] - '0');
        } else if (members.key() == "i" && value.starts_with('?')) {
            result.incremental = value == "?1";
        }
    }
    if (members.is_malformed()) return std::nullopt;
    return result;
}

}  // namespace latchkey::http2
