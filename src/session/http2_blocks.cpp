#include "session/http2_blocks.hpp"

#include <utility>

namespace latchkey::session {
namespace {

using h2::error_code;

// A header block may take as many CONTINUATION frames (CVE-2024-27316 and its kin).
constexpr unsigned frames_max = 1 + 8;

}  // namespace

http2_blocks::outcome http2_blocks::begin(h2::frame_head const& head, std::string_view payload,
                                          std::uint64_t seconds, server_state const& server) {
    if (head.stream % 2 == 0)
        return fault{error_code::protocol_error, "HEADERS on a stream that is no client's."};
    auto const inner = h2::content_of(head, payload);
    if (inner.problem != error_code::no_error)
        return fault{inner.problem, "HEADERS with wrong padding or priority."};
    bool const ends_stream = head.has(h2::flag::end_stream);
    bool const depends_on_itself = inner.dependency == head.stream;
    if (head.has(h2::flag::end_headers))
        return header_block{head.stream, inner.bytes, ends_stream, depends_on_itself};
    text_.assign(inner.bytes);
    stream_ = head.stream;
    frames_ = 1;
    ends_stream_ = ends_stream;
    depends_on_itself_ = depends_on_itself;
    deadline_ = base::after(server.now.mono, seconds);
    return keep(server);
}

// A block that goes on is kept, and nobody is known yet to whom it counts.
http2_blocks::outcome http2_blocks::keep(server_state const& server) const {
    bool const is_kept = !server.overloaded &&
                         (server.quota == nullptr || server.quota->admits_answer(0, text_.size()));
    if (is_kept) return {};
    return fault{error_code::enhance_your_calm, "No memory for the header block."};
}

http2_blocks::outcome http2_blocks::go_on(h2::frame_head const& head, std::string_view payload,
                                          server_state const& server) {
    if (stream_ == 0 || head.stream != stream_)
        return fault{error_code::protocol_error, "CONTINUATION without its HEADERS."};
    if (++frames_ > frames_max)
        return fault{error_code::enhance_your_calm, "A header block of too many frames."};
    if (text_.size() + payload.size() > context_.header_text.block_bytes_max())
        return *judge(decode_result::excessive);
    text_.append(payload);
    if (!head.has(h2::flag::end_headers)) {
        if (payload.empty() && !flood_.spend(server.now.mono))
            return fault{error_code::enhance_your_calm, "Too many empty frames."};
        return keep(server);
    }
    deadline_ = 0;
    return header_block{std::exchange(stream_, 0), text_, ends_stream_, depends_on_itself_};
}

void http2_blocks::wipe() {
    if (text_.empty()) return;
    base::wipe(text_.data(), text_.size());
    std::string().swap(text_);
}

std::optional<fault> http2_blocks::judge(decode_result result) {
    if (result == decode_result::malformed)
        return fault{error_code::compression_error, "The header block cannot be decoded."};
    if (result == decode_result::excessive)
        return fault{error_code::enhance_your_calm, "A header block is far too large."};
    return {};
}

}  // namespace latchkey::session
