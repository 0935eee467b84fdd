#include "client.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace latchkey::tls::testing {

client::client(client_options const& options, SSL_SESSION* resume)
    : context_(SSL_CTX_new(TLS_method())) {
    auto* const context = context_.get();
    SSL_CTX_set_min_proto_version(context, options.oldest);
    SSL_CTX_set_max_proto_version(context, options.newest);
    if (options.ciphers != nullptr)
        EXPECT_EQ(SSL_CTX_set_strict_cipher_list(context, options.ciphers), 1);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, [](SSL* ssl, SSL_SESSION* made) {
        auto* const self = static_cast<client*>(SSL_get_app_data(ssl));
        self->ticket_.reset(made);
        ++self->tickets_;
        return 1;
    });
    ssl_.reset(SSL_new(context));
    SSL_set_app_data(ssl(), this);
    SSL_set_connect_state(ssl());
    SSL_set0_rbio(ssl(), BIO_new(BIO_s_mem()));
    SSL_set0_wbio(ssl(), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(ssl()), -1);
    if (!options.alpn.empty())
        SSL_set_alpn_protos(ssl(), reinterpret_cast<std::uint8_t const*>(options.alpn.data()),
                            static_cast<unsigned>(options.alpn.size()));
    if (resume != nullptr) SSL_set_session(ssl(), resume);
}

void client::note(int result) {
    auto const why = SSL_get_error(ssl(), result);
    if (why == SSL_ERROR_ZERO_RETURN) {
        closed_ = true;
    } else if (why == SSL_ERROR_SSL || why == SSL_ERROR_SYSCALL) {
        auto const* const reason = ERR_reason_error_string(ERR_peek_error());
        failure_ = reason != nullptr ? reason : "unknown";
    }
}

bool client::handshake() {
    ERR_clear_error();
    int const result = SSL_do_handshake(ssl());
    if (result != 1) note(result);
    return result == 1;
}

void client::feed(std::string_view bytes) {
    BIO_write(SSL_get_rbio(ssl()), bytes.data(), static_cast<int>(bytes.size()));
}

std::string client::take() {
    std::uint8_t const* bytes = nullptr;
    std::size_t size = 0;
    BIO_mem_contents(SSL_get_wbio(ssl()), &bytes, &size);
    std::string taken(reinterpret_cast<char const*>(bytes), size);
    BIO_reset(SSL_get_wbio(ssl()));
    return taken;
}

void client::write(std::string_view plain) {
    ERR_clear_error();
    while (!plain.empty()) {
        auto const part = plain.substr(0, std::size_t{16} * 1024);
        ASSERT_EQ(SSL_write(ssl(), part.data(), static_cast<int>(part.size())),
                  static_cast<int>(part.size()));
        plain.remove_prefix(part.size());
    }
}

std::string client::read() {
    ERR_clear_error();
    std::string all;
    char part[16 * 1024];
    int got = 0;
    while ((got = SSL_read(ssl(), part, sizeof part)) > 0)
        all.append(part, static_cast<std::size_t>(got));
    note(got);
    return all;
}

progress join(client& peer, session& server, std::size_t piece) {
    std::string in, out;
    auto now = progress::want_input;
    bool peer_done = false;
    while (!peer_done || now != progress::done) {
        if (!peer_done) peer_done = peer.handshake();
        in += peer.take();
        bool const nothing = in.empty();
        std::string_view left = in;
        do {
            auto part = piece == 0 ? left : left.substr(0, piece);
            auto const offered = part.size();
            now = server.handshake(part, out);
            left.remove_prefix(offered - part.size());
        } while (now == progress::want_input && !left.empty());
        in.erase(0, in.size() - left.size());
        bool const silent = out.empty();
        peer.feed(out);
        out.clear();
        if (now == progress::failed || now == progress::waiting) break;
        if (!peer.failure().empty() || (nothing && silent)) break;
    }
    // Alerts, tickets, and what came with the last flight.
    if (now == progress::failed) peer.handshake();
    if (now == progress::done && peer_done) EXPECT_EQ(peer.read(), "");
    return now;
}

progress deliver(client& peer, session& server, std::string& plain, std::size_t piece) {
    auto const sent = peer.take();
    std::string_view left = sent;
    std::string out;
    auto now = progress::want_input;
    do {
        auto part = piece == 0 ? left : left.substr(0, piece);
        auto const offered = part.size();
        now = server.read(part, plain, out, SIZE_MAX);
        left.remove_prefix(offered - part.size());
    } while (!left.empty() && (now == progress::done || now == progress::want_input));
    peer.feed(out);
    return now;
}

std::string answer(client& peer, session& server, std::string_view plain) {
    std::string out;
    EXPECT_EQ(server.write(plain, out), progress::done);
    peer.feed(out);
    return peer.read();
}

}  // namespace latchkey::tls::testing
