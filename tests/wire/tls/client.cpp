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
    SSL_CTX_sess_set_new_cb(context, [](SSL* ssl, SSL_SESSION* ticket) {
        auto* const self = static_cast<client*>(SSL_get_app_data(ssl));
        self->ticket_.reset(ticket);
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

void client::record_result(int result) {
    auto const error_code = SSL_get_error(ssl(), result);
    if (error_code == SSL_ERROR_ZERO_RETURN) {
        closed_ = true;
    } else if (error_code == SSL_ERROR_SSL || error_code == SSL_ERROR_SYSCALL) {
        auto const* const reason = ERR_reason_error_string(ERR_peek_error());
        failure_ = reason != nullptr ? reason : "unknown";
    }
}

bool client::handshake() {
    ERR_clear_error();
    int const result = SSL_do_handshake(ssl());
    if (result != 1) record_result(result);
    return result == 1;
}

void client::feed(std::string_view bytes) {
    BIO_write(SSL_get_rbio(ssl()), bytes.data(), static_cast<int>(bytes.size()));
}

std::string client::take() {
    std::uint8_t const* bytes = nullptr;
    std::size_t size = 0;
    BIO_mem_contents(SSL_get_wbio(ssl()), &bytes, &size);
    std::string output(reinterpret_cast<char const*>(bytes), size);
    BIO_reset(SSL_get_wbio(ssl()));
    return output;
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
    int size = 0;
    while ((size = SSL_read(ssl(), part, sizeof part)) > 0)
        all.append(part, static_cast<std::size_t>(size));
    record_result(size);
    return all;
}

progress run_handshake(client& peer, session& server, std::size_t piece) {
    std::string input, output;
    auto result = progress::want_input;
    bool peer_done = false;
    while (!peer_done || result != progress::done) {
        if (!peer_done) peer_done = peer.handshake();
        input += peer.take();
        bool const input_empty = input.empty();
        std::string_view rest = input;
        do {
            auto part = piece == 0 ? rest : rest.substr(0, piece);
            auto const offered = part.size();
            result = server.handshake(part, output);
            rest.remove_prefix(offered - part.size());
        } while (result == progress::want_input && !rest.empty());
        input.erase(0, input.size() - rest.size());
        bool const output_empty = output.empty();
        peer.feed(output);
        output.clear();
        if (result == progress::failed || result == progress::waiting) break;
        if (!peer.failure().empty() || (input_empty && output_empty)) break;
    }
    // Processes alerts, tickets and data of the last flight.
    if (result == progress::failed) peer.handshake();
    if (result == progress::done && peer_done) EXPECT_EQ(peer.read(), "");
    return result;
}

progress receive_client_data(client& peer, session& server, std::string& plain, std::size_t piece) {
    auto const input = peer.take();
    std::string_view rest = input;
    std::string output;
    auto result = progress::want_input;
    do {
        auto part = piece == 0 ? rest : rest.substr(0, piece);
        auto const offered = part.size();
        result = server.read(part, plain, output, SIZE_MAX);
        rest.remove_prefix(offered - part.size());
    } while (!rest.empty() && (result == progress::done || result == progress::want_input));
    peer.feed(output);
    return result;
}

std::string send_server_data(client& peer, session& server, std::string_view plain) {
    std::string output;
    EXPECT_EQ(server.write(plain, output), progress::done);
    peer.feed(output);
    return peer.read();
}

}  // namespace latchkey::tls::testing
