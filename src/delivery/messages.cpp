#include "delivery/messages.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/bytes.hpp"
#include "base/variant.hpp"

namespace latchkey::delivery {
namespace {

void append_bytes(std::string& output, std::string_view bytes) {
    base::append(output, static_cast<std::uint32_t>(bytes.size()));
    output.append(bytes);
}

void append(std::string& output, hello const& message) {
    base::append(output, message.version);
    base::append(output, message.session);
}
void append(std::string& output, result const& message) {
    base::append(output, message.number);
    base::append(output, message.status);
    base::append(output, message.duration_ms);
    base::append(output, message.retry_after_seconds);
    append_bytes(output, message.error);
    append_bytes(output, message.response);
}
void append(std::string& output, begin const& message) {
    base::append(output, message.session);
}
void append(std::string& output, attempt const& message) {
    output.reserve(output.size() + message.url.size() + message.body.size() + base::limits::kib);
    base::append(output, message.number);
    append_bytes(output, message.url);
    base::append(output, static_cast<std::uint32_t>(message.fields.size()));
    for (auto const& each : message.fields) {
        append_bytes(output, each.name);
        append_bytes(output, each.value);
    }
    append_bytes(output, message.body);
    base::append(output, message.timeout_ms);
    base::append(output, static_cast<std::uint32_t>(message.allow.size()));
    for (auto const& each : message.allow) {
        output.append(each.network.bytes.begin(), each.network.bytes.end());
        base::append(output, each.prefix);
    }
    base::append(output, message.line);
    base::append(output, message.predecessor);
}
void append(std::string& output, unsent const& message) {
    base::append(output, message.number);
}

// Members in their order; `valid` is false after the first that is out of its bounds.
struct parser {
    base::reader input;
    bool valid = true;

    void require(bool condition) { valid = valid && condition; }
    std::uint32_t size(std::size_t size_max) {
        auto const size = input.integer<std::uint32_t>();
        require(input.ok() && size <= size_max);
        return valid ? size : 0;
    }
    std::string bytes(std::size_t bytes_max) { return std::string(input.bytes(size(bytes_max))); }
};

bool is_visible(std::string_view text) {
    return std::ranges::all_of(text, [](char byte) { return byte >= ' ' && byte < 0x7f; });
}

model::cidr read_network(parser& input) {
    model::cidr network;
    auto const bytes = input.input.bytes(network.network.bytes.size());
    std::ranges::copy(bytes, network.network.bytes.begin());
    network.prefix = input.input.integer<std::uint8_t>();
    input.require(network.prefix <= 128);
    return network;
}

void read(parser& input, hello& message) {
    message.version = input.input.integer<std::uint32_t>();
    message.session = input.input.integer<std::uint64_t>();
}
void read(parser& input, result& message) {
    message.number = input.input.integer<std::uint64_t>();
    message.status = input.input.integer<std::uint16_t>();
    message.duration_ms = input.input.integer<std::uint32_t>();
    message.retry_after_seconds = input.input.integer<std::uint32_t>();
    message.error = input.bytes(error_bytes_max);
    message.response = input.bytes(response_bytes_max);
    input.require(message.status < 1000 && is_visible(message.error));
}
void read(parser& input, begin& message) {
    message.session = input.input.integer<std::uint64_t>();
}
// Nothing is reserved for a count that the bytes do not bear out.
void read(parser& input, attempt& message) {
    message.number = input.input.integer<std::uint64_t>();
    message.url = input.bytes(url_bytes_max);
    for (auto left = input.size(fields_max); left > 0 && input.valid; --left) {
        auto& field = message.fields.emplace_back();
        field.name = input.bytes(field_bytes_max);
        field.value = input.bytes(field_bytes_max);
        input.require(base::is_token(field.name) && is_visible(field.value));
    }
    message.body = input.bytes(body_bytes_max);
    message.timeout_ms = input.input.integer<std::uint32_t>();
    input.require(message.timeout_ms > 0 && message.timeout_ms <= timeout_ms_max);
    for (auto left = input.size(networks_max); left > 0 && input.valid && input.input.ok(); --left)
        message.allow.push_back(read_network(input));
    message.line = input.input.integer<std::uint64_t>();
    message.predecessor = input.input.integer<std::uint64_t>();
    input.require(message.line != 0 || message.predecessor == 0);
}
void read(parser& input, unsent& message) {
    message.number = input.input.integer<std::uint64_t>();
}

}  // namespace

std::string encode(message const& content) {
    std::string bytes;
    base::append(bytes, static_cast<std::uint8_t>(content.index()));
    std::visit([&](auto const& message) { append(bytes, message); }, content);
    return bytes;
}

base::result<message> decode(std::string_view bytes) {
    base::reader head(bytes);
    auto const type = head.integer<std::uint8_t>();
    parser input{base::reader(head.rest())};
    message content;
    bool const is_known = head.ok() && base::emplace_alternative(content, type);
    if (is_known) std::visit([&](auto& each) { read(input, each); }, content);
    if (!is_known || !input.valid || !input.input.done())
        return base::error{"a message of type " + std::to_string(type) + " has a wrong form"};
    return content;
}

}  // namespace latchkey::delivery
