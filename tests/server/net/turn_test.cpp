// A turn of a worker ends by time, whatever number of requests that is: many that a client sends at
// once are spread over turns, in both protocols.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "../running_worker.hpp"
#include "../socket_client.hpp"
#include "wire/http2/frame.hpp"
#include "wire/http2/hpack_encoder.hpp"

namespace latchkey::server {
namespace {

// Each makes a page of 1 MiB, and is answered without content.
constexpr unsigned requests = 100;
constexpr std::string_view path = "/api/v1/posts?limit=100";
constexpr unsigned turns_min = 10;

class turns : public testing::Test {
  protected:
    std::uint64_t answered(session::protocol protocol) const {
        return service.metrics().protocols[static_cast<std::size_t>(protocol)].read();
    }
    // Turns that it took until all were answered.
    std::uint64_t turns_for(std::string const& bytes, session::protocol protocol) {
        socket_client client(service.address());
        auto const first_turn = service.metrics().turns.read();
        EXPECT_TRUE(client.send(bytes));
        for (int wait = 0; answered(protocol) < requests && wait < 20'000; ++wait)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        EXPECT_EQ(answered(protocol), requests);
        return service.metrics().turns.read() - first_turn;
    }

    running_worker service{{}, 20, 60'000};
};

TEST_F(turns, are_many_for_dear_requests_of_http1) {
    std::string bytes;
    for (unsigned i = 0; i < requests; ++i)
        bytes.append("GET ")
            .append(path)
            .append(
                " HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\n"
                "X-API-Key: ")
            .append(service.key())
            .append("\r\n\r\n");
    EXPECT_GE(turns_for(bytes, session::protocol::http1_1), turns_min);
}

TEST_F(turns, are_many_for_dear_requests_of_http2) {
    std::string bytes(http2::preface), block;
    http2::put_frame_head({0, http2::frame_type::settings, 0, 0}, bytes);
    http2::hpack_encoder encoder;
    for (unsigned i = 0; i < requests; ++i) {
        block.clear();
        encoder.begin_block(block);
        auto const add = [&](std::string_view name, std::string_view value) {
            encoder.add(name, value, http2::indexing::field, block);
        };
        add(":method", "GET");
        add(":scheme", "http");
        add(":authority", "a");
        add(":path", path);
        add("if-none-match", "*");
        add("x-api-key", service.key());
        http2::put_frame_head({static_cast<std::uint32_t>(block.size()), http2::frame_type::headers,
                               http2::flag::end_headers | http2::flag::end_stream, 2 * i + 1},
                              bytes);
        bytes += block;
    }
    EXPECT_GE(turns_for(bytes, session::protocol::http2), turns_min);
}

}  // namespace
}  // namespace latchkey::server
