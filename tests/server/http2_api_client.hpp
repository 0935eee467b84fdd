// A client of the service in a simulated `world` that speaks HTTP/2, by libnghttp2: many requests at
// a time on one connection, with windows of any size, some of them cancelled. It knows what each
// response must be, and when a stream or the connection may end; libnghttp2 judges the frames.
#pragma once

#include <nghttp2/nghttp2.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api_client.hpp"

namespace latchkey::fake {

class http2_api_client final : public sim_client {
  public:
    explicit http2_api_client(api_clients& clients);
    ~http2_api_client() override;
    void begin();

  private:
    struct request {
        std::string body;
        std::size_t sent_bytes = 0;
        unsigned status = 0;           // that must come; a write may be 503 instead
        std::string expected_content;  // a part of it
        bool writes = false;
        bool cancelled = false;
        std::shared_ptr<user_creation> creation;
        // of the response:
        unsigned response_status = 0;
        std::string length, content;
    };

    static int on_header(nghttp2_session* session, nghttp2_frame const* frame,
                         std::uint8_t const* name, std::size_t name_bytes,
                         std::uint8_t const* value, std::size_t value_bytes, std::uint8_t flags,
                         void* self);
    static int on_content(nghttp2_session* session, std::uint8_t flags, std::int32_t stream,
                          std::uint8_t const* data, std::size_t bytes, void* self);
    static int on_close(nghttp2_session* session, std::int32_t stream, std::uint32_t code,
                        void* self);
    static int on_frame(nghttp2_session* session, nghttp2_frame const* frame, void* self);

    void configure();
    void ask();
    void read_user();
    void read_posts();
    void read_nothing();
    void create_user();
    void create_post();
    void send_too_much();
    std::int32_t submit(std::string_view method, std::string const& path, request planned,
                        std::string const& idempotency_key = {});
    void cancel(std::int32_t stream);
    void finish(std::int32_t stream, std::uint32_t code);
    void check(request const& answered);
    void pump();

    void on_data(std::string_view bytes) override;
    void on_end(bool broken) override;

    api_clients& clients_;
    nghttp2_session* session_ = nullptr;
    std::map<std::int32_t, request> open_;
    int unasked_ = 0;
    bool goaway_ = false;  // the service has announced the end
    bool input_ended_ = false;
};

}  // namespace latchkey::fake
