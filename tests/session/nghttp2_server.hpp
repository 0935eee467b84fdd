// libnghttp2's server in memory, as the reference for what a server makes of a client's frames. It
// answers each complete request at once and without content.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "session/session_context.hpp"

namespace latchkey::session {

class nghttp2_server {
  public:
    // `settings`: what the service announces.
    explicit nghttp2_server(http2_options const& settings) {
        nghttp2_session_callbacks* callbacks = nullptr;
        nghttp2_session_callbacks_new(&callbacks);
        nghttp2_session_callbacks_set_on_frame_recv_callback(
            callbacks, [](nghttp2_session* session, nghttp2_frame const* frame, void* self) {
                bool const ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
                bool const is_message =
                    frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
                if (ends && is_message) {
                    static_cast<nghttp2_server*>(self)->requests_[frame->hd.stream_id].complete =
                        true;
                    answer(session, frame->hd.stream_id);
                }
                return 0;
            });
        nghttp2_session_callbacks_set_on_frame_send_callback(
            callbacks, [](nghttp2_session*, nghttp2_frame const* frame, void* self) {
                auto& server = *static_cast<nghttp2_server*>(self);
                if (frame->hd.type == NGHTTP2_GOAWAY) server.failure_ = frame->goaway.error_code;
                if (frame->hd.type == NGHTTP2_RST_STREAM)
                    server.requests_[frame->hd.stream_id].reset = frame->rst_stream.error_code;
                return 0;
            });
        nghttp2_option* option = nullptr;
        nghttp2_option_new(&option);
        nghttp2_option_set_builtin_recv_extension_type(option, NGHTTP2_PRIORITY_UPDATE);
        nghttp2_option_set_stream_reset_rate_limit(option, 1'000'000, 1'000'000);
        nghttp2_session_server_new2(&native_, callbacks, this, option);
        nghttp2_option_del(option);
        nghttp2_session_callbacks_del(callbacks);
        nghttp2_settings_entry const entries[] = {
            {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.streams_max},
            {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.window_bytes},
            {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
        nghttp2_submit_settings(native_, NGHTTP2_FLAG_NONE, entries, 3);
        send();
    }
    ~nghttp2_server() { nghttp2_session_del(native_); }
    nghttp2_server(nghttp2_server const&) = delete;
    nghttp2_server& operator=(nghttp2_server const&) = delete;

    void receive(std::string_view bytes) {
        if (failure_) return;
        auto const consumed = nghttp2_session_mem_recv(
            native_, reinterpret_cast<std::uint8_t const*>(bytes.data()), bytes.size());
        if (consumed < 0) failure_ = NGHTTP2_INTERNAL_ERROR;
        send();
    }

    struct request {
        bool complete = false;
        std::optional<std::uint32_t> reset;  // by the server
    };
    // Why the connection has ended.
    std::optional<std::uint32_t> failure() const { return failure_; }
    std::map<std::int32_t, request> const& requests() const { return requests_; }

  private:
    static void answer(nghttp2_session* session, std::int32_t stream) {
        std::uint8_t name[] = ":status", value[] = "204";
        nghttp2_nv const status{name, value, 7, 3, NGHTTP2_NV_FLAG_NONE};
        nghttp2_submit_response(session, stream, &status, 1, nullptr);
    }
    void send() {
        std::uint8_t const* data = nullptr;
        while (nghttp2_session_mem_send(native_, &data) > 0) {
        }
    }

    nghttp2_session* native_ = nullptr;
    std::optional<std::uint32_t> failure_;
    std::map<std::int32_t, request> requests_;
};

}  // namespace latchkey::session
