// Fault simulation of the runtime: an echo server of coroutines on the real ring, buffers, timers
// and mailbox, over a kernel that injects faults. No byte may be wrong or missing, no run may hang,
// and nothing may be left behind. (The service's worker: tests/server/fault_test.cpp.)
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "../coro/event.hpp"
#include "runtime/coro/task_scope.hpp"
#include "runtime/uring/buffers.hpp"
#include "runtime/uring/mailbox.hpp"
#include "runtime/uring/socket.hpp"
#include "runtime/uring/timers.hpp"
#include "seeds.hpp"
#include "sim_client.hpp"

namespace latchkey::uring {
namespace {

using namespace fake;

constexpr base::mono_ns idle_timeout = 20 * second;

struct server;

// An operation that one coroutine waits for, and its result.
struct awaitable_operation : operation {
    coro::event finish;
    std::int32_t result = 0;
    awaitable_operation() {
        complete = [](operation& self, completion const& result) {
            auto& own = static_cast<awaitable_operation&>(self);
            own.result = result.result;
            own.finish.set();
        };
    }
};

// A multishot receive, armed until the input ends.
struct receiver : operation {
    server& owner;
    int fd;
    std::string data;
    coro::event data_ready;
    bool finished = false, starved = false;
    receiver(server& home, int socket);
    void arm();
    void take(completion const& cqe);
};

struct idle_timer : timers::entry {
    receiver* source = nullptr;
};

struct server {
    std::unique_ptr<ring> queue = ring::make().value();
    std::unique_ptr<buffers> receive_buffers = buffers::make(*queue, 16, 128).value();
    std::unique_ptr<mailbox> inbox = mailbox::make(*queue).value();
    timers wheel{base::read_clocks().mono};
    coro::scope connections;
    base::mono_ns now = 0;
    std::vector<receiver*> starved;
    int listener = -1;
    bool stopping = false;
    struct acceptor : operation {
        server* home = nullptr;
    } accept;

    void begin(int socket);
    void arm_accept();
    void turn();
    void run();
    void stop();
};

receiver::receiver(server& home, int socket) : owner(home), fd(socket) {
    complete = [](operation& self, completion const& cqe) {
        static_cast<receiver&>(self).take(cqe);
    };
}

void receiver::arm() {
    receive_multishot(*owner.queue, *this, fd);
}

void receiver::take(completion const& cqe) {
    auto const result = cqe.result;
    if (cqe.has_buffer()) {
        auto const bytes = owner.receive_buffers->view(cqe);
        data.append(bytes.data(), bytes.size());
        owner.receive_buffers->release(cqe);
    }
    starved = result == -ENOBUFS && !finished;
    if (starved) return owner.starved.push_back(this);
    if (result == 0 ||
        (result < 0 && result != -ECANCELED && result != -EINTR && result != -EAGAIN))
        finished = true;
    if (!active && !finished) arm();
    data_ready.set();
}

// Sends everything; false when the connection is broken.
coro::task<bool> send_all(server* owner, int fd, std::string const* bytes) {
    for (std::size_t position = 0; position < bytes->size();) {
        awaitable_operation sending;
        send(*owner->queue, sending, fd, std::string_view(*bytes).substr(position));
        co_await sending.finish;
        if (sending.result == -EINTR || sending.result == -EAGAIN) continue;
        if (sending.result <= 0) co_return false;
        position += static_cast<std::size_t>(sending.result);
    }
    co_return true;
}

coro::task<> echo(server* owner, int fd) {
    receiver input(*owner, fd);
    idle_timer idle;
    idle.source = &input;
    idle.fire = [](timers::entry& self, base::mono_ns) {
        auto& source = *static_cast<idle_timer&>(self).source;
        source.finished = true;
        source.data_ready.set();
    };
    input.arm();
    for (bool connected = true; connected && (!input.finished || !input.data.empty());) {
        owner->wheel.arm(idle, owner->now + idle_timeout);
        if (input.data.empty()) co_await input.data_ready;
        auto const bytes = std::exchange(input.data, {});
        connected = co_await send_all(owner, fd, &bytes);
    }
    owner->wheel.remove(idle);
    input.finished = true;
    std::erase(owner->starved, &input);
    if (input.active) cancel(*owner->queue, input);
    while (input.active) co_await input.data_ready;
    awaitable_operation closing;
    close(*owner->queue, closing, fd);
    co_await closing.finish;
}

void server::begin(int socket) {
    listener = socket;
    accept.home = this;
    accept.complete = [](operation& self, completion const& cqe) {
        auto& home = *static_cast<acceptor&>(self).home;
        if (cqe.result >= 0) home.connections.spawn(echo, &home, static_cast<int>(cqe.result));
        if (!self.active && !home.stopping) home.arm_accept();
    };
    arm_accept();
}

void server::arm_accept() {
    accept_multishot(*queue, accept, listener);
}

void server::turn() {
    queue->enter(!queue->has_completions() && inbox->may_sleep(), wheel.next());
    inbox->awake();
    now = base::read_clocks().mono;
    std::vector<completion> ready;
    queue->collect(ready);
    for (auto* mail = inbox->take(); mail != nullptr;) {
        auto* const next = mail->next.load();
        mail->resume();
        mail = next;
    }
    for (auto const& cqe : ready) cqe.deliver();
    receive_buffers->publish();
    if (receive_buffers->available() >= receive_buffers->count() / 2)
        for (auto* const each : std::exchange(starved, {})) each->arm();
    wheel.expire(now);
}

void server::run() {
    while (!stopping || accept.active || connections.size() != 0) turn();
    inbox->close();
    while (!inbox->idle()) turn();
}

void server::stop() {
    stopping = true;
    if (accept.active) cancel(*queue, accept);
}

// Sends random bytes and expects the same bytes back.
class echo_client final : public sim_client {
  public:
    using sim_client::sim_client;
    void begin(int listener) {
        auto const size = world_.below(1 << world_.below(16));
        for (std::size_t i = 0; i < size; ++i) payload_ += static_cast<char>(world_.below(256));
        reads_slowly_ = world_.chance(100);
        connect(listener);
        send(payload_);
        // Some clients never end; then the server does, after its idle time-out.
        if (world_.chance(800)) end_input();
        if (world_.chance(80))
            world_.after(static_cast<base::mono_ns>(world_.below(5 * ms)), [this] { reset(); });
    }

  private:
    void on_data(std::string_view bytes) override {
        world_.expect(payload_.compare(received_, bytes.size(), bytes) == 0,
                      "a wrong byte came back");
        received_ += bytes.size();
    }
    void on_end(bool broken) override {
        if (may_break()) return;
        world_.expect(!broken, "reset without a reason");
        world_.expect(received_ == payload_.size(), "not everything came back");
    }

    std::string payload_;
    std::size_t received_ = 0;
};

struct counting_message : coro::resumption {
    int* counted = nullptr;
};

void run_echo(world& all) {
    kernel fake(all);
    auto const initial_frames = coro::frames_alive();
    coro::frame_pool pool;
    std::vector<std::unique_ptr<echo_client>> clients;
    std::vector<counting_message> mail(20);
    int delivered = 0;
    {
        coro::frame_pool::installation const use(pool);
        server echo_server;
        int const listener = fake.listen();
        echo_server.begin(listener);
        for (int i = 0; i < 40; ++i)
            all.after(static_cast<base::mono_ns>(all.below(100 * ms)), [&] {
                clients.push_back(std::make_unique<echo_client>(all, fake));
                clients.back()->begin(listener);
            });
        for (auto& each : mail) {
            each.counted = &delivered;
            each.run = [](coro::resumption& self) {
                ++*static_cast<counting_message&>(self).counted;
            };
            all.after(static_cast<base::mono_ns>(all.below(30 * second)),
                      [&] { echo_server.inbox->post(each); });
        }
        counting_message end;
        end.counted = nullptr;
        static server* stopped;
        stopped = &echo_server;
        end.run = [](coro::resumption&) { stopped->stop(); };
        all.after(60 * second, [&] { echo_server.inbox->post(end); });
        echo_server.run();
        all.expect(echo_server.receive_buffers->available() == echo_server.receive_buffers->count(),
                   "a receive buffer is missing");
        all.expect(echo_server.wheel.next() == 0, "a timer was left");
        echo_server.receive_buffers.reset();
        echo_server.inbox.reset();
        echo_server.queue.reset();
    }
    fake.expect_settled();
    for (auto const& each : clients) all.expect(each->has_ended(), "a client was left waiting");
    all.expect(delivered == static_cast<int>(mail.size()), "mail was lost");
    all.expect(pool.frames() == 0 && coro::frames_alive() == initial_frames, "a frame was left");
}

TEST(runtime, loses_no_byte_and_leaves_nothing_behind_under_faults) {
    auto const all = run_seeds(10'000, run_echo);
    if (HasFailure() || std::getenv("LATCHKEY_SEED") != nullptr) return;
    for (std::size_t i = 0; i < fault_count; ++i) {
        auto const kind = static_cast<fault>(i);
        if (kind == fault::full_queue || kind == fault::late_commit) continue;  // faults of a store
        EXPECT_GT(all.injected[i], 0u) << name_of(kind);
    }
}

TEST(runtime, a_seed_replays_exactly) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
        EXPECT_EQ(run_seed(seed, run_echo).trace, run_seed(seed, run_echo).trace) << seed;
}

}  // namespace
}  // namespace latchkey::uring
