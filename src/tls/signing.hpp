// One thread that makes RSA signatures, so that they (650 to 990 µs each) hold up no worker.
//
//     tls::signing_thread signer;                 // the control thread's; outlives all contexts
//     tls::context context(who, tickets, &signer);
//
// A session hands over a job that owns its bytes and a reference to the key, so neither the session
// nor the identity has to outlive it. Session and thread meet in the job, under the job's mutex:
// the waiter is woken with it held, and a session that goes away (or `session::call_off`) takes the
// waiter out under it. So once a session is gone its waiter is never called, and a wake in progress
// is waited for.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace latchkey::tls {

// Told, on the signing thread, that a handshake which answered `waiting` can go on; it hands that
// on to the session's own thread. Must live until it was told or called off. `wake` may not block
// and may not touch the session, whose thread may be waiting for it to return.
struct signature_waiter {
    void (*wake)(signature_waiter&) noexcept;
};

class signature_job;

class signing_thread {
  public:
    static constexpr std::size_t jobs_max_default = 1024;  // about a second of work

    // Starts the thread, with all signals blocked.
    explicit signing_thread(std::size_t jobs_max = jobs_max_default);
    ~signing_thread();
    signing_thread(signing_thread const&) = delete;
    signing_thread& operator=(signing_thread const&) = delete;

    // Ends the thread after the signature in hand. What is still queued fails, and its waiters are
    // told; what comes later is refused. Any thread; may be called again.
    void stop();

    // For sessions, from any thread. False when the queue is full or the thread was stopped: the
    // handshake then fails at once, which is how an overload is refused early.
    bool submit(std::shared_ptr<signature_job> job);

  private:
    void run();
    std::shared_ptr<signature_job> next();

    std::size_t const jobs_max_;
    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<std::shared_ptr<signature_job>> jobs_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace latchkey::tls
