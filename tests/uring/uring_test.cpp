#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "uring/buffers.hpp"
#include "uring/mailbox.hpp"
#include "uring/probe.hpp"
#include "uring/ring.hpp"

namespace latchkey::uring {
namespace {

struct noted : operation {
    std::vector<std::int32_t> results;
    bool more = true;
    std::string received;
    buffers* from = nullptr;
    noted() {
        complete = [](operation& self, std::int32_t result, std::uint32_t flags) {
            auto& me = static_cast<noted&>(self);
            me.results.push_back(result);
            me.more = (flags & IORING_CQE_F_MORE) != 0;
            if (me.from != nullptr && (flags & IORING_CQE_F_BUFFER)) {
                auto const bytes = me.from->view(flags, result);
                me.received.append(bytes.data(), bytes.size());
                me.from->give_back(flags);
            }
        };
    }
};

void turn(ring& on, bool block = true) {
    on.enter(block, base::read_clocks().mono + 1'000'000'000);
    std::vector<completion> ready;
    on.collect(ready);
    for (auto const& done : ready) done.op->complete(*done.op, done.result, done.flags);
}

struct socket_pair {
    int ends[2];
    socket_pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0); }
    ~socket_pair() { ::close(ends[0]), ::close(ends[1]); }
};

void receive(ring& on, noted& op, int fd) {
    auto* const sqe = on.submission(op);
    io_uring_prep_recv_multishot(sqe, fd, nullptr, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = buffers::group;
}

TEST(probe, passes_here) {
    auto const seen = probe();
    EXPECT_TRUE(seen.has_value()) << seen.error().message;
}

TEST(ring, takes_more_operations_than_its_queue_holds) {
    auto on = ring::make({.submissions = 8, .completions = 16}).value();
    noted op;
    for (int i = 0; i < 1000; ++i) io_uring_prep_nop(on->submission(op));
    for (int i = 0; i < 1000 && op.results.size() < 1000; ++i) turn(*on);
    EXPECT_EQ(op.results.size(), 1000u);
}

// Or it would be a way past a filter of system calls.
TEST(ring, does_nothing_but_what_the_service_needs) {
    auto on = ring::make().value();
    auto const refused = [&](auto prepare) {
        noted op;
        prepare(on->submission(op));
        for (int i = 0; i < 10 && op.results.empty(); ++i) turn(*on);
        return op.results == std::vector<std::int32_t>{-EACCES};
    };
    EXPECT_TRUE(refused([](auto* to) { io_uring_prep_openat(to, AT_FDCWD, "/", O_RDONLY, 0); }));
    EXPECT_TRUE(refused([](auto* to) { io_uring_prep_socket(to, AF_INET, SOCK_STREAM, 0, 0); }));
    EXPECT_TRUE(refused([](auto* to) { io_uring_prep_connect(to, 0, nullptr, 0); }));
    EXPECT_TRUE(refused([](auto* to) { io_uring_prep_write(to, STDERR_FILENO, "", 0, 0); }));
    EXPECT_TRUE(refused([](auto* to) { io_uring_prep_unlink(to, "/nothing", 0); }));
    EXPECT_TRUE(refused([](auto* to) {
        io_uring_prep_nop(to);
        to->flags |= IOSQE_ASYNC;
    }));
    int files[] = {-1};
    EXPECT_EQ(io_uring_register_files(&on->native(), files, 1), -EACCES);
}

TEST(ring, wakes_at_the_given_time) {
    auto on = ring::make().value();
    auto const before = base::read_clocks().mono;
    on->enter(true, before + 50'000'000);
    EXPECT_GE(base::read_clocks().mono, before + 50'000'000);
    EXPECT_FALSE(on->has_completions());
}

TEST(buffers, bring_everything_in_order_and_run_dry_without_loss) {
    auto on = ring::make().value();
    auto lent = buffers::make(*on, 8, 16).value();
    socket_pair pair;
    noted op;
    op.from = lent.get();
    receive(*on, op, pair.ends[1]);
    on->enter(false, 0);
    std::string sent;
    for (int i = 0; i < 100; ++i) sent += "piece " + std::to_string(i) + ";";
    ASSERT_EQ(::send(pair.ends[0], sent.data(), sent.size(), 0), static_cast<ssize_t>(sent.size()));
    bool starved = false;
    for (int i = 0; i < 1000 && op.received.size() < sent.size(); ++i) {
        turn(*on);
        lent->publish();
        if (!op.more) {
            starved |= op.results.back() == -ENOBUFS;
            op.more = true;
            receive(*on, op, pair.ends[1]);
        }
    }
    EXPECT_EQ(op.received, sent);
    EXPECT_TRUE(starved) << "the ring of 128 bytes should have run dry";
    EXPECT_EQ(lent->lent(), lent->count());
    io_uring_prep_cancel64(on->submission(),
                           reinterpret_cast<std::uintptr_t>(static_cast<operation*>(&op)), 0);
    for (int i = 0; i < 10 && op.more; ++i) turn(*on);
    EXPECT_EQ(op.results.back(), -ECANCELED);
}

struct counted : coro::resumption {
    int number = 0;
};

TEST(mailbox, keeps_the_order_of_one_sender) {
    auto on = ring::make().value();
    auto box = mailbox::make(*on).value();
    counted nodes[10];
    for (int i = 0; i < 10; ++i) nodes[i].number = i, box->post(nodes[i]);
    int expected = 0;
    for (auto* node = box->take(); node != nullptr; node = node->next.load())
        EXPECT_EQ(static_cast<counted*>(node)->number, expected++);
    EXPECT_EQ(expected, 10);
    EXPECT_EQ(box->take(), nullptr);
    box->close();
    for (int i = 0; i < 10 && !box->idle(); ++i) turn(*on);
    EXPECT_TRUE(box->idle());
}

// Found by the fake kernel: it was deaf from then on.
TEST(mailbox, hears_on_after_its_read_was_cancelled) {
    auto on = ring::make().value();
    auto box = mailbox::make(*on).value();
    turn(*on, false);
    io_uring_prep_cancel64(on->submission(), 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
    for (int i = 0; i < 3; ++i) turn(*on, false);
    ASSERT_TRUE(box->may_sleep());
    counted node;
    box->post(node);
    on->enter(true, base::read_clocks().mono + 2'000'000'000);
    EXPECT_TRUE(on->has_completions()) << "nothing has woken it";
    EXPECT_EQ(box->take(), &node);
    box->close();
    for (int i = 0; i < 10 && !box->idle(); ++i) turn(*on);
}

// Nothing posted may be lost and no sleeper may be left asleep, whoever posts.
void hammer(bool senders_have_rings) {
    auto on = ring::make().value();
    auto box = mailbox::make(*on).value();
    constexpr int per_sender = 20'000, senders = 3;
    std::vector<counted> nodes(per_sender * senders);
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
    int seen = 0;
    auto const until = base::read_clocks().mono + 60'000'000'000;
    while (seen < per_sender * senders && base::read_clocks().mono < until) {
        on->enter(box->may_sleep(), until);
        box->awake();
        std::vector<completion> ready;
        on->collect(ready);
        for (auto* node = box->take(); node != nullptr; ++seen) {
            auto const number = static_cast<counted*>(node)->number;
            node = node->next.load();
            EXPECT_GT(number, last[static_cast<std::size_t>(number / per_sender)]);
            last[static_cast<std::size_t>(number / per_sender)] = number;
        }
        for (auto const& done : ready) done.op->complete(*done.op, done.result, done.flags);
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(seen, per_sender * senders);
    box->close();
    for (int i = 0; i < 10 && !box->idle(); ++i) turn(*on);
}

TEST(mailbox, wakes_a_sleeper_from_threads_without_a_ring) {
    hammer(false);
}
TEST(mailbox, wakes_a_sleeper_from_threads_with_a_ring) {
    hammer(true);
}

}  // namespace
}  // namespace latchkey::uring
