// One io_uring_enter both submits and fetches completions, since with DEFER_TASKRUN the kernel
// posts them only then. Completions are copied out and the queue is advanced before any of them
// runs. Where a full queue must be emptied within a turn, these wait in `early_`. The ring is
// restricted while it is disabled.
#include "runtime/uring/ring.hpp"

#include <errno.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/time_units.hpp"

namespace latchkey::uring {
namespace {

thread_local ring* ring_of_thread = nullptr;

// The user_data of submissions whose completion is ignored.
constexpr operation ignored;

// Restrictions of the ring to what the service does: an unrestricted ring would bypass the seccomp
// filter.
constexpr std::uint8_t operations[] = {IORING_OP_NOP,  IORING_OP_ACCEPT,  IORING_OP_RECV,
                                       IORING_OP_SEND, IORING_OP_CLOSE,   IORING_OP_ASYNC_CANCEL,
                                       IORING_OP_READ, IORING_OP_MSG_RING};
constexpr std::uint8_t registrations[] = {IORING_REGISTER_PROBE, IORING_REGISTER_PBUF_RING,
                                          IORING_UNREGISTER_PBUF_RING, IORING_REGISTER_RING_FDS,
                                          IORING_UNREGISTER_RING_FDS};

// Registers the restrictions, which is possible only while the ring is disabled, and enables it.
int restrict_and_enable(io_uring& native) {
    std::vector<io_uring_restriction> rules;
    for (auto const code : operations)
        rules.push_back(
            {.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = code, .resv = 0, .resv2 = {}});
    for (auto const code : registrations)
        rules.push_back({.opcode = IORING_RESTRICTION_REGISTER_OP,
                         .register_op = code,
                         .resv = 0,
                         .resv2 = {}});
    rules.push_back({.opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED,
                     .sqe_flags = IOSQE_BUFFER_SELECT,
                     .resv = 0,
                     .resv2 = {}});
    // liburing 2.3 declares functions for these two and does not export them.
    auto const fd = static_cast<unsigned>(native.ring_fd);
    int const code = io_uring_register(fd, IORING_REGISTER_RESTRICTIONS, rules.data(),
                                       static_cast<unsigned>(rules.size()));
    return code < 0 ? code : io_uring_register(fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
}

}  // namespace

base::error refusal(int number) {
    switch (-number) {
        case ENOSYS:
            // Podman's default profile answers ENOSYS too.
            return {
                "there is no io_uring here: Linux 6.1 or newer is needed and, in a container, a "
                "seccomp profile that allows io_uring_setup, io_uring_enter and io_uring_register"};
        case EPERM:
            return {
                "io_uring is forbidden here: set the sysctl kernel.io_uring_disabled to 0 or, in a "
                "container, use a seccomp profile that allows io_uring_setup, io_uring_enter and "
                "io_uring_register (Docker's default does not)"};
        case EINVAL:
            return {"this kernel's io_uring is too old: Linux 6.1 or newer is needed"};
        case ENOMEM:
            return {
                "no memory may be locked for io_uring: raise the limit of locked memory (ulimit "
                "-l, or LimitMEMLOCK= in the unit)"};
        case EMFILE:
        case ENFILE:
            return {
                "no descriptor is left for io_uring: raise the limit of open files (ulimit -n, or "
                "LimitNOFILE= in the unit)"};
        default:
            return base::errno_error("io_uring cannot be set up", number);
    }
}

base::result<std::unique_ptr<ring>> ring::make(ring_options options) {
    std::unique_ptr<ring> created(new ring);
    io_uring_params params{};
    params.flags = IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER |
                   IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN |
                   IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP |
                   IORING_SETUP_R_DISABLED;
    params.cq_entries = options.completions;
    if (int const code = io_uring_queue_init_params(options.submissions, &created->ring_, &params);
        code < 0) {
        created->ring_.ring_fd = -1;
        return refusal(code);
    }
    if (int const code = restrict_and_enable(created->ring_); code < 0) return refusal(code);
    // The identity in the SQ's index array: submitting is then only a store to the tail.
    for (unsigned i = 0; i < created->ring_.sq.ring_entries; ++i) created->ring_.sq.array[i] = i;
    // Saves a descriptor look-up per enter; optional.
    io_uring_register_ring_fd(&created->ring_);
    base::check(ring_of_thread == nullptr, "a thread has one ring");
    ring_of_thread = created.get();
    return created;
}

ring::~ring() {
    if (ring_.ring_fd < 0) return;
    io_uring_queue_exit(&ring_);
    if (ring_of_thread == this) ring_of_thread = nullptr;
}

ring* ring::of_this_thread() {
    return ring_of_thread;
}

io_uring_sqe* ring::submission(operation& op) {
    op.active = true;
    return next_submission(op);
}

io_uring_sqe* ring::submission() {
    return next_submission(ignored);
}

io_uring_sqe* ring::next_submission(operation const& op) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    while (sqe == nullptr) {
        submit(0, 0);
        // A full completion queue blocks submissions. What is reaped here arrived after this turn's
        // snapshot, so it is kept for the next turn.
        reap(early_);
        sqe = io_uring_get_sqe(&ring_);
    }
    // The prep helpers do not touch user_data.
    sqe->user_data = reinterpret_cast<std::uintptr_t>(&op);
    return sqe;
}

bool ring::has_completions() const {
    return !early_.empty() || io_uring_cq_ready(&ring_) != 0;
}

void ring::enter(bool block, base::mono_ns deadline) {
    submit(block ? 1 : 0, deadline);
}

int ring::submit(unsigned completions_min, base::mono_ns deadline) {
    auto& sq = ring_.sq;
    io_uring_smp_store_release(sq.ktail, sq.sqe_tail);
    unsigned const pending = sq.sqe_tail - io_uring_smp_load_acquire(sq.khead);
    // With DEFER_TASKRUN completions are posted only by an enter with GETEVENTS.
    unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
    if (ring_.int_flags & 1) flags |= IORING_ENTER_REGISTERED_RING;
    io_uring_getevents_arg argument{};
    __kernel_timespec timeout{};
    if (completions_min != 0 && deadline != 0) {
        auto const remaining = std::max<base::mono_ns>(deadline - base::read_mono(), 0);
        timeout.tv_sec = remaining / base::second;
        timeout.tv_nsec = remaining % base::second;
        argument.ts = reinterpret_cast<std::uintptr_t>(&timeout);
    }
    int const code =
        io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), pending, completions_min, flags,
                        reinterpret_cast<sigset_t*>(&argument), sizeof argument);
    // EBUSY, EAGAIN, ENOMEM: no room or memory in the kernel; the rest stays queued for the next
    // turn. ETIME and EINTR end a wait.
    base::check(code >= 0 || code == -ETIME || code == -EINTR || code == -EBUSY ||
                    code == -EAGAIN || code == -ENOMEM,
                "io_uring_enter failed in a way that only a bug can cause");
    if (code == -EBUSY || code == -EAGAIN || code == -ENOMEM) ++refusals_;
    return code;
}

void ring::collect(std::vector<completion>& ready) {
    ready.insert(ready.end(), early_.begin(), early_.end());
    early_.clear();
    reap(ready);
}

void ring::reap(std::vector<completion>& ready) {
    unsigned head = 0, count = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
        ++count;
        if (cqe->user_data == reinterpret_cast<std::uintptr_t>(&ignored)) continue;
        ready.push_back({reinterpret_cast<operation*>(cqe->user_data), cqe->res, cqe->flags});
    }
    io_uring_cq_advance(&ring_, count);
}

void ring::wake(int other_ring, operation& target) {
    io_uring_prep_msg_ring(submission(), other_ring, 0, reinterpret_cast<std::uintptr_t>(&target),
                           0);
}

}  // namespace latchkey::uring
