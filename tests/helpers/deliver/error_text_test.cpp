#include "helpers/deliver/error_text.hpp"

#include <errno.h>
#include <gtest/gtest.h>

#include "helpers/deliver/protocol/deliver_messages.hpp"

namespace latchkey::deliver {
namespace {

TEST(error_texts, say_what_happened) {
    EXPECT_EQ(error_text({.code = CURLE_COULDNT_RESOLVE_HOST}), "the name does not resolve");
    EXPECT_EQ(error_text({.code = CURLE_COULDNT_CONNECT, .system_error = ECONNREFUSED}),
              "connection refused");
    EXPECT_EQ(error_text({.code = CURLE_COULDNT_CONNECT}), "no connection");
    EXPECT_EQ(error_text({.code = CURLE_SSL_CONNECT_ERROR, .detail = "gnutls_handshake() failed"}),
              "TLS: gnutls_handshake() failed");
}

TEST(error_texts, say_what_is_wrong_with_a_certificate) {
    EXPECT_EQ(
        error_text(
            {.code = CURLE_PEER_FAILED_VERIFICATION,
             .detail = "SSL: certificate subject name (a) does not match target host name 'b'"}),
        "certificate: it is of another name");
    EXPECT_EQ(error_text({.code = CURLE_PEER_FAILED_VERIFICATION,
                          .detail = "SSL certificate problem: certificate has expired"}),
              "certificate: certificate has expired");
    EXPECT_EQ(error_text({.code = CURLE_PEER_FAILED_VERIFICATION}),
              "certificate: its issuer is not known here, or it is not valid now");
}

TEST(error_texts, are_visible_and_short) {
    auto const text = error_text(
        {.code = CURLE_SSL_CONNECT_ERROR, .detail = "a\r\nb\xff" + std::string(1000, 'x')});
    EXPECT_EQ(text.substr(0, 10), "TLS: a??b?");
    EXPECT_EQ(text.size(), deliver::protocol::error_bytes_max);
    EXPECT_TRUE(deliver::protocol::decode(
        deliver::protocol::encode(deliver::protocol::result{.error = text})));
    for (int code = 1; code < CURL_LAST; ++code)
        EXPECT_NE(error_text({.code = static_cast<CURLcode>(code)}), "") << code;
}

}  // namespace
}  // namespace latchkey::deliver
