#include "tls_client.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>

#include <array>
#include <stdexcept>

namespace load {

tls_context::tls_context(std::uint16_t version_max, bool http2)
    : context_(SSL_CTX_new(TLS_method())) {
    if (!context_) throw std::runtime_error("no TLS context");
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_max_proto_version(context_.get(), version_max);
    constexpr std::array<std::uint8_t, 3> h2{2, 'h', '2'};
    if (http2) SSL_CTX_set_alpn_protos(context_.get(), h2.data(), h2.size());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_session_cache_mode(context_.get(),
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context_.get(), [](SSL* ssl, SSL_SESSION* ticket) {
        static_cast<tls_client*>(SSL_get_app_data(ssl))->ticket_.reset(ticket);
        return 1;  // takes ownership
    });
}

tls_client::tls_client(tls_context const& context, SSL_SESSION* resume)
    : session_(SSL_new(context.native())) {
    SSL_set_app_data(session_.get(), this);
    SSL_set_connect_state(session_.get());
    SSL_set_tlsext_host_name(session_.get(), "localhost");
    SSL_set_bio(session_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    if (resume != nullptr) SSL_set_session(session_.get(), resume);
}

bool tls_client::receive(std::string_view bytes, std::string& plain, std::string& wire) {
    ERR_clear_error();
    if (BIO_write(SSL_get_rbio(session_.get()), bytes.data(), static_cast<int>(bytes.size())) < 0)
        return false;
    if (!ready()) {
        int const code = SSL_do_handshake(session_.get());
        drain(wire);
        if (code != 1) return SSL_get_error(session_.get(), code) == SSL_ERROR_WANT_READ;
    }
    for (;;) {
        char record[16384];  // not in `plain`, which would be filled with zeros first
        int const count = SSL_read(session_.get(), record, sizeof record);
        if (count > 0) {
            plain.append(record, static_cast<std::size_t>(count));
            continue;
        }
        auto const error_code = SSL_get_error(session_.get(), count);
        drain(wire);
        return error_code == SSL_ERROR_WANT_READ || error_code == SSL_ERROR_ZERO_RETURN;
    }
}

bool tls_client::send(std::string_view plain, std::string& wire) {
    ERR_clear_error();
    if (!ready()) {
        int const code = SSL_do_handshake(session_.get());
        drain(wire);
        return code == 1 || SSL_get_error(session_.get(), code) == SSL_ERROR_WANT_READ;
    }
    while (!plain.empty()) {
        auto const size = std::min<std::size_t>(plain.size(), 16384);
        if (SSL_write(session_.get(), plain.data(), static_cast<int>(size)) <= 0) return false;
        plain.remove_prefix(size);
    }
    drain(wire);
    return true;
}

std::string_view tls_client::protocol() const {
    std::uint8_t const* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(session_.get(), &name, &size);
    return {reinterpret_cast<char const*>(name), size};
}

void tls_client::drain(std::string& wire) {
    std::uint8_t const* bytes = nullptr;
    std::size_t size = 0;
    auto* const out = SSL_get_wbio(session_.get());
    if (BIO_mem_contents(out, &bytes, &size) != 1) return;
    wire.append(reinterpret_cast<char const*>(bytes), size);
    BIO_reset(out);
}

}  // namespace load
