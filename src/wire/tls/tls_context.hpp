// The state that the TLS sessions of one worker share: certificate chain and key, protocol rules
// (TLS 1.3 and 1.2, forward secrecy only, ALPN, no early data, no renegotiation), session ticket
// keys.
#pragma once

#include <memory>

#include "wire/tls/certificate_chain.hpp"
#include "wire/tls/signing.hpp"
#include "wire/tls/ticket_keys.hpp"

namespace latchkey::tls {

struct native_context;

// Belongs to one worker's thread, with its sessions. A session keeps what it needs alive, so a
// context may be destroyed (by a reload) before its sessions; the signing thread must outlive both.
class context {
  public:
    // `signer` may be null: then RSA signatures are made on the calling thread. Without
    // `offers_http2` ALPN knows HTTP/1.1 alone.
    context(std::shared_ptr<identity const> certificate, std::shared_ptr<ticket_keys const> tickets,
            signing_thread* signer, bool offers_http2 = false);
    ~context();
    context(context const&) = delete;
    context& operator=(context const&) = delete;

    // Replaces the keys of new tickets. Call it between two calls on any session.
    void use(std::shared_ptr<ticket_keys const> tickets);
    // Whether clients of later handshakes are offered HTTP/2. Call it likewise.
    void offer_http2(bool offers);

  private:
    friend class session;
    std::shared_ptr<native_context> native_;
};

}  // namespace latchkey::tls
