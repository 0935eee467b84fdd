#include "helpers/deliver/protocol/deliver_messages.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "helpers/kit/codec.hpp"

namespace latchkey::deliver::protocol {
namespace {

using kit::bounded, kit::is;

bool is_visible(std::string_view text) {
    return std::ranges::all_of(text, [](char byte) { return byte >= ' ' && byte < 0x7f; });
}

struct layout : kit::hello_layout {
    using hello_layout::walk;
    static void walk(auto& archive, is<result> auto& message) {
        archive(message.number, message.status, message.duration_ms, message.retry_after_seconds,
                bounded{message.error, error_bytes_max},
                bounded{message.response, response_bytes_max});
        archive.require(message.status < 1000 && is_visible(message.error));
    }
    static void walk(auto& archive, is<field> auto& field) {
        archive(bounded{field.name, field_bytes_max}, bounded{field.value, field_bytes_max});
        archive.require(base::is_token(field.name) && is_visible(field.value));
    }
    static void walk(auto& archive, is<model::cidr> auto& range) {
        archive(range.network.bytes, range.prefix);
        archive.require(range.prefix <= 128);
    }
    static void walk(auto& archive, is<attempt> auto& message) {
        archive(message.number, bounded{message.url, url_bytes_max},
                bounded{message.fields, fields_max}, bounded{message.body, body_bytes_max},
                message.timeout_ms, bounded{message.allow, networks_max}, message.line,
                message.predecessor);
        archive.require(message.timeout_ms > 0 && message.timeout_ms <= timeout_ms_max);
        archive.require(message.line != 0 || message.predecessor == 0);
    }
    static void walk(auto& archive, is<unsent> auto& message) { archive(message.number); }
};

using attempt_codec = kit::codec<layout, std::uint32_t>;

}  // namespace

std::string encode(message const& content) {
    auto const* const attempt = std::get_if<deliver::protocol::attempt>(&content);
    auto const size = attempt != nullptr ? attempt->url.size() + attempt->body.size() : 0;
    return attempt_codec::encode(content, size + base::limits::kib);
}

base::result<message> decode(std::string_view bytes) {
    message content;
    auto const result = attempt_codec::decode(bytes, content);
    if (!result) return result.error();
    return content;
}

}  // namespace latchkey::deliver::protocol
