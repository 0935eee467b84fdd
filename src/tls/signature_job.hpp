// One signature on its way from a session to the signing thread and back; also how a signature is
// made at all. Shared by both threads, everything mutable is under its mutex (signing.hpp).
#pragma once

#include <openssl/evp.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "tls/signing.hpp"

namespace latchkey::tls {

class signature_job {
  public:
    // `waiter` is told once, unless it is called off first.
    signature_job(EVP_PKEY* key, std::uint16_t algorithm, std::string_view message,
                  signature_waiter& waiter);

    // The signing thread: makes the signature, or fails it unmade; either tells the waiter.
    void run() noexcept;
    void refuse() noexcept;

    // The session's thread: true when the waiter was not told and now never will be.
    bool call_off() noexcept;
    // Copies the signature to `out`; `retry` while there is none.
    ssl_private_key_result_t take(std::uint8_t* out, std::size_t* size, std::size_t size_max);

  private:
    void finish(ssl_private_key_result_t how) noexcept;

    bssl::UniquePtr<EVP_PKEY> const key_;
    std::uint16_t const algorithm_;
    std::string const message_;
    std::string signature_;  // the signing thread's until `state_` says success

    std::mutex mutex_;
    ssl_private_key_result_t state_ = ssl_private_key_retry;
    signature_waiter* waiter_;
};

}  // namespace latchkey::tls
