// Plain HTTP at a listener with TLS, told by its first bytes.
#include "server/net/plain_http.hpp"

#include <gtest/gtest.h>

#include "wire/http2/frame.hpp"

namespace latchkey::server {
namespace {

TEST(plain_http, is_told_from_tls_by_the_first_bytes) {
    using enum first_bytes;
    std::pair<std::string_view, first_bytes> const rows[] = {
        {"\x16\x03\x01\x02\x00\x01", tls},
        {"\x16", tls},
        {"\x80\x2e\x01\x03\x01", tls},
        {"GET / HTTP/1.1\r\n", http1},
        {"DELETE /api/v1/users/1 HTTP/1.1\r\n", http1},
        {"PROPFIND /", http1},
        {"G", undecided},
        {"OPTIONS", undecided},
        {"", undecided},
        {"P", undecided},
        {"PRI * HTTP/2.0", undecided},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", http2},
        {"PRI / HTTP/1.1\r\n", http1},
        {"SSH-2.0-OpenSSH_9.2\r\n", tls},
        {" GET /", tls},
        {"get / HTTP/1.1\r\n", tls},
        {"ABCDEFGHIJKLMNOPQRS", tls},
    };
    for (auto const& [bytes, expected] : rows)
        EXPECT_EQ(tell_first_bytes(bytes), expected) << bytes;
}

TEST(plain_http, is_answered_in_its_own_language) {
    auto const answer = refuse_plain_http("GET /?api_key=SECRET HTTP/1.1\r\n", 1'767'323'045'000);
    EXPECT_TRUE(
        answer.starts_with("HTTP/1.1 400 Bad Request\r\n"
                           "Date: Fri, 02 Jan 2026 03:04:05 GMT\r\n"))
        << answer;
    EXPECT_NE(answer.find("\r\nConnection: close\r\n\r\nThis port speaks HTTPS"), answer.npos);
    EXPECT_EQ(answer.find("SECRET"), answer.npos);
    auto const body = answer.substr(answer.find("\r\n\r\n") + 4);
    EXPECT_NE(answer.find("Content-Length: " + std::to_string(body.size()) + "\r\n"), answer.npos);
    EXPECT_TRUE(refuse_plain_http("HEAD / HTTP/1.1\r\n", 0).ends_with("\r\n\r\n"));

    auto const frames = refuse_plain_http("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0);
    auto const settings = http2::read_frame_head(frames.data());
    EXPECT_EQ(settings.type, http2::frame_type::settings);
    auto const rest = frames.substr(9 + settings.length);
    auto const goaway = http2::read_frame_head(rest.data());
    EXPECT_EQ(goaway.type, http2::frame_type::goaway);
    EXPECT_EQ(goaway.length, rest.size() - 9);
    EXPECT_EQ(http2::read_uint32(rest.data() + 13), 12u) << "INADEQUATE_SECURITY";
}

}  // namespace
}  // namespace latchkey::server
