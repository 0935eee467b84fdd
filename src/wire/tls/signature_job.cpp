#include "wire/tls/signature_job.hpp"

#include <openssl/err.h>

#include <utility>

namespace latchkey::tls {

signature_job::signature_job(EVP_PKEY* key, std::uint16_t algorithm, std::string_view message,
                             signature_waiter& waiter)
    : key_(bssl::UpRef(key)), algorithm_(algorithm), message_(message), waiter_(&waiter) {}

void signature_job::run() noexcept {
    {
        std::lock_guard const lock(mutex_);
        if (waiter_ == nullptr) return;  // cancelled while it was queued
    }
    ERR_clear_error();
    bssl::ScopedEVP_MD_CTX digest;
    EVP_PKEY_CTX* padding = nullptr;
    auto const* const hash = SSL_get_signature_algorithm_digest(algorithm_);
    bool ok = EVP_DigestSignInit(digest.get(), &padding, hash, nullptr, key_.get()) == 1;
    if (ok && SSL_is_signature_algorithm_rsa_pss(algorithm_) == 1) {
        // RFC 8446 §4.2.3: the salt is as long as the digest.
        ok = EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING) == 1 &&
             EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, -1) == 1;
    }
    auto size = static_cast<std::size_t>(EVP_PKEY_size(key_.get()));
    signature_.resize(size);
    ok = ok && EVP_DigestSign(digest.get(), reinterpret_cast<std::uint8_t*>(signature_.data()),
                              &size, reinterpret_cast<std::uint8_t const*>(message_.data()),
                              message_.size()) == 1;
    signature_.resize(size);
    finish(ok ? ssl_private_key_success : ssl_private_key_failure);
}

void signature_job::fail() noexcept {
    finish(ssl_private_key_failure);
}

void signature_job::finish(ssl_private_key_result_t result) noexcept {
    std::lock_guard const lock(mutex_);
    state_ = result;
    if (auto* const waiter = std::exchange(waiter_, nullptr)) waiter->wake(*waiter);
}

bool signature_job::cancel() noexcept {
    std::lock_guard const lock(mutex_);
    return std::exchange(waiter_, nullptr) != nullptr;
}

ssl_private_key_result_t signature_job::take(std::uint8_t* output, std::size_t* size,
                                             std::size_t size_max) {
    std::lock_guard const lock(mutex_);
    if (state_ != ssl_private_key_success) return state_;
    if (signature_.size() > size_max) return ssl_private_key_failure;
    *size = signature_.copy(reinterpret_cast<char*>(output), size_max);
    return state_;
}

}  // namespace latchkey::tls
