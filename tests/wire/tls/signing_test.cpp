#include "wire/tls/signing.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "certificates.hpp"
#include "client.hpp"
#include "wire/tls/session.hpp"

namespace latchkey::tls::testing {
namespace {

// Counts its wakes; a blocked one keeps the signing thread in `wake` until `unblock`.
struct test_waiter : signature_waiter {
    explicit test_waiter(bool blocked = false) : signature_waiter{on_wake}, open(!blocked) {}

    static void on_wake(signature_waiter& self) noexcept {
        auto& own = static_cast<test_waiter&>(self);
        std::unique_lock lock(own.mutex);
        ++own.wakes;
        own.condition.notify_all();
        own.condition.wait(lock, [&] { return own.open; });
    }
    void await() {
        std::unique_lock lock(mutex);
        condition.wait(lock, [this] { return wakes > 0; });
    }
    void unblock() {
        std::lock_guard const lock(mutex);
        open = true;
        condition.notify_all();
    }
    int count() {
        std::lock_guard const lock(mutex);
        return wakes;
    }

    std::mutex mutex;
    std::condition_variable condition;
    int wakes = 0;
    bool open;
};

// A client and a session, for a handshake that stops at the signature.
struct handshake_pair {
    handshake_pair(context& shared, test_waiter& waiter) : server(shared, &waiter) {}
    progress start() { return run_handshake(peer, server); }
    progress resume() { return run_handshake(peer, server); }

    client peer;
    session server;
};

class signing : public ::testing::Test {
  protected:
    signing_thread signer;
    context shared{rsa_identity(), ticket_keys::make(), &signer};
};

TEST_F(signing, rsa_waits_for_the_thread) {
    for (auto version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        client peer({.newest = static_cast<std::uint16_t>(version)});
        test_waiter waiter;
        session server(shared, &waiter);
        ASSERT_EQ(run_handshake(peer, server), progress::waiting);
        waiter.await();
        ASSERT_EQ(run_handshake(peer, server), progress::done);
        EXPECT_EQ(waiter.count(), 1);
        EXPECT_FALSE(server.cancel_signature());
        EXPECT_EQ(send_server_data(peer, server, "signed"), "signed");
    }
}

TEST_F(signing, an_early_call_returns_waiting) {
    test_waiter first(true), second;
    handshake_pair one(shared, first), two(shared, second);
    ASSERT_EQ(one.start(), progress::waiting);
    first.await();
    ASSERT_EQ(two.start(), progress::waiting);
    ASSERT_EQ(two.resume(), progress::waiting);
    first.unblock();
    second.await();
    EXPECT_EQ(two.resume(), progress::done);
    EXPECT_EQ(one.resume(), progress::done);
    EXPECT_EQ(second.count(), 1);
}

TEST_F(signing, rsa_without_a_thread_signs_at_once) {
    context alone(rsa_identity(), ticket_keys::make(), nullptr);
    for (auto version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        client peer({.newest = static_cast<std::uint16_t>(version)});
        session server(alone, nullptr);
        ASSERT_EQ(run_handshake(peer, server), progress::done);
        EXPECT_EQ(send_server_data(peer, server, "signed"), "signed");
    }
}

TEST_F(signing, ecdsa_never_waits) {
    context elliptic(ecdsa_identity(), ticket_keys::make(), &signer);
    client peer;
    session server(elliptic, nullptr);
    EXPECT_EQ(run_handshake(peer, server), progress::done);
}

TEST_F(signing, a_resumed_session_needs_no_signature) {
    test_waiter waiter;
    handshake_pair full(shared, waiter);
    ASSERT_EQ(full.start(), progress::waiting);
    waiter.await();
    ASSERT_EQ(full.resume(), progress::done);
    EXPECT_EQ(send_server_data(full.peer, full.server, "hello"), "hello");
    ASSERT_EQ(full.peer.tickets(), 1);
    client peer({}, full.peer.ticket().get());
    session server(shared, &waiter);
    EXPECT_EQ(run_handshake(peer, server), progress::done);
    EXPECT_TRUE(server.resumed());
}

TEST_F(signing, a_session_destroyed_while_its_job_is_queued_is_never_woken) {
    test_waiter first(true);
    handshake_pair one(shared, first);
    ASSERT_EQ(one.start(), progress::waiting);
    first.await();  // the thread is blocked
    {
        test_waiter destroyed_waiter;
        handshake_pair two(shared, destroyed_waiter);
        ASSERT_EQ(two.start(), progress::waiting);
    }
    test_waiter called_off, last;
    handshake_pair three(shared, called_off), four(shared, last);
    ASSERT_EQ(three.start(), progress::waiting);
    EXPECT_TRUE(three.server.cancel_signature());
    EXPECT_FALSE(three.server.cancel_signature());
    ASSERT_EQ(four.start(), progress::waiting);
    first.unblock();
    last.await();
    EXPECT_EQ(four.resume(), progress::done);
    EXPECT_EQ(called_off.count(), 0);
}

TEST_F(signing, sessions_destroyed_at_any_moment_are_never_woken_afterwards) {
    std::minstd_rand random(7);
    for (int i = 0; i < 200; ++i) {
        auto waiter = std::make_unique<test_waiter>();
        auto pair = std::make_unique<handshake_pair>(shared, *waiter);
        ASSERT_EQ(pair->start(), progress::waiting);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
        if (i % 2 == 0) {
            // Woken, or cancelled and then never woken.
            bool const owed = pair->server.cancel_signature();
            EXPECT_EQ(waiter->count(), owed ? 0 : 1);
        }
        pair.reset();
        waiter.reset();
    }
}

TEST_F(signing, the_context_and_identity_may_be_destroyed_before_the_signature) {
    test_waiter waiter;
    auto brief = std::make_unique<context>(rsa_identity(), ticket_keys::make(), &signer);
    handshake_pair one(*brief, waiter);
    ASSERT_EQ(one.start(), progress::waiting);
    brief.reset();
    waiter.await();
    EXPECT_EQ(one.resume(), progress::done);
}

TEST(signing_queue, a_full_queue_fails_the_handshake) {
    signing_thread signer(1);
    context shared(rsa_identity(), ticket_keys::make(), &signer);
    test_waiter first(true), second, third;
    handshake_pair one(shared, first), two(shared, second), three(shared, third);
    ASSERT_EQ(one.start(), progress::waiting);
    first.await();
    ASSERT_EQ(two.start(), progress::waiting);
    EXPECT_EQ(three.start(), progress::failed);
    EXPECT_EQ(three.peer.failure(), "TLSV1_ALERT_INTERNAL_ERROR");
    EXPECT_FALSE(three.server.reason().empty());
    first.unblock();
    second.await();
    EXPECT_EQ(two.resume(), progress::done);
    EXPECT_EQ(third.count(), 0);
}

TEST(signing_queue, stopping_wakes_all_waiters) {
    auto signer = std::make_unique<signing_thread>();
    context shared(rsa_identity(), ticket_keys::make(), signer.get());
    test_waiter first(true), second, third;
    handshake_pair one(shared, first), two(shared, second), three(shared, third);
    ASSERT_EQ(one.start(), progress::waiting);
    first.await();
    ASSERT_EQ(two.start(), progress::waiting);
    std::thread stopping([&] { signer->stop(); });
    // Refused once `stop` has begun.
    while (three.start() == progress::waiting && third.count() == 0) {
        if (three.server.cancel_signature()) break;
    }
    first.unblock();
    stopping.join();
    second.await();
    EXPECT_EQ(one.resume(), progress::done);
    auto const result = two.resume();
    EXPECT_TRUE(result == progress::failed || result == progress::done);
    signer->stop();
    test_waiter late;
    handshake_pair four(shared, late);
    EXPECT_EQ(four.start(), progress::failed);
}

TEST(signing_queue, serves_several_workers) {
    signing_thread signer;
    std::atomic<int> count = 0;
    std::vector<std::thread> workers;
    for (int w = 0; w < 3; ++w) {
        workers.emplace_back([&] {
            context shared(rsa_identity(), ticket_keys::make(), &signer);
            for (int i = 0; i < 20; ++i) {
                test_waiter waiter;
                handshake_pair one(shared, waiter);
                if (one.start() != progress::waiting) return;
                waiter.await();
                if (one.resume() != progress::done) return;
                count.fetch_add(1);
            }
        });
    }
    for (auto& each : workers) each.join();
    EXPECT_EQ(count.load(), 60);
}

}  // namespace
}  // namespace latchkey::tls::testing
