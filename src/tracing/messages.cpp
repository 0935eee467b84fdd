#include "tracing/messages.hpp"

#include <algorithm>
#include <limits>

#include "base/bytes.hpp"
#include "base/variant.hpp"

namespace latchkey::tracing {
namespace {

template <std::size_t size>
void append_bytes(std::string& output, std::array<std::uint8_t, size> const& bytes) {
    output.append(reinterpret_cast<char const*>(bytes.data()), bytes.size());
}

// A text that is longer than its length can say is cut, and is still beyond the bound of texts: the
// other side refuses it, as it does every text beyond that bound.
void append_text(std::string& output, std::string_view text) {
    constexpr std::size_t length_max = std::numeric_limits<std::uint16_t>::max();
    static_assert(text_bytes_max < length_max);
    base::append_text(output, text.substr(0, length_max));
}

void append(std::string& output, hello const& message) {
    base::append(output, message.version);
    base::append(output, message.session);
}
void append(std::string& output, report const& message) {
    base::append(output, message.exported);
    base::append(output, message.dropped);
    append_text(output, message.failure);
}
void append(std::string& output, server_address const& address) {
    append_text(output, address.host);
    base::append(output, address.port);
}
void append(std::string& output, settings const& message) {
    append_text(output, message.endpoint);
    base::append(output, static_cast<std::uint16_t>(message.fields.size()));
    for (auto const& each : message.fields) {
        append_text(output, each.name);
        append_text(output, each.value);
    }
    append_text(output, message.service_name);
    append_text(output, message.service_version);
    append_text(output, message.instance_id);
    append(output, message.plain);
    append(output, message.tls);
}
void append(std::string& output, span const& value) {
    append_bytes(output, value.trace_id);
    append_bytes(output, value.span_id);
    append_bytes(output, value.parent_id);
    base::append(output, value.start_ns);
    base::append(output, value.end_ns);
    base::append(output, value.key_id);
    append_text(output, value.method);
    append_text(output, value.route);
    append_text(output, value.protocol_version);
    append_text(output, value.request_id());
    base::append(output, static_cast<std::uint8_t>(value.tls));
    base::append(output, value.status);
}
void append(std::string& output, batch const& message) {
    base::append(output, static_cast<std::uint16_t>(message.spans.size()));
    for (auto const& each : message.spans) append(output, each);
}
void append(std::string&, flush const&) {}
void append(std::string& output, begin const& message) {
    base::append(output, message.session);
}

// Members in their order; `valid` is false after the first that is out of its bounds.
struct parser {
    base::reader input;
    bool valid = true;

    void require(bool condition) { valid = valid && condition; }
    std::string_view text() {
        auto const view = input.text();
        require(input.ok() && view.size() <= text_bytes_max);
        return valid ? view : std::string_view();
    }
    std::size_t count(std::size_t count_max) {
        auto const count = input.integer<std::uint16_t>();
        require(input.ok() && count <= count_max);
        return valid ? count : 0;
    }
    template <std::size_t size>
    void bytes(std::array<std::uint8_t, size>& output) {
        auto const view = input.bytes(size);
        std::ranges::copy(view, output.begin());
    }
};

void read(parser& input, hello& message) {
    message.version = input.input.integer<std::uint32_t>();
    message.session = input.input.integer<std::uint64_t>();
}
void read(parser& input, report& message) {
    message.exported = input.input.integer<std::uint64_t>();
    message.dropped = input.input.integer<std::uint64_t>();
    message.failure = input.text();
}
void read(parser& input, server_address& address) {
    address.host = input.text();
    address.port = input.input.integer<std::uint16_t>();
}
void read(parser& input, settings& message) {
    message.endpoint = input.text();
    for (auto left = input.count(fields_max); left > 0 && input.valid; --left) {
        auto& field = message.fields.emplace_back();
        field.name = input.text();
        field.value = input.text();
    }
    message.service_name = input.text();
    message.service_version = input.text();
    message.instance_id = input.text();
    read(input, message.plain);
    read(input, message.tls);
}
void read(parser& input, span& value) {
    input.bytes(value.trace_id);
    input.bytes(value.span_id);
    input.bytes(value.parent_id);
    value.start_ns = input.input.integer<std::uint64_t>();
    value.end_ns = input.input.integer<std::uint64_t>();
    value.key_id = input.input.integer<std::uint64_t>();
    value.method = input.text();
    value.route = input.text();
    value.protocol_version = input.text();
    auto const id = input.text();
    input.require(id.size() <= span::request_id_bytes_max);
    value.set_request_id(id);
    value.tls = input.input.integer<std::uint8_t>() != 0;
    value.status = input.input.integer<std::uint16_t>();
}
void read(parser& input, batch& message) {
    for (auto left = input.count(spans_per_batch_max); left > 0 && input.valid; --left)
        read(input, message.spans.emplace_back());
}
void read(parser&, flush&) {}
void read(parser& input, begin& message) {
    message.session = input.input.integer<std::uint64_t>();
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

}  // namespace latchkey::tracing
