#include "tls/session.hpp"

#include <gtest/gtest.h>
#include <openssl/aead.h>

#include <array>

#include "certificates.hpp"
#include "client.hpp"

namespace latchkey::tls::testing {
namespace {

constexpr client_options only_1_2{.newest = TLS1_2_VERSION};
constexpr client_options only_1_3{.oldest = TLS1_3_VERSION};

class tls_session : public ::testing::Test {
  protected:
    // The failure that the client saw, when there must be no session.
    std::string refused(client_options const& options) {
        client peer(options);
        session server(shared, nullptr);
        EXPECT_EQ(join(peer, server), progress::failed);
        EXPECT_FALSE(server.established());
        EXPECT_FALSE(server.reason().empty());
        std::string out;
        std::string_view in;
        EXPECT_EQ(server.handshake(in, out), progress::failed);
        server.close(out);
        EXPECT_EQ(out, "");
        return peer.failure();
    }

    context shared{ecdsa_identity(), ticket_keys::make(), nullptr};
};

std::string some_bytes(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
    return bytes;
}

TEST_F(tls_session, speaks_1_3_by_default) {
    client peer;
    session server(shared, nullptr);
    EXPECT_FALSE(server.established());
    ASSERT_EQ(join(peer, server), progress::done);
    EXPECT_TRUE(server.established());
    EXPECT_EQ(server.protocol(), "TLSv1.3");
    EXPECT_FALSE(server.resumed());

    std::string plain;
    peer.write("hello");
    EXPECT_EQ(deliver(peer, server, plain), progress::done);
    EXPECT_EQ(plain, "hello");
    EXPECT_EQ(answer(peer, server, "world"), "world");
}

TEST_F(tls_session, speaks_1_2_with_each_of_its_ciphers) {
    for (auto const* cipher : {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384",
                               "ECDHE-ECDSA-CHACHA20-POLY1305"}) {
        client peer({.newest = TLS1_2_VERSION, .ciphers = cipher});
        session server(shared, nullptr);
        ASSERT_EQ(join(peer, server), progress::done) << cipher;
        EXPECT_EQ(server.protocol(), "TLSv1.2");
        std::string plain;
        peer.write("hello");
        EXPECT_EQ(deliver(peer, server, plain), progress::done);
        EXPECT_EQ(plain, "hello");
        EXPECT_EQ(answer(peer, server, "world"), "world");
    }
}

TEST_F(tls_session, refuses_what_is_old_or_without_forward_secrecy) {
    EXPECT_EQ(refused({.oldest = TLS1_VERSION, .newest = TLS1_1_VERSION}),
              "TLSV1_ALERT_PROTOCOL_VERSION");
    // CBC, and RSA key exchange.
    for (auto const* cipher : {"ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA"})
        EXPECT_EQ(refused({.newest = TLS1_2_VERSION, .ciphers = cipher}),
                  "SSLV3_ALERT_HANDSHAKE_FAILURE");
    context rsa(rsa_identity(), ticket_keys::make(), nullptr);
    for (auto const* cipher : {"AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA"}) {
        client peer({.newest = TLS1_2_VERSION, .ciphers = cipher});
        session server(rsa, nullptr);
        EXPECT_EQ(join(peer, server), progress::failed) << cipher;
        EXPECT_EQ(server.reason(), "NO_SHARED_CIPHER");
        EXPECT_EQ(peer.failure(), "SSLV3_ALERT_HANDSHAKE_FAILURE");
    }
}

TEST_F(tls_session, selects_http_1_1_or_refuses) {
    using namespace std::string_literals;
    for (auto version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        auto const newest = static_cast<std::uint16_t>(version);
        for (auto const& offer : {"\x08http/1.1"s, "\x02h2\x08http/1.1"s}) {
            client peer({.newest = newest, .alpn = offer});
            session server(shared, nullptr);
            ASSERT_EQ(join(peer, server), progress::done);
            std::uint8_t const* chosen = nullptr;
            unsigned size = 0;
            SSL_get0_alpn_selected(peer.ssl(), &chosen, &size);
            EXPECT_EQ(std::string(reinterpret_cast<char const*>(chosen), size), "http/1.1");
        }
        for (auto const& offer : {"\x02h2"s, "\x07http/1.\x01x"s, "\x09http/1.1x"s})
            EXPECT_EQ(refused({.newest = newest, .alpn = offer}),
                      "TLSV1_ALERT_NO_APPLICATION_PROTOCOL");
    }
}

TEST_F(tls_session, takes_its_input_one_byte_at_a_time) {
    for (auto const& options : {only_1_2, only_1_3}) {
        client peer(options);
        session server(shared, nullptr);
        ASSERT_EQ(join(peer, server, 1), progress::done);
        EXPECT_EQ(server.buffered(), 0u);
        std::string plain;
        peer.write("one");
        peer.write("two");
        EXPECT_EQ(deliver(peer, server, plain, 1), progress::done);
        EXPECT_EQ(plain, "onetwo");
        EXPECT_EQ(answer(peer, server, "three"), "three");
    }
}

TEST_F(tls_session, takes_its_handshake_in_pieces_of_any_size) {
    for (auto const& options : {only_1_2, only_1_3}) {
        for (std::size_t piece = 2; piece < 400; ++piece) {
            client peer(options);
            session server(shared, nullptr);
            ASSERT_EQ(join(peer, server, piece), progress::done) << piece;
        }
    }
}

TEST_F(tls_session, takes_records_split_at_every_offset) {
    for (auto const& options : {only_1_2, only_1_3}) {
        client peer(options);
        session server(shared, nullptr);
        ASSERT_EQ(join(peer, server), progress::done);
        std::size_t size = 1;
        for (std::size_t cut = 0; cut <= size; ++cut) {
            peer.write("first");
            auto sent = peer.take();
            auto const first = sent.size();
            peer.write("second");
            sent += peer.take();
            size = sent.size();
            std::string_view head = std::string_view(sent).substr(0, cut);
            std::string_view tail = std::string_view(sent).substr(cut);
            std::string plain, out;
            auto const now = server.read(head, plain, out, SIZE_MAX);
            EXPECT_TRUE(head.empty());
            EXPECT_EQ(server.buffered(), cut == size ? 0 : cut < first ? cut : cut - first);
            EXPECT_EQ(now == progress::done, server.buffered() == 0) << cut;
            EXPECT_EQ(server.read(tail, plain, out, SIZE_MAX), progress::done);
            EXPECT_EQ(server.buffered(), 0u);
            EXPECT_EQ(plain, "firstsecond");
        }
    }
}

TEST_F(tls_session, what_follows_the_handshake_is_left_for_read) {
    client peer(only_1_3);
    session server(shared, nullptr);
    std::string out, plain;
    EXPECT_FALSE(peer.handshake());
    auto const hello = peer.take();
    std::string_view in = hello;
    EXPECT_EQ(server.handshake(in, out), progress::want_input);
    peer.feed(out);
    EXPECT_TRUE(peer.handshake());
    peer.write("at once");
    auto const rest = peer.take();
    in = rest;
    EXPECT_EQ(server.handshake(in, out), progress::done);
    EXPECT_FALSE(in.empty());
    EXPECT_EQ(server.read(in, plain, out, SIZE_MAX), progress::done);
    EXPECT_EQ(plain, "at once");
}

TEST_F(tls_session, carries_a_mebibyte_both_ways) {
    auto const bytes = some_bytes(1 << 20);
    for (auto const& options : {only_1_2, only_1_3}) {
        client peer(options);
        session server(shared, nullptr);
        ASSERT_EQ(join(peer, server), progress::done);
        std::string plain;
        peer.write(bytes);
        EXPECT_EQ(deliver(peer, server, plain, 4096), progress::done);
        EXPECT_EQ(plain, bytes);
        EXPECT_EQ(answer(peer, server, bytes), bytes);
    }
}

TEST_F(tls_session, stops_at_plain_max_and_keeps_nothing_inside) {
    auto const bytes = some_bytes(200'000);
    client peer;
    session server(shared, nullptr);
    ASSERT_EQ(join(peer, server), progress::done);
    peer.write(bytes);
    auto const sent = peer.take();
    std::string_view in = sent;
    std::string plain, out;
    int calls = 0;
    while (!in.empty()) {
        auto const before = plain.size();
        EXPECT_EQ(server.read(in, plain, out, 20'000), progress::done);
        EXPECT_LT(plain.size() - before, 20'000u + 16'384u);
        EXPECT_EQ(server.buffered(), 0u);
        ++calls;
    }
    EXPECT_GE(calls, 5);
    EXPECT_EQ(plain, bytes);
    auto const left = in.size();
    EXPECT_EQ(server.read(in, plain, out, 0), progress::done);
    EXPECT_EQ(in.size(), left);
}

TEST_F(tls_session, tells_of_the_clients_close_and_sends_its_own) {
    for (auto const& options : {only_1_2, only_1_3}) {
        client peer(options);
        session server(shared, nullptr);
        ASSERT_EQ(join(peer, server), progress::done);
        std::string plain, out;
        peer.write("last words");
        peer.close();
        EXPECT_EQ(deliver(peer, server, plain), progress::closed);
        EXPECT_EQ(plain, "last words");
        std::string_view in;
        EXPECT_EQ(server.read(in, plain, out, SIZE_MAX), progress::closed);
        EXPECT_EQ(out, "");
        EXPECT_EQ(server.write("answer", out), progress::done);
        server.close(out);
        auto const size = out.size();
        server.close(out);
        EXPECT_EQ(out.size(), size);
        peer.feed(out);
        EXPECT_EQ(peer.read(), "answer");
        EXPECT_TRUE(peer.got_close_notify());
    }
}

TEST_F(tls_session, closes_first) {
    client peer;
    session server(shared, nullptr);
    std::string out;
    server.close(out);
    EXPECT_EQ(out, "");
    ASSERT_EQ(join(peer, server), progress::done);
    server.close(out);
    peer.feed(out);
    EXPECT_EQ(peer.read(), "");
    EXPECT_TRUE(peer.got_close_notify());
    std::string plain;
    peer.write("still read");
    EXPECT_EQ(deliver(peer, server, plain), progress::done);
    EXPECT_EQ(plain, "still read");
}

TEST_F(tls_session, answers_garbage_with_an_alert) {
    for (std::string_view garbage :
         {std::string_view("rubbish that is no record"),
          std::string_view("\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", 10),
          std::string_view("\x17\x03\x03\x00\x05hello", 10)}) {
        session server(shared, nullptr);
        std::string out;
        auto in = garbage;
        EXPECT_EQ(server.handshake(in, out), progress::failed);
        EXPECT_FALSE(server.reason().empty());
        ASSERT_EQ(out.size(), 7u) << server.reason();
        EXPECT_EQ(out[0], 21);  // an alert
        EXPECT_EQ(out[5], 2);   // fatal
    }
}

TEST_F(tls_session, plain_http_is_refused_without_an_alert) {
    session server(shared, nullptr);
    std::string out;
    std::string_view in = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    EXPECT_EQ(server.handshake(in, out), progress::failed);
    EXPECT_EQ(server.reason(), "HTTP_REQUEST");
    EXPECT_EQ(out, "");
}

TEST_F(tls_session, a_changed_record_is_fatal) {
    client peer;
    session server(shared, nullptr);
    ASSERT_EQ(join(peer, server), progress::done);
    peer.write("good");
    peer.write("bad");
    auto sent = peer.take();
    sent.back() = static_cast<char>(sent.back() ^ 1);
    std::string_view in = sent;
    std::string plain, out;
    EXPECT_EQ(server.read(in, plain, out, SIZE_MAX), progress::failed);
    EXPECT_EQ(plain, "good");
    EXPECT_FALSE(out.empty());
    peer.feed(out);
    peer.read();
    EXPECT_EQ(peer.failure(), "SSLV3_ALERT_BAD_RECORD_MAC");
    out.clear();
    EXPECT_EQ(server.write("no", out), progress::failed);
    EXPECT_EQ(out, "");
}

TEST_F(tls_session, one_sessions_failure_leaves_the_others_alone) {
    client peer;
    session server(shared, nullptr);
    ASSERT_EQ(join(peer, server), progress::done);
    peer.write("hello");
    {
        session other(shared, nullptr);
        std::string out;
        std::string_view in = "not TLS at all";
        EXPECT_EQ(other.handshake(in, out), progress::failed);
    }
    std::string plain;
    EXPECT_EQ(deliver(peer, server, plain), progress::done);
    EXPECT_EQ(plain, "hello");
}

TEST_F(tls_session, answers_a_key_update_with_its_next_write) {
    client peer(only_1_3);
    session server(shared, nullptr);
    ASSERT_EQ(join(peer, server), progress::done);
    ASSERT_EQ(SSL_key_update(peer.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    peer.write("with new keys");
    std::string plain;
    EXPECT_EQ(deliver(peer, server, plain), progress::done);
    EXPECT_EQ(plain, "with new keys");
    EXPECT_EQ(answer(peer, server, "with new keys too"), "with new keys too");
    peer.write("again");
    EXPECT_EQ(deliver(peer, server, plain), progress::done);
}

TEST_F(tls_session, outlives_its_context) {
    auto brief = std::make_unique<context>(ecdsa_identity(), ticket_keys::make(), nullptr);
    client peer;
    session server(*brief, nullptr);
    brief.reset();
    ASSERT_EQ(join(peer, server), progress::done);
    EXPECT_EQ(answer(peer, server, "still here"), "still here");
}

// A handshake record in a TLS 1.2 session with AES-128-GCM (RFC 5246 §6.2.3.3, RFC 5288 §3), which
// BoringSSL's client would not send of itself.
std::string sealed_handshake_record(SSL* from, std::string_view message) {
    std::array<std::uint8_t, 40> block{};  // two keys of 16, two salts of 4
    EXPECT_EQ(SSL_get_key_block_len(from), block.size());
    EXPECT_EQ(SSL_generate_key_block(from, block.data(), block.size()), 1);
    std::array<std::uint8_t, 12> nonce{};
    std::copy_n(block.begin() + 32, 4, nonce.begin());
    auto const sequence = SSL_get_write_sequence(from);
    std::array<std::uint8_t, 13> additional{};
    for (std::size_t i = 0; i < 8; ++i)
        additional[i] = nonce[4 + i] = static_cast<std::uint8_t>(sequence >> (56 - 8 * i));
    additional[8] = SSL3_RT_HANDSHAKE;
    additional[9] = additional[10] = 3;
    additional[12] = static_cast<std::uint8_t>(message.size());

    bssl::ScopedEVP_AEAD_CTX aead;
    EVP_AEAD_CTX_init(aead.get(), EVP_aead_aes_128_gcm(), block.data(), 16, 16, nullptr);
    std::array<std::uint8_t, 256> sealed{};
    std::size_t size = 0;
    EXPECT_EQ(EVP_AEAD_CTX_seal(aead.get(), sealed.data(), &size, sealed.size(), nonce.data(),
                                nonce.size(), reinterpret_cast<std::uint8_t const*>(message.data()),
                                message.size(), additional.data(), additional.size()),
              1);
    std::string record("\x16\x03\x03\x00", 4);
    record.push_back(static_cast<char>(8 + size));
    record.append(reinterpret_cast<char const*>(nonce.data() + 4), 8);
    return record.append(reinterpret_cast<char const*>(sealed.data()), size);
}

TEST_F(tls_session, refuses_renegotiation) {
    client peer({.newest = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"});
    session server(shared, nullptr);
    ASSERT_EQ(join(peer, server), progress::done);
    // The beginning of a ClientHello is enough.
    std::string const hello("\x01\x00\x00\x02\x03\x03", 6);
    auto const record = sealed_handshake_record(peer.ssl(), hello);
    std::string_view in = record;
    std::string plain, out;
    EXPECT_EQ(server.read(in, plain, out, SIZE_MAX), progress::failed);
    EXPECT_EQ(server.reason(), "NO_RENEGOTIATION");
    peer.feed(out);
    peer.read();
    EXPECT_EQ(peer.failure(), "TLSV1_ALERT_NO_RENEGOTIATION");
}

}  // namespace
}  // namespace latchkey::tls::testing
