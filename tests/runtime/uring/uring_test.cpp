#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "runtime/uring/buffers.hpp"
#include "runtime/uring/mailbox.hpp"
#include "runtime/uring/probe.hpp"
#include "runtime/uring/ring.hpp"
#include "runtime/uring/socket.hpp"

namespace latchkey::uring {
namespace {

struct recording_operation : operation {
    std::vector<std::int32_t> results;
    std::string received;
    buffers* source = nullptr;
    recording_operation() {
        complete = [](operation& self, completion const& cqe) {
            auto& own = static_cast<recording_operation&>(self);
            own.results.push_back(cqe.result);
            if (own.source != nullptr && cqe.has_buffer()) {
                auto const bytes = own.source->view(cqe);
                own.received.append(bytes.data(), bytes.size());
                own.source->release(cqe);
            }
        };
    }
};

void turn(ring& owner, bool block = true) {
    owner.enter(block, base::read_clocks().mono + 1'000'000'000);
    std::vector<completion> ready;
    owner.collect(ready);
    for (auto const& cqe : ready) cqe.deliver();
}

struct socket_pair {
    int ends[2];
    socket_pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0); }
    ~socket_pair() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
};

TEST(probe, passes_here) {
    auto const result = probe();
    EXPECT_TRUE(result.has_value()) << result.error().message;
}

TEST(ring, accepts_more_operations_than_its_queue_holds) {
    auto owner = ring::make({.submissions = 8, .completions = 16}).value();
    recording_operation op;
    for (int i = 0; i < 1000; ++i) io_uring_prep_nop(owner->submission(op));
    for (int i = 0; i < 1000 && op.results.size() < 1000; ++i) turn(*owner);
    EXPECT_EQ(op.results.size(), 1000u);
}

// Otherwise a ring would bypass the filter of system calls.
TEST(ring, allows_only_the_operations_of_the_service) {
    auto owner = ring::make().value();
    auto const is_refused = [&](auto prepare) {
        recording_operation op;
        prepare(owner->submission(op));
        for (int i = 0; i < 10 && op.results.empty(); ++i) turn(*owner);
        return op.results == std::vector<std::int32_t>{-EACCES};
    };
    EXPECT_TRUE(
        is_refused([](auto* sqe) { io_uring_prep_openat(sqe, AT_FDCWD, "/", O_RDONLY, 0); }));
    EXPECT_TRUE(
        is_refused([](auto* sqe) { io_uring_prep_socket(sqe, AF_INET, SOCK_STREAM, 0, 0); }));
    EXPECT_TRUE(is_refused([](auto* sqe) { io_uring_prep_connect(sqe, 0, nullptr, 0); }));
    EXPECT_TRUE(is_refused([](auto* sqe) { io_uring_prep_write(sqe, STDERR_FILENO, "", 0, 0); }));
    EXPECT_TRUE(is_refused([](auto* sqe) { io_uring_prep_unlink(sqe, "/nothing", 0); }));
    EXPECT_TRUE(is_refused([](auto* sqe) {
        io_uring_prep_nop(sqe);
        sqe->flags |= IOSQE_ASYNC;
    }));
    int files[] = {-1};
    EXPECT_EQ(io_uring_register_files(&owner->native(), files, 1), -EACCES);
}

TEST(ring, wakes_at_the_deadline) {
    auto owner = ring::make().value();
    auto const start = base::read_clocks().mono;
    owner->enter(true, start + 50'000'000);
    EXPECT_GE(base::read_clocks().mono, start + 50'000'000);
    EXPECT_FALSE(owner->has_completions());
}

TEST(buffers, deliver_all_in_order_and_lose_nothing_when_empty) {
    auto owner = ring::make().value();
    auto pool = buffers::make(*owner, 8, 16).value();
    socket_pair pair;
    recording_operation op;
    op.source = pool.get();
    receive_multishot(*owner, op, pair.ends[1]);
    owner->enter(false, 0);
    std::string text;
    for (int i = 0; i < 100; ++i) text += "piece " + std::to_string(i) + ";";
    ASSERT_EQ(::send(pair.ends[0], text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    bool starved = false;
    for (int i = 0; i < 1000 && op.received.size() < text.size(); ++i) {
        turn(*owner);
        pool->publish();
        if (!op.active) {
            starved |= op.results.back() == -ENOBUFS;
            receive_multishot(*owner, op, pair.ends[1]);
        }
    }
    EXPECT_EQ(op.received, text);
    EXPECT_TRUE(starved) << "the ring of 128 bytes should have run dry";
    EXPECT_EQ(pool->available(), pool->count());
    cancel(*owner, op);
    for (int i = 0; i < 10 && op.active; ++i) turn(*owner);
    EXPECT_EQ(op.results.back(), -ECANCELED);
}

struct numbered_message : coro::resumption {
    int number = 0;
};

TEST(mailbox, keeps_the_order_of_one_sender) {
    auto owner = ring::make().value();
    auto box = mailbox::make(*owner).value();
    numbered_message nodes[10];
    for (int i = 0; i < 10; ++i) {
        nodes[i].number = i;
        box->post(nodes[i]);
    }
    int expected = 0;
    for (auto* node = box->take(); node != nullptr; node = node->next.load())
        EXPECT_EQ(static_cast<numbered_message*>(node)->number, expected++);
    EXPECT_EQ(expected, 10);
    EXPECT_EQ(box->take(), nullptr);
    box->close();
    for (int i = 0; i < 10 && !box->idle(); ++i) turn(*owner);
    EXPECT_TRUE(box->idle());
}

// Found by fault simulation: the mailbox was never woken again.
TEST(mailbox, arms_its_read_again_after_a_cancel) {
    auto owner = ring::make().value();
    auto box = mailbox::make(*owner).value();
    turn(*owner, false);
    io_uring_prep_cancel64(owner->submission(), 0,
                           IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
    for (int i = 0; i < 3; ++i) turn(*owner, false);
    ASSERT_TRUE(box->may_sleep());
    numbered_message node;
    box->post(node);
    owner->enter(true, base::read_clocks().mono + 2'000'000'000);
    EXPECT_TRUE(owner->has_completions()) << "nothing has woken it";
    EXPECT_EQ(box->take(), &node);
    box->close();
    for (int i = 0; i < 10 && !box->idle(); ++i) turn(*owner);
}

// No message may be lost and no sleeping owner may stay asleep.
void stress(bool senders_have_rings) {
    auto owner = ring::make().value();
    auto box = mailbox::make(*owner).value();
    constexpr int per_sender = 20'000, senders = 3;
    std::vector<numbered_message> nodes(per_sender * senders);
    std::vector<std::thread> threads;
    for (int s = 0; s < senders; ++s)
        threads.emplace_back([&, s] {
            auto mine = senders_have_rings ? ring::make().value() : nullptr;
            for (int i = 0; i < per_sender; ++i) {
                auto& node = nodes[static_cast<std::size_t>(s * per_sender + i)];
                node.number = s * per_sender + i;
                box->post(node);
                if (mine) turn(*mine, false);
            }
        });
    std::vector<int> last(senders, -1);
    int received = 0;
    auto const deadline = base::read_clocks().mono + 60'000'000'000;
    while (received < per_sender * senders && base::read_clocks().mono < deadline) {
        owner->enter(box->may_sleep(), deadline);
        box->awake();
        std::vector<completion> ready;
        owner->collect(ready);
        for (auto* node = box->take(); node != nullptr; ++received) {
            auto const number = static_cast<numbered_message*>(node)->number;
            node = node->next.load();
            EXPECT_GT(number, last[static_cast<std::size_t>(number / per_sender)]);
            last[static_cast<std::size_t>(number / per_sender)] = number;
        }
        for (auto const& cqe : ready) cqe.deliver();
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(received, per_sender * senders);
    box->close();
    for (int i = 0; i < 10 && !box->idle(); ++i) turn(*owner);
}

TEST(mailbox, wakes_a_sleeper_from_threads_without_a_ring) {
    stress(false);
}
TEST(mailbox, wakes_a_sleeper_from_threads_with_a_ring) {
    stress(true);
}

}  // namespace
}  // namespace latchkey::uring
