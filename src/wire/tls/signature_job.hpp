// One signature: the request of a session, its computation on the signing thread, and the result.
// Shared by both threads; all mutable state is under its mutex (signing.hpp).
#pragma once

#include <openssl/evp.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "wire/tls/signature_waiter.hpp"

namespace latchkey::tls {

class signature_job {
  public:
    // `waiter` is woken once, unless the job is cancelled first.
    signature_job(EVP_PKEY* key, std::uint16_t algorithm, std::string_view message,
                  signature_waiter& waiter);

    // On the signing thread: computes the signature, or fails without it; both wake the waiter.
    void run() noexcept;
    void fail() noexcept;

    // On the session's thread: true when the waiter was not woken and now never will be.
    bool cancel() noexcept;
    // Copies the signature to `output`; `retry` while it is not ready.
    ssl_private_key_result_t take(std::uint8_t* output, std::size_t* size, std::size_t size_max);

  private:
    void finish(ssl_private_key_result_t result) noexcept;

    bssl::UniquePtr<EVP_PKEY> const key_;
    std::uint16_t const algorithm_;
    std::string const message_;
    std::string signature_;  // the signing thread's until `state_` says success

    std::mutex mutex_;
    ssl_private_key_result_t state_ = ssl_private_key_retry;
    signature_waiter* waiter_;
};

}  // namespace latchkey::tls
