// The runtime in worlds where everything fails that can: a small server of coroutines on the real
// ring, buffers, timers and mailbox sends back what it is sent. Whatever strikes, no byte is wrong
// or missing, nothing hangs, and nothing is left behind. (The service's own worker:
// tests/server/fault_test.cpp.)
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "coro/event.hpp"
#include "coro/scope.hpp"
#include "seeds.hpp"
#include "talker.hpp"
#include "uring/buffers.hpp"
#include "uring/mailbox.hpp"
#include "uring/timers.hpp"

namespace latchkey::uring {
namespace {

using namespace fake;

constexpr base::mono_ns patience = 20 * second;

struct server;

// What one coroutine waits for, and what it came to.
struct awaited : operation {
    coro::event done;
    std::int32_t result = 0;
    awaited() {
        complete = [](operation& self, std::int32_t result, std::uint32_t) {
            auto& me = static_cast<awaited&>(self);
            me.result = result;
            me.done.set();
        };
    }
};

// A multishot receive, armed until the input ends.
struct receiver : operation {
    server& on;
    int fd;
    std::string came;
    coro::event news;
    bool active = false, over = false, starved = false;
    receiver(server& home, int socket);
    void arm();
    void take(std::int32_t result, std::uint32_t flags);
};

struct idle_timer : timers::entry {
    receiver* of = nullptr;
};

struct server {
    std::unique_ptr<ring> queue = ring::make().value();
    std::unique_ptr<buffers> lent = buffers::make(*queue, 16, 128).value();
    std::unique_ptr<mailbox> box = mailbox::make(*queue).value();
    timers wheel{base::read_clocks().mono};
    coro::scope connections;
    base::mono_ns now = 0;
    std::vector<receiver*> starved;
    int listener = -1;
    bool stopping = false, accepting = false;
    struct acceptor : operation {
        server* home = nullptr;
    } accept;

    void begin(int socket);
    void arm_accept();
    void turn();
    void run();
    void stop();
};

receiver::receiver(server& home, int socket) : on(home), fd(socket) {
    complete = [](operation& self, std::int32_t result, std::uint32_t flags) {
        static_cast<receiver&>(self).take(result, flags);
    };
}

void receiver::arm() {
    active = true;
    auto* const sqe = on.queue->submission(*this);
    io_uring_prep_recv_multishot(sqe, fd, nullptr, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = buffers::group;
}

void receiver::take(std::int32_t result, std::uint32_t flags) {
    active = (flags & IORING_CQE_F_MORE) != 0;
    if (flags & IORING_CQE_F_BUFFER) {
        auto const bytes = on.lent->view(flags, result);
        came.append(bytes.data(), bytes.size());
        on.lent->give_back(flags);
    }
    starved = result == -ENOBUFS && !over;
    if (starved) return on.starved.push_back(this);
    if (result == 0 ||
        (result < 0 && result != -ECANCELED && result != -EINTR && result != -EAGAIN))
        over = true;
    if (!active && !over) arm();
    news.set();
}

// Sends everything; false when the client is gone.
coro::task<bool> send_all(server* on, int fd, std::string const* bytes) {
    for (std::size_t sent = 0; sent < bytes->size();) {
        awaited sending;
        io_uring_prep_send(on->queue->submission(sending), fd, bytes->data() + sent,
                           bytes->size() - sent, MSG_NOSIGNAL | MSG_WAITALL);
        co_await sending.done;
        if (sending.result == -EINTR || sending.result == -EAGAIN) continue;
        if (sending.result <= 0) co_return false;
        sent += static_cast<std::size_t>(sending.result);
    }
    co_return true;
}

coro::task<> echo(server* on, int fd) {
    receiver from(*on, fd);
    idle_timer idle;
    idle.of = &from;
    idle.fire = [](timers::entry& self, base::mono_ns) {
        auto& who = *static_cast<idle_timer&>(self).of;
        who.over = true;
        who.news.set();
    };
    from.arm();
    for (bool well = true; well && (!from.over || !from.came.empty());) {
        on->wheel.arm(idle, on->now + patience);
        if (from.came.empty()) co_await from.news;
        auto const bytes = std::exchange(from.came, {});
        bool const sent = co_await send_all(on, fd, &bytes);
        well = sent;
    }
    on->wheel.remove(idle);
    from.over = true;
    std::erase(on->starved, &from);
    if (from.active)
        io_uring_prep_cancel64(on->queue->submission(),
                               reinterpret_cast<std::uintptr_t>(static_cast<operation*>(&from)), 0);
    while (from.active) co_await from.news;
    awaited closing;
    io_uring_prep_close(on->queue->submission(closing), fd);
    co_await closing.done;
}

void server::begin(int socket) {
    listener = socket;
    accept.home = this;
    accept.complete = [](operation& self, std::int32_t result, std::uint32_t flags) {
        auto& home = *static_cast<acceptor&>(self).home;
        home.accepting = (flags & IORING_CQE_F_MORE) != 0;
        if (result >= 0) home.connections.spawn(echo, &home, static_cast<int>(result));
        if (!home.accepting && !home.stopping) home.arm_accept();
    };
    arm_accept();
}

void server::arm_accept() {
    accepting = true;
    io_uring_prep_multishot_accept(queue->submission(accept), listener, nullptr, nullptr,
                                   SOCK_CLOEXEC);
}

void server::turn() {
    queue->enter(!queue->has_completions() && box->may_sleep(), wheel.next());
    box->awake();
    now = base::read_clocks().mono;
    std::vector<completion> ready;
    queue->collect(ready);
    for (auto* mail = box->take(); mail != nullptr;) {
        auto* const next = mail->next.load();
        mail->go_on();
        mail = next;
    }
    for (auto const& done : ready) done.op->complete(*done.op, done.result, done.flags);
    lent->publish();
    if (lent->lent() >= lent->count() / 2)
        for (auto* const each : std::exchange(starved, {})) each->arm();
    wheel.expire(now);
}

void server::run() {
    while (!stopping || accepting || connections.size() != 0) turn();
    box->close();
    while (!box->idle()) turn();
}

void server::stop() {
    stopping = true;
    if (accepting)
        io_uring_prep_cancel64(queue->submission(),
                               reinterpret_cast<std::uintptr_t>(static_cast<operation*>(&accept)),
                               0);
}

// Says something and must hear the same.
class echoed final : public talker {
  public:
    using talker::talker;
    void begin(int listener) {
        auto const size = world_.below(1 << world_.below(16));
        for (std::size_t i = 0; i < size; ++i) said_ += static_cast<char>(world_.below(256));
        slow_ = world_.chance(100);
        connect(listener);
        say(said_);
        // Some never end; the server does, when nothing comes for long.
        if (world_.chance(800)) hang_up();
        if (world_.chance(80))
            world_.after(static_cast<base::mono_ns>(world_.below(5 * ms)), [this] { reset(); });
    }

  private:
    void heard(std::string_view bytes) override {
        world_.expect(said_.compare(heard_, bytes.size(), bytes) == 0, "a wrong byte came back");
        heard_ += bytes.size();
    }
    void ended(bool broken) override {
        if (is_spoiled()) return;
        world_.expect(!broken, "reset without a reason");
        world_.expect(heard_ == said_.size(), "not everything came back");
    }

    std::string said_;
    std::size_t heard_ = 0;
};

struct posted : coro::resumption {
    int* counted = nullptr;
};

void run_echo(world& all) {
    kernel fake(all);
    auto const frames_before = coro::frames_alive();
    coro::frame_pool pool;
    std::vector<std::unique_ptr<echoed>> talkers;
    std::vector<posted> mail(20);
    int delivered = 0;
    {
        coro::frame_pool::installation const use(pool);
        server on;
        int const listener = fake.listen();
        on.begin(listener);
        for (int i = 0; i < 40; ++i)
            all.after(static_cast<base::mono_ns>(all.below(100 * ms)), [&] {
                talkers.push_back(std::make_unique<echoed>(all, fake));
                talkers.back()->begin(listener);
            });
        for (auto& each : mail) {
            each.counted = &delivered;
            each.run = [](coro::resumption& self) { ++*static_cast<posted&>(self).counted; };
            all.after(static_cast<base::mono_ns>(all.below(30 * second)),
                      [&] { on.box->post(each); });
        }
        posted end;
        end.counted = nullptr;
        static server* stopped;
        stopped = &on;
        end.run = [](coro::resumption&) { stopped->stop(); };
        all.after(60 * second, [&] { on.box->post(end); });
        on.run();
        all.expect(on.lent->lent() == on.lent->count(), "a receive buffer is missing");
        all.expect(on.wheel.next() == 0, "a timer was left");
        on.lent.reset();
        on.box.reset();
        on.queue.reset();
    }
    fake.expect_settled();
    for (auto const& each : talkers) all.expect(each->has_ended(), "a client was left waiting");
    all.expect(delivered == static_cast<int>(mail.size()), "mail was lost");
    all.expect(pool.frames() == 0 && coro::frames_alive() == frames_before, "a frame was left");
}

TEST(runtime, keeps_every_byte_and_leaves_nothing_whatever_fails) {
    auto const all = hunt(10'000, run_echo);
    if (HasFailure() || std::getenv("LATCHKEY_SEED") != nullptr) return;
    for (std::size_t i = 0; i < fault_count; ++i) {
        auto const which = static_cast<fault>(i);
        if (which == fault::full_queue || which == fault::late_commit) continue;  // of a store
        EXPECT_GT(all.struck[i], 0u) << name_of(which);
    }
}

TEST(runtime, a_seed_replays_exactly) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
        EXPECT_EQ(run_seed(seed, run_echo).trace, run_seed(seed, run_echo).trace) << seed;
}

}  // namespace
}  // namespace latchkey::uring
