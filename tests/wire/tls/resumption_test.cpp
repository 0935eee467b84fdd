#include <gtest/gtest.h>
#include <openssl/rand.h>

#include "certificates.hpp"
#include "client.hpp"
#include "wire/tls/session.hpp"

namespace latchkey::tls::testing {
namespace {

// Each test for TLS 1.2 and for TLS 1.3.
class resumption : public ::testing::TestWithParam<std::uint16_t> {
  protected:
    client_options options() const { return {.oldest = GetParam(), .newest = GetParam()}; }

    struct outcome {
        bool resumed;
        bssl::UniquePtr<SSL_SESSION> ticket;  // a new one, or null
    };
    outcome connect(context& server_context, SSL_SESSION* offer = nullptr) {
        client peer(options(), offer);
        session server(server_context, nullptr);
        EXPECT_EQ(run_handshake(peer, server), progress::done);
        EXPECT_EQ(server.resumed(), peer.resumed());
        std::string plain;
        peer.write("hello");
        EXPECT_EQ(receive_client_data(peer, server, plain), progress::done);
        EXPECT_EQ(plain, "hello");
        EXPECT_EQ(send_server_data(peer, server, "world"), "world");
        auto ticket = peer.tickets() > 0 ? bssl::UpRef(peer.ticket()) : nullptr;
        return {server.resumed(), std::move(ticket)};
    }

    std::shared_ptr<ticket_keys const> keys = ticket_keys::make();
    context first{ecdsa_identity(), keys, nullptr};
    context second{ecdsa_identity(), keys, nullptr};
};

TEST_P(resumption, with_the_same_context) {
    auto const full = connect(first);
    EXPECT_FALSE(full.resumed);
    ASSERT_NE(full.ticket, nullptr);
    EXPECT_LE(SSL_SESSION_get_timeout(full.ticket.get()), ticket_lifetime.count());
    EXPECT_TRUE(connect(first, full.ticket.get()).resumed);
}

// A client with Nagle's algorithm sends its request after its Finished is acknowledged, and the
// ticket acknowledges it at once. After a resumption in TLS 1.2 there is nothing to send.
TEST_P(resumption, is_offered_before_the_first_request) {
    auto const full = connect(first);
    for (bool const resumes : {false, true}) {
        client peer(options(), resumes ? full.ticket.get() : nullptr);
        session server(first, nullptr);
        ASSERT_EQ(run_handshake(peer, server), progress::done);
        ASSERT_EQ(peer.resumed(), resumes);
        int const tickets = GetParam() == TLS1_2_VERSION && resumes ? 0 : 1;
        EXPECT_EQ(peer.tickets(), tickets) << resumes;
        EXPECT_EQ(send_server_data(peer, server, "world"), "world");
        EXPECT_EQ(peer.tickets(), tickets) << "no second one " << resumes;
    }
}

TEST_P(resumption, with_another_workers_context) {
    auto const full = connect(first);
    ASSERT_NE(full.ticket, nullptr);
    EXPECT_TRUE(connect(second, full.ticket.get()).resumed);
}

TEST_P(resumption, not_with_other_keys) {
    auto const full = connect(first);
    context other(ecdsa_identity(), ticket_keys::make(), nullptr);
    auto const again = connect(other, full.ticket.get());
    EXPECT_FALSE(again.resumed);
    EXPECT_NE(again.ticket, nullptr);
}

TEST_P(resumption, survives_one_rotation_and_is_renewed) {
    auto const full = connect(first);
    auto const once = keys->rotated();
    second.use(once);
    auto const again = connect(second, full.ticket.get());
    EXPECT_TRUE(again.resumed);
    ASSERT_NE(again.ticket, nullptr);
    // The new ticket uses the new key: it survives the next rotation, the old one does not.
    auto const twice = once->rotated();
    first.use(twice);
    EXPECT_TRUE(connect(first, again.ticket.get()).resumed);
    EXPECT_FALSE(connect(first, full.ticket.get()).resumed);
}

TEST_P(resumption, a_changed_ticket_means_a_full_handshake) {
    auto const full = connect(first);
    std::uint8_t* bytes = nullptr;
    std::size_t size = 0;
    ASSERT_EQ(SSL_SESSION_to_bytes(full.ticket.get(), &bytes, &size), 1);
    std::string encoded(reinterpret_cast<char const*>(bytes), size);
    OPENSSL_free(bytes);
    // Within the ticket, between its key name and its MAC.
    std::string const name(reinterpret_cast<char const*>(keys->current.name.data()), 16);
    auto const offset = encoded.find(name);
    ASSERT_NE(offset, std::string::npos);
    encoded[offset + 40] = static_cast<char>(encoded[offset + 40] ^ 1);
    bssl::UniquePtr<SSL_CTX> any(SSL_CTX_new(TLS_method()));
    bssl::UniquePtr<SSL_SESSION> const changed(SSL_SESSION_from_bytes(
        reinterpret_cast<std::uint8_t const*>(encoded.data()), encoded.size(), any.get()));
    ASSERT_NE(changed, nullptr);
    EXPECT_FALSE(connect(first, changed.get()).resumed);
}

TEST_P(resumption, no_early_data) {
    auto const full = connect(first);
    EXPECT_EQ(SSL_SESSION_early_data_capable(full.ticket.get()), 0);
}

TEST(ticket_keys_rotation, makes_the_current_key_the_previous_one) {
    auto const initial = ticket_keys::make();
    auto const rotated = initial->rotated();
    EXPECT_EQ(rotated->previous.name, initial->current.name);
    EXPECT_EQ(rotated->previous.secret, initial->current.secret);
    EXPECT_NE(rotated->current.name, initial->current.name);
    EXPECT_NE(rotated->current.secret, initial->current.secret);
    EXPECT_NE(initial->previous.name, decltype(initial->previous.name){});
}

INSTANTIATE_TEST_SUITE_P(versions, resumption, ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](auto const& info) {
                             return info.param == TLS1_2_VERSION ? "tls_1_2" : "tls_1_3";
                         });

}  // namespace
}  // namespace latchkey::tls::testing
