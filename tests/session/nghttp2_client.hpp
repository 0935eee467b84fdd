// libnghttp2's client in memory, over a conversation with the session of the service.
#pragma once

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http2_conversation.hpp"

namespace latchkey::session {

using fields = std::vector<std::pair<std::string, std::string>>;

struct response {
    unsigned status = 0;
    std::map<std::string, std::string> fields;
    std::string body;
    bool closed = false;
    std::uint32_t error = 0;
    unsigned interim = 0;
};

class nghttp2_client {
  public:
    // `window`: of each stream, at first.
    explicit nghttp2_client(http2_conversation& server, bool grants_window = true,
                            std::uint32_t window = 65'535)
        : server_(server) {
        nghttp2_session_callbacks* callbacks = nullptr;
        nghttp2_session_callbacks_new(&callbacks);
        nghttp2_session_callbacks_set_on_header_callback(
            callbacks, [](nghttp2_session*, nghttp2_frame const* frame, std::uint8_t const* name,
                          std::size_t name_size, std::uint8_t const* value, std::size_t value_size,
                          std::uint8_t, void* self) {
                auto& answer = static_cast<nghttp2_client*>(self)->responses[frame->hd.stream_id];
                std::string const title(reinterpret_cast<char const*>(name), name_size);
                std::string const text(reinterpret_cast<char const*>(value), value_size);
                if (title == ":status" && text == "100")
                    ++answer.interim;
                else if (title == ":status")
                    answer.status = static_cast<unsigned>(std::stoul(text));
                else
                    answer.fields[title] = text;
                return 0;
            });
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
            callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, std::uint8_t const* data,
                          std::size_t size, void* self) {
                static_cast<nghttp2_client*>(self)->responses[id].body.append(
                    reinterpret_cast<char const*>(data), size);
                return 0;
            });
        nghttp2_session_callbacks_set_on_stream_close_callback(
            callbacks, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* self) {
                auto& answer = static_cast<nghttp2_client*>(self)->responses[id];
                answer.closed = true;
                answer.error = error;
                return 0;
            });
        nghttp2_session_callbacks_set_on_frame_recv_callback(
            callbacks, [](nghttp2_session*, nghttp2_frame const* frame, void* self) {
                if (frame->hd.type == NGHTTP2_GOAWAY)
                    static_cast<nghttp2_client*>(self)->goaways.emplace_back(
                        frame->goaway.last_stream_id, frame->goaway.error_code);
                return 0;
            });
        nghttp2_option* option = nullptr;
        nghttp2_option_new(&option);
        nghttp2_option_set_no_auto_window_update(option, grants_window ? 0 : 1);
        nghttp2_session_client_new2(&native_, callbacks, this, option);
        nghttp2_option_del(option);
        nghttp2_session_callbacks_del(callbacks);
        nghttp2_settings_entry const first{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window};
        nghttp2_submit_settings(native_, NGHTTP2_FLAG_NONE, &first, 1);
    }
    ~nghttp2_client() { nghttp2_session_del(native_); }
    nghttp2_client(nghttp2_client const&) = delete;
    nghttp2_client& operator=(nghttp2_client const&) = delete;

    std::int32_t submit(fields const& head, std::string body = {}, bool has_body = false) {
        std::vector<nghttp2_nv> native;
        for (auto const& [name, value] : head)
            native.push_back(
                {const_cast<std::uint8_t*>(reinterpret_cast<std::uint8_t const*>(name.data())),
                 const_cast<std::uint8_t*>(reinterpret_cast<std::uint8_t const*>(value.data())),
                 name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
        bodies_.push_back({std::move(body), 0});
        nghttp2_data_provider provider{};
        provider.source.ptr = &bodies_.back();
        provider.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* output,
                                    std::size_t size, std::uint32_t* flags,
                                    nghttp2_data_source* source, void*) -> ssize_t {
            auto& part = *static_cast<std::pair<std::string, std::size_t>*>(source->ptr);
            auto const count = part.first.copy(reinterpret_cast<char*>(output), size, part.second);
            part.second += count;
            if (part.second == part.first.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
            return static_cast<ssize_t>(count);
        };
        return nghttp2_submit_request(
            native_, nullptr, native.data(), native.size(),
            has_body || !bodies_.back().first.empty() ? &provider : nullptr, nullptr);
    }
    // Until neither side has anything to send.
    void exchange(std::size_t part = std::string::npos) {
        for (bool progress = true; progress;) {
            progress = false;
            std::uint8_t const* data = nullptr;
            for (ssize_t size; (size = nghttp2_session_mem_send(native_, &data)) > 0;
                 progress = true) {
                std::string_view bytes(reinterpret_cast<char const*>(data),
                                       static_cast<std::size_t>(size));
                for (; !bytes.empty(); bytes.remove_prefix(std::min(part, bytes.size())))
                    server_.receive(bytes.substr(0, part));
            }
            if (auto const output = server_.take_output(); !output.empty()) {
                progress = true;
                auto const consumed = nghttp2_session_mem_recv(
                    native_, reinterpret_cast<std::uint8_t const*>(output.data()), output.size());
                ASSERT_EQ(consumed, static_cast<ssize_t>(output.size()))
                    << nghttp2_strerror(static_cast<int>(consumed));
            }
        }
    }

    std::map<std::int32_t, response> responses;
    std::vector<std::pair<std::int32_t, std::uint32_t>> goaways;
    nghttp2_session* native() { return native_; }

  private:
    http2_conversation& server_;
    nghttp2_session* native_ = nullptr;
    std::deque<std::pair<std::string, std::size_t>> bodies_;
};

}  // namespace latchkey::session
