#include "helpers/trace/protocol/trace_messages.hpp"

#include "helpers/kit/codec.hpp"

namespace latchkey::trace::protocol {
namespace {

using kit::bounded, kit::is;

struct layout : kit::hello_layout {
    using hello_layout::walk;
    static void walk(auto& archive, is<report> auto& message) {
        archive(message.exported, message.dropped, bounded{message.failure, text_bytes_max});
    }
    static void walk(auto& archive, is<field> auto& field) {
        archive(bounded{field.name, text_bytes_max}, bounded{field.value, text_bytes_max});
    }
    static void walk(auto& archive, is<server_address> auto& address) {
        archive(bounded{address.host, text_bytes_max}, address.port);
    }
    static void walk(auto& archive, is<settings> auto& message) {
        archive(bounded{message.endpoint, text_bytes_max}, bounded{message.fields, fields_max},
                bounded{message.service_name, text_bytes_max},
                bounded{message.service_version, text_bytes_max},
                bounded{message.instance_id, text_bytes_max}, message.plain, message.tls);
    }
    template <is<span> Span>
    static void walk(auto& archive, Span& value) {
        auto id = value.request_id();
        archive(value.trace_id, value.span_id, value.parent_id, value.start_ns, value.end_ns,
                value.key_id, bounded{value.method, text_bytes_max},
                bounded{value.route, text_bytes_max},
                bounded{value.protocol_version, text_bytes_max},
                bounded{id, span::request_id_bytes_max}, value.tls, value.status);
        if constexpr (!std::is_const_v<Span>) value.set_request_id(id);
    }
    static void walk(auto& archive, is<batch> auto& message) {
        archive(bounded{message.spans, spans_per_batch_max});
    }
};

using span_codec = kit::codec<layout, std::uint16_t>;

}  // namespace

std::string encode(message const& content) {
    return span_codec::encode(content, 0);
}

base::result<message> decode(std::string_view bytes) {
    message content;
    auto const result = span_codec::decode(bytes, content);
    if (!result) return result.error();
    return content;
}

}  // namespace latchkey::trace::protocol
