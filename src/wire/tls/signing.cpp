#include "wire/tls/signing.hpp"

#include <pthread.h>
#include <signal.h>

#include <utility>

#include "wire/tls/signature_job.hpp"

namespace latchkey::tls {

signing_thread::signing_thread(std::size_t jobs_max) : jobs_max_(jobs_max) {
    sigset_t all, previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

signing_thread::~signing_thread() {
    stop();
}

void signing_thread::stop() {
    {
        std::lock_guard const lock(mutex_);
        stopping_ = true;
    }
    job_queued_.notify_all();
    if (thread_.joinable()) thread_.join();
}

bool signing_thread::submit(std::shared_ptr<signature_job> job) {
    {
        std::lock_guard const lock(mutex_);
        if (stopping_ || jobs_.size() >= jobs_max_) return false;
        jobs_.push_back(std::move(job));
    }
    job_queued_.notify_one();
    return true;
}

void signing_thread::run() {
    pthread_setname_np(pthread_self(), "signing");
    while (auto const job = next()) job->run();
    // `submit` refuses from here on, so only this thread uses the queue.
    for (auto const& job : jobs_) job->fail();
    jobs_.clear();
}

std::shared_ptr<signature_job> signing_thread::next() {
    std::unique_lock lock(mutex_);
    job_queued_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return nullptr;
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
}

}  // namespace latchkey::tls
