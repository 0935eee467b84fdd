#include "wire/tls/session.hpp"

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
    // Expects no session; returns the client's error.
    std::string expect_refusal(client_options const& options) {
        client peer(options);
        session server(shared, nullptr);
        EXPECT_EQ(run_handshake(peer, server), progress::failed);
        EXPECT_FALSE(server.established());
        EXPECT_FALSE(server.reason().empty());
        std::string output;
        std::string_view input;
        EXPECT_EQ(server.handshake(input, output), progress::failed);
        server.close(output);
        EXPECT_EQ(output, "");
        return peer.failure();
    }

    context shared{ecdsa_identity(), ticket_keys::make(), nullptr};
};

std::string pattern_bytes(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
    return bytes;
}

TEST_F(tls_session, speaks_1_3_by_default) {
    client peer;
    session server(shared, nullptr);
    EXPECT_FALSE(server.established());
    ASSERT_EQ(run_handshake(peer, server), progress::done);
    EXPECT_TRUE(server.established());
    EXPECT_EQ(server.protocol(), "TLSv1.3");
    EXPECT_FALSE(server.resumed());

    std::string plain;
    peer.write("hello");
    EXPECT_EQ(receive_client_data(peer, server, plain), progress::done);
    EXPECT_EQ(plain, "hello");
    EXPECT_EQ(send_server_data(peer, server, "world"), "world");
}

TEST_F(tls_session, speaks_1_2_with_each_of_its_ciphers) {
    for (auto const* cipher : {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384",
                               "ECDHE-ECDSA-CHACHA20-POLY1305"}) {
        client peer({.newest = TLS1_2_VERSION, .ciphers = cipher});
        session server(shared, nullptr);
        ASSERT_EQ(run_handshake(peer, server), progress::done) << cipher;
        EXPECT_EQ(server.protocol(), "TLSv1.2");
        std::string plain;
        peer.write("hello");
        EXPECT_EQ(receive_client_data(peer, server, plain), progress::done);
        EXPECT_EQ(plain, "hello");
        EXPECT_EQ(send_server_data(peer, server, "world"), "world");
    }
}

// RFC 8446 App. D.5. The bytes after the headers of record and message are legacy_version.
TEST_F(tls_session, refuses_a_hello_that_says_ssl_3) {
    constexpr std::size_t version_offset = 5 + 4;
    for (auto const& options : {only_1_2, only_1_3, client_options{}})
        for (unsigned const version :
             {0x0000u, 0x0002u, 0x0200u, 0x02ffu, 0x0300u, 0x0301u, 0x0304u}) {
            client peer(options);
            session server(shared, nullptr);
            peer.handshake();
            auto hello = peer.take();
            ASSERT_EQ(hello.substr(version_offset, 2), "\x03\x03");
            hello[version_offset] = static_cast<char>(version >> 8);
            hello[version_offset + 1] = static_cast<char>(version & 0xff);
            std::string_view input = hello;
            std::string output;
            auto const step = server.handshake(input, output);
            if (version > 0x0300) {
                // Without supported_versions the field is the offer.
                bool const older = options.newest == TLS1_2_VERSION && version < TLS1_2_VERSION;
                EXPECT_EQ(step, older ? progress::failed : progress::want_input) << version;
                continue;
            }
            EXPECT_EQ(step, progress::failed) << version;
            // A fatal protocol_version, and nothing else.
            ASSERT_EQ(output.size(), 7u) << version;
            EXPECT_EQ(output[0], 21) << version;
            EXPECT_EQ(output.substr(3), std::string("\0\2\2\x46", 4)) << version;
            EXPECT_FALSE(server.reason().empty());
        }
}

TEST_F(tls_session, refuses_old_versions_and_ciphers_without_forward_secrecy) {
    EXPECT_EQ(expect_refusal({.oldest = TLS1_VERSION, .newest = TLS1_1_VERSION}),
              "TLSV1_ALERT_PROTOCOL_VERSION");
    // CBC, and RSA key exchange.
    for (auto const* cipher : {"ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA"})
        EXPECT_EQ(expect_refusal({.newest = TLS1_2_VERSION, .ciphers = cipher}),
                  "SSLV3_ALERT_HANDSHAKE_FAILURE");
    context rsa(rsa_identity(), ticket_keys::make(), nullptr);
    for (auto const* cipher : {"AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA"}) {
        client peer({.newest = TLS1_2_VERSION, .ciphers = cipher});
        session server(rsa, nullptr);
        EXPECT_EQ(run_handshake(peer, server), progress::failed) << cipher;
        EXPECT_EQ(server.reason(), "NO_SHARED_CIPHER");
        EXPECT_EQ(peer.failure(), "SSLV3_ALERT_HANDSHAKE_FAILURE");
    }
}

TEST_F(tls_session, selects_http_2_where_it_is_offered_by_both) {
    using namespace std::string_literals;
    context offering(ecdsa_identity(), ticket_keys::make(), nullptr, true);
    auto const selects_http2 = [&](std::string const& offer) {
        client peer({.alpn = offer});
        session server(offering, nullptr);
        EXPECT_EQ(run_handshake(peer, server), progress::done);
        return server.selected_http2();
    };
    EXPECT_TRUE(selects_http2("\x02h2"s));
    EXPECT_TRUE(selects_http2("\x08http/1.1\x02h2"s)) << "the server's order decides";
    EXPECT_FALSE(selects_http2("\x08http/1.1"s));
    EXPECT_FALSE(selects_http2(""s)) << "without an offer it is HTTP/1.1";
    offering.offer_http2(false);
    EXPECT_FALSE(selects_http2("\x02h2\x08http/1.1"s));
}

TEST_F(tls_session, selects_http_1_1_or_refuses) {
    using namespace std::string_literals;
    for (auto version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        auto const newest = static_cast<std::uint16_t>(version);
        for (auto const& offer : {"\x08http/1.1"s, "\x02h2\x08http/1.1"s}) {
            client peer({.newest = newest, .alpn = offer});
            session server(shared, nullptr);
            ASSERT_EQ(run_handshake(peer, server), progress::done);
            std::uint8_t const* selection = nullptr;
            unsigned size = 0;
            SSL_get0_alpn_selected(peer.ssl(), &selection, &size);
            EXPECT_EQ(std::string(reinterpret_cast<char const*>(selection), size), "http/1.1");
        }
        for (auto const& offer : {"\x02h2"s, "\x07http/1.\x01x"s, "\x09http/1.1x"s})
            EXPECT_EQ(expect_refusal({.newest = newest, .alpn = offer}),
                      "TLSV1_ALERT_NO_APPLICATION_PROTOCOL");
    }
}

TEST_F(tls_session, accepts_input_byte_by_byte) {
    for (auto const& options : {only_1_2, only_1_3}) {
        client peer(options);
        session server(shared, nullptr);
        ASSERT_EQ(run_handshake(peer, server, 1), progress::done);
        EXPECT_EQ(server.buffered(), 0u);
        std::string plain;
        peer.write("one");
        peer.write("two");
        EXPECT_EQ(receive_client_data(peer, server, plain, 1), progress::done);
        EXPECT_EQ(plain, "onetwo");
        EXPECT_EQ(send_server_data(peer, server, "three"), "three");
    }
}

TEST_F(tls_session, accepts_the_handshake_in_pieces_of_any_size) {
    for (auto const& options : {only_1_2, only_1_3}) {
        for (std::size_t piece = 2; piece < 400; ++piece) {
            client peer(options);
            session server(shared, nullptr);
            ASSERT_EQ(run_handshake(peer, server, piece), progress::done) << piece;
        }
    }
}

TEST_F(tls_session, accepts_records_split_at_every_offset) {
    for (auto const& options : {only_1_2, only_1_3}) {
        client peer(options);
        session server(shared, nullptr);
        ASSERT_EQ(run_handshake(peer, server), progress::done);
        std::size_t size = 1;
        for (std::size_t cut = 0; cut <= size; ++cut) {
            peer.write("first");
            auto records = peer.take();
            auto const first = records.size();
            peer.write("second");
            records += peer.take();
            size = records.size();
            std::string_view head = std::string_view(records).substr(0, cut);
            std::string_view tail = std::string_view(records).substr(cut);
            std::string plain, output;
            auto const result = server.read(head, plain, output, SIZE_MAX);
            EXPECT_TRUE(head.empty());
            EXPECT_EQ(server.buffered(), cut == size ? 0 : cut < first ? cut : cut - first);
            EXPECT_EQ(result == progress::done, server.buffered() == 0) << cut;
            EXPECT_EQ(server.read(tail, plain, output, SIZE_MAX), progress::done);
            EXPECT_EQ(server.buffered(), 0u);
            EXPECT_EQ(plain, "firstsecond");
        }
    }
}

TEST_F(tls_session, leaves_data_after_the_handshake_for_read) {
    client peer(only_1_3);
    session server(shared, nullptr);
    std::string output, plain;
    EXPECT_FALSE(peer.handshake());
    auto const hello = peer.take();
    std::string_view input = hello;
    EXPECT_EQ(server.handshake(input, output), progress::want_input);
    peer.feed(output);
    EXPECT_TRUE(peer.handshake());
    peer.write("at once");
    auto const rest = peer.take();
    input = rest;
    EXPECT_EQ(server.handshake(input, output), progress::done);
    EXPECT_FALSE(input.empty());
    EXPECT_EQ(server.read(input, plain, output, SIZE_MAX), progress::done);
    EXPECT_EQ(plain, "at once");
}

TEST_F(tls_session, carries_a_mebibyte_both_ways) {
    auto const bytes = pattern_bytes(1 << 20);
    for (auto const& options : {only_1_2, only_1_3}) {
        client peer(options);
        session server(shared, nullptr);
        ASSERT_EQ(run_handshake(peer, server), progress::done);
        std::string plain;
        peer.write(bytes);
        EXPECT_EQ(receive_client_data(peer, server, plain, 4096), progress::done);
        EXPECT_EQ(plain, bytes);
        EXPECT_EQ(send_server_data(peer, server, bytes), bytes);
    }
}

TEST_F(tls_session, stops_at_plain_max_and_buffers_nothing) {
    auto const bytes = pattern_bytes(200'000);
    client peer;
    session server(shared, nullptr);
    ASSERT_EQ(run_handshake(peer, server), progress::done);
    peer.write(bytes);
    auto const records = peer.take();
    std::string_view input = records;
    std::string plain, output;
    int calls = 0;
    while (!input.empty()) {
        auto const initial_size = plain.size();
        EXPECT_EQ(server.read(input, plain, output, 20'000), progress::done);
        EXPECT_LT(plain.size() - initial_size, 20'000u + 16'384u);
        EXPECT_EQ(server.buffered(), 0u);
        ++calls;
    }
    EXPECT_GE(calls, 5);
    EXPECT_EQ(plain, bytes);
    auto const remaining = input.size();
    EXPECT_EQ(server.read(input, plain, output, 0), progress::done);
    EXPECT_EQ(input.size(), remaining);
}

TEST_F(tls_session, reports_the_clients_close_and_sends_its_own) {
    for (auto const& options : {only_1_2, only_1_3}) {
        client peer(options);
        session server(shared, nullptr);
        ASSERT_EQ(run_handshake(peer, server), progress::done);
        std::string plain, output;
        peer.write("last words");
        peer.close();
        EXPECT_EQ(receive_client_data(peer, server, plain), progress::closed);
        EXPECT_EQ(plain, "last words");
        std::string_view input;
        EXPECT_EQ(server.read(input, plain, output, SIZE_MAX), progress::closed);
        EXPECT_EQ(output, "");
        EXPECT_EQ(server.write("answer", output), progress::done);
        server.close(output);
        auto const size = output.size();
        server.close(output);
        EXPECT_EQ(output.size(), size);
        peer.feed(output);
        EXPECT_EQ(peer.read(), "answer");
        EXPECT_TRUE(peer.received_close_notify());
    }
}

TEST_F(tls_session, closes_first) {
    client peer;
    session server(shared, nullptr);
    std::string output;
    server.close(output);
    EXPECT_EQ(output, "");
    ASSERT_EQ(run_handshake(peer, server), progress::done);
    server.close(output);
    peer.feed(output);
    EXPECT_EQ(peer.read(), "");
    EXPECT_TRUE(peer.received_close_notify());
    std::string plain;
    peer.write("still read");
    EXPECT_EQ(receive_client_data(peer, server, plain), progress::done);
    EXPECT_EQ(plain, "still read");
}

TEST_F(tls_session, answers_garbage_with_an_alert) {
    for (std::string_view garbage :
         {std::string_view("rubbish that is no record"),
          std::string_view("\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", 10),
          std::string_view("\x17\x03\x03\x00\x05hello", 10)}) {
        session server(shared, nullptr);
        std::string output;
        auto input = garbage;
        EXPECT_EQ(server.handshake(input, output), progress::failed);
        EXPECT_FALSE(server.reason().empty());
        ASSERT_EQ(output.size(), 7u) << server.reason();
        EXPECT_EQ(output[0], 21);  // an alert
        EXPECT_EQ(output[5], 2);   // fatal
    }
}

TEST_F(tls_session, plain_http_is_refused_without_an_alert) {
    session server(shared, nullptr);
    std::string output;
    std::string_view input = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    EXPECT_EQ(server.handshake(input, output), progress::failed);
    EXPECT_EQ(server.reason(), "HTTP_REQUEST");
    EXPECT_EQ(output, "");
}

TEST_F(tls_session, a_changed_record_is_fatal) {
    client peer;
    session server(shared, nullptr);
    ASSERT_EQ(run_handshake(peer, server), progress::done);
    peer.write("good");
    peer.write("bad");
    auto records = peer.take();
    records.back() = static_cast<char>(records.back() ^ 1);
    std::string_view input = records;
    std::string plain, output;
    EXPECT_EQ(server.read(input, plain, output, SIZE_MAX), progress::failed);
    EXPECT_EQ(plain, "good");
    EXPECT_FALSE(output.empty());
    peer.feed(output);
    peer.read();
    EXPECT_EQ(peer.failure(), "SSLV3_ALERT_BAD_RECORD_MAC");
    output.clear();
    EXPECT_EQ(server.write("no", output), progress::failed);
    EXPECT_EQ(output, "");
}

TEST_F(tls_session, one_sessions_failure_leaves_the_others_alone) {
    client peer;
    session server(shared, nullptr);
    ASSERT_EQ(run_handshake(peer, server), progress::done);
    peer.write("hello");
    {
        session other(shared, nullptr);
        std::string output;
        std::string_view input = "not TLS at all";
        EXPECT_EQ(other.handshake(input, output), progress::failed);
    }
    std::string plain;
    EXPECT_EQ(receive_client_data(peer, server, plain), progress::done);
    EXPECT_EQ(plain, "hello");
}

TEST_F(tls_session, answers_a_key_update_with_its_next_write) {
    client peer(only_1_3);
    session server(shared, nullptr);
    ASSERT_EQ(run_handshake(peer, server), progress::done);
    ASSERT_EQ(SSL_key_update(peer.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    peer.write("with new keys");
    std::string plain;
    EXPECT_EQ(receive_client_data(peer, server, plain), progress::done);
    EXPECT_EQ(plain, "with new keys");
    EXPECT_EQ(send_server_data(peer, server, "with new keys too"), "with new keys too");
    peer.write("again");
    EXPECT_EQ(receive_client_data(peer, server, plain), progress::done);
}

TEST_F(tls_session, tells_what_it_holds_of_the_input) {
    client peer(only_1_3);
    session server(shared, nullptr);
    std::string plain, output;
    EXPECT_FALSE(peer.handshake());
    auto const hello = peer.take();
    auto input = std::string_view(hello).substr(0, hello.size() / 2);
    EXPECT_EQ(server.handshake(input, output), progress::want_input);
    EXPECT_GE(server.held_bytes(), hello.size());
    input = std::string_view(hello).substr(hello.size() / 2);
    EXPECT_EQ(server.handshake(input, output), progress::want_input);
    EXPECT_GE(server.held_bytes(), hello.size());
    peer.feed(output);
    ASSERT_EQ(run_handshake(peer, server), progress::done);
    EXPECT_EQ(server.held_bytes(), 0u);

    peer.write(std::string(16'000, 'a'));
    auto const record = peer.take();
    input = std::string_view(record).substr(0, 6);
    EXPECT_EQ(server.read(input, plain, output, SIZE_MAX), progress::want_input);
    EXPECT_EQ(server.held_bytes(), record.size());
    input = std::string_view(record).substr(6);
    EXPECT_EQ(server.read(input, plain, output, SIZE_MAX), progress::done);
    EXPECT_EQ(server.held_bytes(), 0u);
}

// The client updates its keys so often, each time after so many records.
progress update_often(client& peer, session& server, int updates, int records) {
    auto last = progress::done;
    for (int i = 0; i < updates && last == progress::done; ++i) {
        EXPECT_EQ(SSL_key_update(peer.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        for (int record = 0; record < records; ++record) peer.write("a");
        std::string plain;
        last = receive_client_data(peer, server, plain);
        EXPECT_EQ(plain.size(), static_cast<std::size_t>(records));
    }
    return last;
}

TEST_F(tls_session, ends_with_too_many_early_key_updates) {
    client peer(only_1_3);
    session server(shared, nullptr);
    ASSERT_EQ(run_handshake(peer, server), progress::done);
    std::string plain;
    peer.write("a");
    EXPECT_EQ(receive_client_data(peer, server, plain), progress::done);
    EXPECT_EQ(update_often(peer, server, 32, 1), progress::done);
    EXPECT_EQ(update_often(peer, server, 32, 2), progress::done);
    EXPECT_EQ(update_often(peer, server, 1, 1), progress::failed);
    EXPECT_EQ(server.reason(), "TOO_MANY_KEY_UPDATES");
}

TEST_F(tls_session, goes_on_with_late_key_updates) {
    client peer(only_1_3);
    session server(shared, nullptr);
    ASSERT_EQ(run_handshake(peer, server), progress::done);
    EXPECT_EQ(update_often(peer, server, 70, 1024), progress::done);
    EXPECT_EQ(update_often(peer, server, 1, 1), progress::done);
}

TEST_F(tls_session, outlives_its_context) {
    auto short_lived = std::make_unique<context>(ecdsa_identity(), ticket_keys::make(), nullptr);
    client peer;
    session server(*short_lived, nullptr);
    short_lived.reset();
    ASSERT_EQ(run_handshake(peer, server), progress::done);
    EXPECT_EQ(send_server_data(peer, server, "still here"), "still here");
}

// A handshake record in a TLS 1.2 session with AES-128-GCM (RFC 5246 §6.2.3.3, RFC 5288 §3), which
// BoringSSL's client does not send by itself.
std::string sealed_handshake_record(SSL* ssl, std::string_view message) {
    std::array<std::uint8_t, 40> block{};  // two keys of 16, two salts of 4
    EXPECT_EQ(SSL_get_key_block_len(ssl), block.size());
    EXPECT_EQ(SSL_generate_key_block(ssl, block.data(), block.size()), 1);
    std::array<std::uint8_t, 12> nonce{};
    std::copy_n(block.begin() + 32, 4, nonce.begin());
    auto const sequence = SSL_get_write_sequence(ssl);
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
    ASSERT_EQ(run_handshake(peer, server), progress::done);
    // The beginning of a ClientHello is enough.
    std::string const hello("\x01\x00\x00\x02\x03\x03", 6);
    auto const record = sealed_handshake_record(peer.ssl(), hello);
    std::string_view input = record;
    std::string plain, output;
    EXPECT_EQ(server.read(input, plain, output, SIZE_MAX), progress::failed);
    EXPECT_EQ(server.reason(), "NO_RENEGOTIATION");
    peer.feed(output);
    peer.read();
    EXPECT_EQ(peer.failure(), "TLSV1_ALERT_NO_RENEGOTIATION");
}

}  // namespace
}  // namespace latchkey::tls::testing
