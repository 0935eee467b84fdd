#include "uring/probe.hpp"

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "uring/buffers.hpp"
#include "uring/ring.hpp"

namespace latchkey::uring {
namespace {

constexpr base::mono_ns patience = 2'000'000'000;

struct noted : operation {
    std::int32_t result = 0;
    std::uint32_t flags = 0;
    bool last = false;
    int count = 0;
    noted() {
        complete = [](operation& self, std::int32_t result, std::uint32_t flags) {
            auto& me = static_cast<noted&>(self);
            ++me.count;
            me.result = result, me.flags = flags, me.last = (flags & IORING_CQE_F_MORE) == 0;
        };
    }
};

// Turns until `op` has `count` completions; false when they do not come.
bool wait_for(ring& on, noted const& op, int count) {
    auto const until = base::read_clocks().mono + patience;
    std::vector<completion> ready;
    while (op.count < count && base::read_clocks().mono < until) {
        on.enter(true, until);
        ready.clear();
        on.collect(ready);
        for (auto const& done : ready) done.op->complete(*done.op, done.result, done.flags);
    }
    return op.count >= count;
}

base::error missing(std::string_view what) {
    utsname kernel{};
    uname(&kernel);
    return {"this kernel (" + std::string(kernel.release) + ") lacks " + std::string(what) +
            " in io_uring: Linux 6.1 or newer is needed"};
}

// Whoever lets a ring be made may still forbid what it takes to use it.
base::result<void> probe_calls(ring& on) {
    int const entered = io_uring_enter(static_cast<unsigned>(on.fd()), 0, 0, 0, nullptr);
    if (entered < 0) return refusal(entered);
    alignas(io_uring_probe) std::byte none[sizeof(io_uring_probe)]{};
    int const registered =
        io_uring_register_probe(&on.native(), reinterpret_cast<io_uring_probe*>(none), 0);
    if (registered == -EPERM || registered == -ENOSYS) return refusal(registered);
    return {};
}

base::result<void> probe_opcodes(ring& on) {
    static constexpr struct {
        int code;
        std::string_view name;
    } needed[] = {{IORING_OP_ACCEPT, "accept"},
                  {IORING_OP_RECV, "recv"},
                  {IORING_OP_SEND, "send"},
                  {IORING_OP_CLOSE, "close"},
                  {IORING_OP_ASYNC_CANCEL, "cancel"},
                  {IORING_OP_READ, "read"},
                  {IORING_OP_MSG_RING, "messages between rings"}};
    io_uring_probe* const known = io_uring_get_probe_ring(&on.native());
    if (known == nullptr) return missing("the probe");
    std::string_view absent;
    for (auto const& [code, name] : needed)
        if (!io_uring_opcode_supported(known, code)) absent = name;
    io_uring_free_probe(known);
    if (!absent.empty()) return missing(absent);
    return {};
}

// One multishot receive must bring two pieces in two buffers and end when it is cancelled.
base::result<void> probe_receive(ring& on, int sender, int receiver) {
    auto lent = buffers::make(on, 8, 64);
    if (!lent) return lent.error();
    noted receive;
    auto* const sqe = on.submission(receive);
    io_uring_prep_recv_multishot(sqe, receiver, nullptr, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = buffers::group;
    for (int round = 1; round <= 2; ++round) {
        if (::send(sender, "ab", 2, MSG_NOSIGNAL) != 2)
            return base::errno_error("a socketpair does not send", errno);
        if (!wait_for(on, receive, round) || receive.result != 2 ||
            !(receive.flags & IORING_CQE_F_BUFFER) || receive.last)
            return missing("multishot receives");
        (*lent)->view(receive.flags, receive.result);
        (*lent)->give_back(receive.flags);
        (*lent)->publish();
    }
    io_uring_prep_cancel64(on.submission(),
                           reinterpret_cast<std::uintptr_t>(static_cast<operation*>(&receive)), 0);
    if (!wait_for(on, receive, 3) || receive.result != -ECANCELED || !receive.last)
        return missing("cancellation");
    return {};
}

}  // namespace

base::result<void> probe() {
    auto made = ring::make({.submissions = 8, .completions = 16});
    if (!made) return made.error();
    if (auto const calls = probe_calls(**made); !calls) return calls.error();
    if (auto const opcodes = probe_opcodes(**made); !opcodes) return opcodes;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return base::errno_error("no socketpair to try io_uring with", errno);
    auto const received = probe_receive(**made, pair[0], pair[1]);
    ::close(pair[0]);
    ::close(pair[1]);
    return received;
}

std::string raise_limits(unsigned workers, unsigned long descriptors) {
    std::string warning;
    rlimit open{}, locked{};
    if (getrlimit(RLIMIT_NOFILE, &open) == 0) {
        open.rlim_cur = open.rlim_max;
        setrlimit(RLIMIT_NOFILE, &open);
        if (open.rlim_cur < descriptors + 64)
            warning = "at most " + std::to_string(open.rlim_cur) +
                      " files may be open, which also bounds the connections: raise it with ulimit "
                      "-Hn, or LimitNOFILE= "
                      "in the unit";
    }
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0) {
        // The rings are made without any privilege, so one that is there now is used here.
        rlimit const unbounded{RLIM_INFINITY, RLIM_INFINITY};
        locked.rlim_cur = locked.rlim_max;
        if (setrlimit(RLIMIT_MEMLOCK, &unbounded) == 0)
            locked = unbounded;
        else
            setrlimit(RLIMIT_MEMLOCK, &locked);
        // About 220 KiB of rings a worker.
        if (locked.rlim_cur < workers * 256ul * 1024) {
            if (!warning.empty()) warning += "; ";
            warning +=
                "only " + std::to_string(locked.rlim_cur / 1024) +
                " KiB may be locked, which may not do for the rings: raise it with ulimit -Hl, or "
                "LimitMEMLOCK= in the unit";
        }
    }
    return warning;
}

}  // namespace latchkey::uring
