// Header blocks of an HTTP/2 connection (RFC 9113 §4.3): the decoder, whose table has to follow
// each of them, and the block that goes on in CONTINUATION frames. No I/O; belongs to its session.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "session/http2_flood.hpp"
#include "session/http2_stream.hpp"
#include "wire/http2/hpack_decoder.hpp"

namespace latchkey::session {

// A whole one, until `http2_blocks::wipe`.
struct header_block {
    stream_id stream = 0;
    std::string_view bytes;
    bool ends_stream = false;
    bool depends_on_itself = false;
};

class http2_blocks {
  public:
    using decode_result = h2::hpack_decoder::result;
    // Nothing: it goes on.
    using outcome = std::variant<std::monostate, header_block, fault>;

    // All outlive it.
    http2_blocks(context& shared, http2_options const& announced, http2_flood& flood)
        : context_(shared), flood_(flood), decoder_(announced.header_table_bytes, &shared.mask) {}

    // HEADERS (§6.2). A block that goes on has so many seconds.
    outcome begin(h2::frame_head const& head, std::string_view payload, std::uint64_t seconds,
                  server_state const& server);
    // CONTINUATION (§6.10).
    outcome go_on(h2::frame_head const& head, std::string_view payload, server_state const& server);
    // Only CONTINUATION may come.
    bool goes_on() const { return stream_ != 0; }
    base::mono_ns deadline() const { return deadline_; }  // 0: no block goes on
    void wipe();

    template <class Visitor>
    decode_result decode(std::string_view block, Visitor&& visit) {
        return decoder_.decode(block, context_.header_text, visit);
    }
    // What the connection cannot outlive.
    static std::optional<fault> judge(decode_result result);

    std::size_t held_bytes() const { return base::heap_bytes(text_); }
    std::size_t table_bytes() const { return decoder_.heap_bytes(); }

  private:
    outcome keep(server_state const& server) const;

    context& context_;
    http2_flood& flood_;
    h2::hpack_decoder decoder_;
    std::string text_;      // of the block that goes on
    stream_id stream_ = 0;  // 0: none does
    unsigned frames_ = 0;
    bool ends_stream_ = false;
    bool depends_on_itself_ = false;
    base::mono_ns deadline_ = 0;
};

}  // namespace latchkey::session
