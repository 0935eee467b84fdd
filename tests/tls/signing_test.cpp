#include "tls/signing.hpp"

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
#include "tls/session.hpp"

namespace latchkey::tls::testing {
namespace {

// Counts its wakes; a held one keeps the signing thread in `wake` until it is let go.
struct waiter : signature_waiter {
    explicit waiter(bool held = false) : signature_waiter{told}, open(!held) {}

    static void told(signature_waiter& self) noexcept {
        auto& own = static_cast<waiter&>(self);
        std::unique_lock lock(own.mutex);
        ++own.wakes;
        own.changed.notify_all();
        own.changed.wait(lock, [&] { return own.open; });
    }
    void await() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return wakes > 0; });
    }
    void let_go() {
        std::lock_guard const lock(mutex);
        open = true;
        changed.notify_all();
    }
    int count() {
        std::lock_guard const lock(mutex);
        return wakes;
    }

    std::mutex mutex;
    std::condition_variable changed;
    int wakes = 0;
    bool open;
};

// A session whose handshake has come to its signature.
struct visitor {
    visitor(context& of, waiter& told) : server(of, &told) {}
    progress start() { return join(peer, server); }
    progress go_on() { return join(peer, server); }

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
        waiter told;
        session server(shared, &told);
        ASSERT_EQ(join(peer, server), progress::waiting);
        told.await();
        ASSERT_EQ(join(peer, server), progress::done);
        EXPECT_EQ(told.count(), 1);
        EXPECT_FALSE(server.call_off());
        EXPECT_EQ(answer(peer, server, "signed"), "signed");
    }
}

TEST_F(signing, an_early_call_is_answered_waiting) {
    waiter first(true), second;
    visitor one(shared, first), two(shared, second);
    ASSERT_EQ(one.start(), progress::waiting);
    first.await();
    ASSERT_EQ(two.start(), progress::waiting);
    ASSERT_EQ(two.go_on(), progress::waiting);
    first.let_go();
    second.await();
    EXPECT_EQ(two.go_on(), progress::done);
    EXPECT_EQ(one.go_on(), progress::done);
    EXPECT_EQ(second.count(), 1);
}

TEST_F(signing, rsa_without_a_thread_signs_at_once) {
    context alone(rsa_identity(), ticket_keys::make(), nullptr);
    for (auto version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        client peer({.newest = static_cast<std::uint16_t>(version)});
        session server(alone, nullptr);
        ASSERT_EQ(join(peer, server), progress::done);
        EXPECT_EQ(answer(peer, server, "signed"), "signed");
    }
}

TEST_F(signing, ecdsa_never_waits) {
    context elliptic(ecdsa_identity(), ticket_keys::make(), &signer);
    client peer;
    session server(elliptic, nullptr);
    EXPECT_EQ(join(peer, server), progress::done);
}

TEST_F(signing, a_resumed_session_needs_no_signature) {
    waiter told;
    visitor full(shared, told);
    ASSERT_EQ(full.start(), progress::waiting);
    told.await();
    ASSERT_EQ(full.go_on(), progress::done);
    EXPECT_EQ(answer(full.peer, full.server, "hello"), "hello");
    ASSERT_EQ(full.peer.tickets(), 1);
    client peer({}, full.peer.ticket().get());
    session server(shared, &told);
    EXPECT_EQ(join(peer, server), progress::done);
    EXPECT_TRUE(server.resumed());
}

TEST_F(signing, a_session_destroyed_while_its_job_is_queued_is_never_told) {
    waiter first(true);
    visitor one(shared, first);
    ASSERT_EQ(one.start(), progress::waiting);
    first.await();  // the thread is held
    {
        waiter gone;
        visitor two(shared, gone);
        ASSERT_EQ(two.start(), progress::waiting);
    }
    waiter called_off, last;
    visitor three(shared, called_off), four(shared, last);
    ASSERT_EQ(three.start(), progress::waiting);
    EXPECT_TRUE(three.server.call_off());
    EXPECT_FALSE(three.server.call_off());
    ASSERT_EQ(four.start(), progress::waiting);
    first.let_go();
    last.await();
    EXPECT_EQ(four.go_on(), progress::done);
    EXPECT_EQ(called_off.count(), 0);
}

TEST_F(signing, sessions_destroyed_at_any_moment_are_never_told_afterwards) {
    std::minstd_rand random(7);
    for (int i = 0; i < 200; ++i) {
        auto told = std::make_unique<waiter>();
        auto of = std::make_unique<visitor>(shared, *told);
        ASSERT_EQ(of->start(), progress::waiting);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
        if (i % 2 == 0) {
            // Either it was told, or it was called off and is not told.
            bool const owed = of->server.call_off();
            EXPECT_EQ(told->count(), owed ? 0 : 1);
        }
        of.reset();
        told.reset();
    }
}

TEST_F(signing, the_context_and_identity_may_go_before_the_signature) {
    waiter told;
    auto brief = std::make_unique<context>(rsa_identity(), ticket_keys::make(), &signer);
    visitor one(*brief, told);
    ASSERT_EQ(one.start(), progress::waiting);
    brief.reset();
    told.await();
    EXPECT_EQ(one.go_on(), progress::done);
}

TEST(signing_queue, a_full_one_fails_the_handshake) {
    signing_thread signer(1);
    context shared(rsa_identity(), ticket_keys::make(), &signer);
    waiter first(true), second, third;
    visitor one(shared, first), two(shared, second), three(shared, third);
    ASSERT_EQ(one.start(), progress::waiting);
    first.await();
    ASSERT_EQ(two.start(), progress::waiting);
    EXPECT_EQ(three.start(), progress::failed);
    EXPECT_EQ(three.peer.failure(), "TLSV1_ALERT_INTERNAL_ERROR");
    EXPECT_FALSE(three.server.reason().empty());
    first.let_go();
    second.await();
    EXPECT_EQ(two.go_on(), progress::done);
    EXPECT_EQ(third.count(), 0);
}

TEST(signing_queue, stopping_tells_whoever_waits) {
    auto signer = std::make_unique<signing_thread>();
    context shared(rsa_identity(), ticket_keys::make(), signer.get());
    waiter first(true), second, third;
    visitor one(shared, first), two(shared, second), three(shared, third);
    ASSERT_EQ(one.start(), progress::waiting);
    first.await();
    ASSERT_EQ(two.start(), progress::waiting);
    std::thread stopping([&] { signer->stop(); });
    // Refused from the moment that stop has begun.
    while (three.start() == progress::waiting && third.count() == 0) {
        if (three.server.call_off()) break;
    }
    first.let_go();
    stopping.join();
    second.await();
    EXPECT_EQ(one.go_on(), progress::done);
    auto const how = two.go_on();
    EXPECT_TRUE(how == progress::failed || how == progress::done);
    signer->stop();
    waiter late;
    visitor four(shared, late);
    EXPECT_EQ(four.start(), progress::failed);
}

TEST(signing_queue, serves_several_workers) {
    signing_thread signer;
    std::atomic<int> done = 0;
    std::vector<std::thread> workers;
    for (int w = 0; w < 3; ++w) {
        workers.emplace_back([&] {
            context shared(rsa_identity(), ticket_keys::make(), &signer);
            for (int i = 0; i < 20; ++i) {
                waiter told;
                visitor one(shared, told);
                if (one.start() != progress::waiting) return;
                told.await();
                if (one.go_on() != progress::done) return;
                done.fetch_add(1);
            }
        });
    }
    for (auto& each : workers) each.join();
    EXPECT_EQ(done.load(), 60);
}

}  // namespace
}  // namespace latchkey::tls::testing
