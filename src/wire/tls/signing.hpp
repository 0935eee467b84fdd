// A thread for RSA signatures, so that they (650 to 990 µs each) do not block a worker.
//
//     tls::signing_thread signer;                 // of the main thread; outlives all contexts
//     tls::context context(identity, tickets, &signer);
//
// A session submits a job that owns its bytes and a reference to the key, so neither the session
// nor the identity has to outlive it. Both threads synchronise on the job's mutex: the waiter is
// woken under it, and a session that is destroyed or cancelled removes the waiter under it. So the
// waiter of a destroyed session is never called, and the destructor waits for a wake in progress.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "wire/tls/signature_waiter.hpp"

namespace latchkey::tls {

class signature_job;

class signing_thread {
  public:
    static constexpr std::size_t jobs_max_default = 1024;  // about a second of work

    // Starts the thread, with all signals blocked.
    explicit signing_thread(std::size_t jobs_max = jobs_max_default);
    ~signing_thread();
    signing_thread(signing_thread const&) = delete;
    signing_thread& operator=(signing_thread const&) = delete;

    // Ends the thread after the current signature. Queued jobs fail and wake their waiters; later
    // ones are refused. Any thread; may be called again.
    void stop();

    // For sessions, from any thread. False when the queue is full or the thread was stopped: the
    // handshake then fails at once (load shedding).
    bool submit(std::shared_ptr<signature_job> job);

  private:
    void run();
    std::shared_ptr<signature_job> next();

    std::size_t const jobs_max_;
    std::mutex mutex_;
    std::condition_variable job_queued_;
    std::deque<std::shared_ptr<signature_job>> jobs_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace latchkey::tls
