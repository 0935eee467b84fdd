#include "runtime/uring/probe.hpp"

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/system/descriptor.hpp"
#include "base/time_units.hpp"
#include "runtime/uring/buffers.hpp"
#include "runtime/uring/ring.hpp"
#include "runtime/uring/socket.hpp"

namespace latchkey::uring {
namespace {

constexpr base::mono_ns timeout = 2 * base::second;

struct recorded_operation : operation {
    completion last{};
    int count = 0;
    recorded_operation() {
        complete = [](operation& self, completion const& cqe) {
            auto& record = static_cast<recorded_operation&>(self);
            ++record.count;
            record.last = cqe;
        };
    }
};

// Runs the ring until `op` has `count` completions; false after a time-out.
bool wait_for(ring& tested, recorded_operation const& op, int count) {
    auto const deadline = base::read_mono() + timeout;
    std::vector<completion> ready;
    while (op.count < count && base::read_mono() < deadline) {
        tested.enter(true, deadline);
        ready.clear();
        tested.collect(ready);
        for (auto const& cqe : ready) cqe.deliver();
    }
    return op.count >= count;
}

base::error missing(std::string_view feature) {
    utsname kernel{};
    uname(&kernel);
    return {"this kernel (" + std::string(kernel.release) + ") lacks " + std::string(feature) +
            " in io_uring: Linux 6.1 or newer is needed"};
}

// A sandbox may allow io_uring_setup and still forbid the calls that use the ring.
base::result<void> probe_calls(ring& tested) {
    int const entered = io_uring_enter(static_cast<unsigned>(tested.fd()), 0, 0, 0, nullptr);
    if (entered < 0) return refusal(entered);
    alignas(io_uring_probe) std::byte empty[sizeof(io_uring_probe)]{};
    int const registered =
        io_uring_register_probe(&tested.native(), reinterpret_cast<io_uring_probe*>(empty), 0);
    if (registered == -EPERM || registered == -ENOSYS) return refusal(registered);
    return {};
}

base::result<void> probe_opcodes(ring& tested) {
    static constexpr struct {
        int code;
        std::string_view name;
    } required[] = {{IORING_OP_ACCEPT, "accept"},
                    {IORING_OP_RECV, "recv"},
                    {IORING_OP_SEND, "send"},
                    {IORING_OP_CLOSE, "close"},
                    {IORING_OP_ASYNC_CANCEL, "cancel"},
                    {IORING_OP_READ, "read"},
                    {IORING_OP_MSG_RING, "messages between rings"}};
    io_uring_probe* const supported = io_uring_get_probe_ring(&tested.native());
    if (supported == nullptr) return missing("the probe");
    std::string_view absent;
    for (auto const& [code, name] : required)
        if (!io_uring_opcode_supported(supported, code)) absent = name;
    io_uring_free_probe(supported);
    if (!absent.empty()) return missing(absent);
    return {};
}

// One multishot receive must deliver two pieces in two buffers and end when it is cancelled.
base::result<void> probe_receive(ring& tested, int sender, int receiver) {
    auto pool = buffers::make(tested, 8, 64);
    if (!pool) return pool.error();
    recorded_operation receive;
    receive_multishot(tested, receive, receiver);
    for (int round = 1; round <= 2; ++round) {
        if (::send(sender, "ab", 2, MSG_NOSIGNAL) != 2)
            return base::errno_error("a socketpair does not send", errno);
        if (!wait_for(tested, receive, round) || receive.last.result != 2 ||
            !receive.last.has_buffer() || !receive.active)
            return missing("multishot receives");
        (*pool)->view(receive.last);
        (*pool)->release(receive.last);
        (*pool)->publish();
    }
    cancel(tested, receive);
    if (!wait_for(tested, receive, 3) || receive.last.result != -ECANCELED || receive.active)
        return missing("cancellation");
    return {};
}

}  // namespace

base::result<void> probe() {
    auto tested = ring::make({.submissions = 8, .completions = 16});
    if (!tested) return tested.error();
    if (auto const calls = probe_calls(**tested); !calls) return calls.error();
    if (auto const opcodes = probe_opcodes(**tested); !opcodes) return opcodes;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return base::errno_error("no socketpair to try io_uring with", errno);
    base::descriptor const sender(pair[0]), receiver(pair[1]);
    return probe_receive(**tested, sender.get(), receiver.get());
}

std::string raise_limits(unsigned workers) {
    std::string warning;
    rlimit open{}, locked{};
    if (getrlimit(RLIMIT_NOFILE, &open) == 0) {
        open.rlim_cur = open.rlim_max;
        setrlimit(RLIMIT_NOFILE, &open);
    }
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0) {
        // Rings are created after privileges are dropped, so one that is held now is used here.
        rlimit const unbounded{RLIM_INFINITY, RLIM_INFINITY};
        locked.rlim_cur = locked.rlim_max;
        if (setrlimit(RLIMIT_MEMLOCK, &unbounded) == 0)
            locked = unbounded;
        else
            setrlimit(RLIMIT_MEMLOCK, &locked);
        // A worker's rings lock about 220 KiB.
        if (locked.rlim_cur < workers * 256ul * 1024)
            warning =
                "only " + std::to_string(locked.rlim_cur / 1024) +
                " KiB may be locked, which may not do for the rings: raise it with ulimit -Hl, or "
                "LimitMEMLOCK= in the unit";
    }
    return warning;
}

}  // namespace latchkey::uring
