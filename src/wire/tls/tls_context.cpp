#include "wire/tls/tls_context.hpp"

#include "base/check.hpp"
#include "wire/tls/native.hpp"

namespace latchkey::tls {

context::context(std::shared_ptr<identity const> certificate,
                 std::shared_ptr<ticket_keys const> tickets, signing_thread* signer,
                 bool offers_http2)
    : native_(std::make_shared<native_context>()) {
    base::check(certificate != nullptr && tickets != nullptr,
                "a TLS context without identity or tickets");
    auto& native = *native_;
    native.ssl = make_ssl_context(certificate->native(), certificate->rsa() && signer != nullptr);
    // tls::identity::load has set up a context of both already.
    base::check(native.ssl != nullptr, "a TLS context refused a checked identity");
    native.certificate = std::move(certificate);
    native.tickets = std::move(tickets);
    native.signer = signer;
    native.offers_http2 = offers_http2;
    native.bio = make_wire_bio(native.buffers);
    SSL_CTX_set_app_data(native.ssl.get(), &native);
}

context::~context() = default;

void context::use(std::shared_ptr<ticket_keys const> tickets) {
    base::check(tickets != nullptr, "a TLS context without ticket keys");
    native_->tickets = std::move(tickets);
}

void context::offer_http2(bool offers) {
    native_->offers_http2 = offers;
}

}  // namespace latchkey::tls
