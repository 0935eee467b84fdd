#include "tls/signing.hpp"

#include <openssl/err.h>
#include <pthread.h>
#include <signal.h>

#include <utility>

#include "tls/signature_job.hpp"

namespace latchkey::tls {

signing_thread::signing_thread(std::size_t jobs_max) : jobs_max_(jobs_max) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

signing_thread::~signing_thread() {
    stop();
}

void signing_thread::stop() {
    {
        std::lock_guard const lock(mutex_);
        stopping_ = true;
    }
    came_.notify_all();
    if (thread_.joinable()) thread_.join();
}

bool signing_thread::submit(std::shared_ptr<signature_job> job) {
    {
        std::lock_guard const lock(mutex_);
        if (stopping_ || jobs_.size() >= jobs_max_) return false;
        jobs_.push_back(std::move(job));
    }
    came_.notify_one();
    return true;
}

void signing_thread::run() {
    pthread_setname_np(pthread_self(), "signing");
    while (auto const job = next()) job->run();
    // `submit` refuses from here on, so nobody else touches the queue.
    for (auto const& job : jobs_) job->refuse();
    jobs_.clear();
}

std::shared_ptr<signature_job> signing_thread::next() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return nullptr;
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
}

signature_job::signature_job(EVP_PKEY* key, std::uint16_t algorithm, std::string_view message,
                             signature_waiter& waiter)
    : key_(bssl::UpRef(key)), algorithm_(algorithm), message_(message), waiter_(&waiter) {}

void signature_job::run() noexcept {
    {
        std::lock_guard const lock(mutex_);
        if (waiter_ == nullptr) return;  // called off while it was queued
    }
    ERR_clear_error();
    bssl::ScopedEVP_MD_CTX digest;
    EVP_PKEY_CTX* padding = nullptr;
    auto const* const hash = SSL_get_signature_algorithm_digest(algorithm_);
    bool made = EVP_DigestSignInit(digest.get(), &padding, hash, nullptr, key_.get()) == 1;
    if (made && SSL_is_signature_algorithm_rsa_pss(algorithm_) == 1) {
        // RFC 8446 §4.2.3: the salt is as long as the digest.
        made = EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING) == 1 &&
               EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, -1) == 1;
    }
    auto size = static_cast<std::size_t>(EVP_PKEY_size(key_.get()));
    signature_.resize(size);
    made = made && EVP_DigestSign(digest.get(), reinterpret_cast<std::uint8_t*>(signature_.data()),
                                  &size, reinterpret_cast<std::uint8_t const*>(message_.data()),
                                  message_.size()) == 1;
    signature_.resize(size);
    finish(made ? ssl_private_key_success : ssl_private_key_failure);
}

void signature_job::refuse() noexcept {
    finish(ssl_private_key_failure);
}

void signature_job::finish(ssl_private_key_result_t how) noexcept {
    std::lock_guard const lock(mutex_);
    state_ = how;
    if (auto* const told = std::exchange(waiter_, nullptr)) told->wake(*told);
}

bool signature_job::call_off() noexcept {
    std::lock_guard const lock(mutex_);
    return std::exchange(waiter_, nullptr) != nullptr;
}

ssl_private_key_result_t signature_job::take(std::uint8_t* out, std::size_t* size,
                                             std::size_t size_max) {
    std::lock_guard const lock(mutex_);
    if (state_ != ssl_private_key_success) return state_;
    if (signature_.size() > size_max) return ssl_private_key_failure;
    *size = signature_.copy(reinterpret_cast<char*>(out), size_max);
    return state_;
}

}  // namespace latchkey::tls
