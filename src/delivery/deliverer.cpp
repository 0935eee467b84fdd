#include "delivery/deliverer.hpp"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>

#include "auth/key_form.hpp"
#include "base/check.hpp"
#include "base/system/poll_until.hpp"

namespace latchkey::delivery {
namespace {

// For the last results, where the writer refuses them.
constexpr base::mono_ns finish_patience = 2 * base::second;

std::uint64_t random_seed() {
    std::uint64_t seed = 0;
    auth::random_bytes(&seed, sizeof seed);
    return seed;
}

}  // namespace

deliverer::deliverer(base::descriptor socket, deliverer_options options)
    : store_(options.store),
      event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      link_(std::move(socket)),
      dispatcher_({.store = options.store,
                   .writer = options.writer,
                   .link = link_,
                   .allow = std::move(options.allow),
                   .event = event_.get(),
                   .seed = random_seed(),
                   .node = options.node,
                   .node_name = std::move(options.node_name),
                   .lease_length = options.lease_length}) {}

base::result<std::unique_ptr<deliverer>> deliverer::make(base::descriptor socket,
                                                         deliverer_options options) {
    std::unique_ptr<deliverer> result(new deliverer(std::move(socket), std::move(options)));
    if (!result->event_.is_open()) return base::errno_error("no eventfd for webhooks", EMFILE);
    return result;
}

deliverer::~deliverer() {
    finish();
}

void deliverer::begin(start time) {
    is_held_ = time == start::on_release;
    thread_ = std::thread([this] { run(); });
    ::pthread_setname_np(thread_.native_handle(), "deliverer");
}

void deliverer::wake() {
    std::uint64_t const one = 1;
    [[maybe_unused]] auto const ignored = ::write(event_.get(), &one, sizeof one);
}

void deliverer::release() {
    is_held_ = false;
    wake();
}

void deliverer::drain() {
    is_draining_ = true;
    wake();
}

void deliverer::finish() {
    if (!thread_.joinable()) return;
    is_finishing_ = is_draining_ = true;
    wake();
    thread_.join();
}

base::instant deliverer::read_time() const {
    auto now = base::read_clocks();
    now.wall = store_.time();
    return now;
}

void deliverer::await_release() const {
    while (is_held_ && !is_finishing_) {
        pollfd event{.fd = event_.get(), .events = POLLIN, .revents = 0};
        if (base::poll_until({&event, 1}, base::never) <= 0) continue;
        std::uint64_t count = 0;
        [[maybe_unused]] auto const ignored = ::read(event_.get(), &count, sizeof count);
    }
}

void deliverer::run() {
    await_release();
    base::mono_ns deadline = 0;
    for (;;) {
        if (is_draining_) dispatcher_.drain();
        auto const now = read_time();
        auto const next = dispatcher_.turn(now);
        if (is_finishing_) {
            if (deadline == 0) deadline = now.mono + finish_patience;
            if (!dispatcher_.is_busy() || now.mono >= deadline) break;
        }
        wait(next);
    }
    // The writer answers whatever it has taken.
    while (!dispatcher_.give_up()) wait(base::read_mono() + base::second);
}

void deliverer::wait(base::mono_ns deadline) {
    bool const has_link = dispatcher_.failure().empty();
    std::array<pollfd, 2> polled{
        {{event_.get(), POLLIN, 0}, {link_.descriptor(), has_link ? link_.events() : short{0}, 0}}};
    if (base::poll_until({polled.data(), has_link ? 2u : 1u}, deadline) <= 0) return;
    std::uint64_t count = 0;
    [[maybe_unused]] auto const ignored = ::read(event_.get(), &count, sizeof count);
}

}  // namespace latchkey::delivery
