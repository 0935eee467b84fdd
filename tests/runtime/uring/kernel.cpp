#include "kernel.hpp"

#include <errno.h>

#include <algorithm>
#include <bit>

namespace latchkey::fake {
namespace {

kernel* current_kernel = nullptr;
constexpr base::mono_ns late_max = 400 * ms;

}  // namespace

kernel::kernel(world& owner) : world_(owner) {
    current_kernel = this;
}

kernel::~kernel() {
    current_kernel = nullptr;
}

kernel* kernel::current() {
    return current_kernel;
}

// ---- the ring's life

int kernel::set_up(unsigned entries, io_uring& ring, io_uring_params& params) {
    if (set_up_fails != 0) return -set_up_fails;
    world_.expect(ring_ == nullptr, "a second ring");
    // IORING_SETUP_CLAMP: the queues may be smaller than requested, and in many worlds they are.
    sq_entries_ = std::bit_ceil(entries) >> world_.below(10);
    cq_entries_ = std::max(std::bit_ceil(params.cq_entries) >> world_.below(12), sq_entries_);
    sq_mask_ = sq_entries_ - 1;
    cq_mask_ = cq_entries_ - 1;
    sqes_.assign(sq_entries_, {});
    cqes_.assign(cq_entries_, {});
    array_.assign(sq_entries_, 0);
    sq_head_ = sq_tail_ = sq_flags_ = cq_head_ = cq_tail_ = 0;
    ring = {};
    ring.ring_fd = ring.enter_ring_fd = first_descriptor - 1;
    ring.flags = params.flags;
    ring.sq.khead = &sq_head_;
    ring.sq.ktail = &sq_tail_;
    ring.sq.kflags = &sq_flags_;
    ring.sq.array = array_.data();
    ring.sq.sqes = sqes_.data();
    ring.sq.ring_mask = sq_mask_;
    ring.sq.ring_entries = sq_entries_;
    ring.cq.khead = &cq_head_;
    ring.cq.ktail = &cq_tail_;
    ring.cq.cqes = cqes_.data();
    ring.cq.ring_mask = cq_mask_;
    ring.cq.ring_entries = cq_entries_;
    ring_ = &ring;
    return 0;
}

void kernel::tear_down() {
    world_.expect(in_flight_.empty(), "a ring that ends with operations in flight");
    world_.expect(sq_head_ == ring_->sq.sqe_tail, "a ring that ends with unsubmitted entries");
    ring_ = nullptr;
}

int kernel::register_buffers(io_uring_buf_reg const& registration) {
    if (register_fails != 0) return -register_fails;
    world_.expect(std::has_single_bit(registration.ring_entries),
                  "a number of buffers that is no power of two");
    buffers_ = reinterpret_cast<io_uring_buf_ring*>(registration.ring_addr);
    buffer_count_ = registration.ring_entries;
    buffers_head_ = 0;
    return 0;
}

int kernel::unregister_buffers() {
    if (buffers_ == nullptr) return -EINVAL;
    std::vector<bool> returned(buffer_count_);
    world_.expect(static_cast<std::uint16_t>(buffers_->tail - buffers_head_) == buffer_count_,
                  "a receive buffer was not returned");
    for (std::uint16_t position = buffers_head_; position != buffers_->tail; ++position) {
        auto const id = buffers_->bufs[position & (buffer_count_ - 1)].bid;
        world_.expect(id < buffer_count_ && !returned[id], "a receive buffer was returned twice");
        returned[id] = true;
    }
    buffers_ = nullptr;
    return 0;
}

void kernel::expect_settled() const {
    for (auto const& each : open_) world_.expect(each == nullptr, "a descriptor was left open");
    world_.expect(in_flight_.empty() && ready_.empty(), "an operation was left behind");
}

// ---- enter

int kernel::enter(unsigned to_submit, unsigned min_complete, unsigned flags,
                  io_uring_getevents_arg const& argument) {
    // With DEFER_TASKRUN nothing completes in an enter without GETEVENTS.
    world_.expect((flags & IORING_ENTER_GETEVENTS) != 0, "an enter without GETEVENTS");
    world_.expect(++enters_ < enters_max, "the run does not end: too many enters");
    if (refusals_ < 3 && world_.strikes(fault::refused_enter)) {
        ++refusals_;
        static constexpr int codes[] = {EBUSY, EAGAIN, ENOMEM};
        return -codes[world_.below(3)];
    }
    refusals_ = 0;
    int const submitted_count = submit(to_submit);
    if (submitted_count != static_cast<int>(to_submit)) return submitted_count;
    // Sometimes the thread was not scheduled for a while, and many events are due.
    auto const pause = world_.chance(10) ? 20 * ms : 20 * us;
    world_.pass(static_cast<base::mono_ns>(1 + world_.below(static_cast<std::uint64_t>(pause))));
    run_reads();
    deliver();
    if (min_complete == 0 || cq_used() >= min_complete) return submitted_count;
    if (submitted_count == 0 && world_.strikes(fault::interrupted)) return -EINTR;
    base::mono_ns deadline = INT64_MAX;
    if (auto const* const timeout = reinterpret_cast<__kernel_timespec*>(argument.ts))
        deadline = world_.now() + timeout->tv_sec * second + timeout->tv_nsec;
    if (wait(deadline) || submitted_count != 0) return submitted_count;
    return -ETIME;
}

// Waits for a completion; false if there is none until `deadline`.
bool kernel::wait(base::mono_ns deadline) {
    while (cq_used() == 0) {
        if (!world_.step(deadline)) {
            world_.expect(deadline != INT64_MAX, "the run hangs: no event is due");
            world_.move_to(deadline);
            return false;
        }
        run_reads();
        deliver();
    }
    return true;
}

int kernel::submit(unsigned count) {
    world_.expect(count <= sq_entries_, "more submissions than the queue has");
    if (count != 0 && world_.strikes(fault::part_submitted))
        count = static_cast<unsigned>(world_.below(count));
    for (unsigned i = 0; i < count; ++i) {
        auto const index = array_[sq_head_ & sq_mask_];
        world_.expect(index < sq_entries_, "a submission beyond the queue");
        begin(sqes_[index]);
        // Overwrites the SQE: after submission neither side may use it.
        std::fill_n(reinterpret_cast<char*>(&sqes_[index]), sizeof(io_uring_sqe), '\x5a');
        ++sq_head_;
    }
    return static_cast<int>(count);
}

void kernel::begin(io_uring_sqe const& sqe) {
    auto const op = std::make_shared<operation>();
    op->serial = ++serial_;
    op->sqe = sqe;
    switch (sqe.opcode) {
        case IORING_OP_ASYNC_CANCEL:
            return cancel(sqe.addr, *op);
        case IORING_OP_ACCEPT:
            world_.expect((sqe.ioprio & IORING_ACCEPT_MULTISHOT) != 0,
                          "an accept that is not multishot");
            break;
        case IORING_OP_RECV:
            world_.expect(
                (sqe.ioprio & IORING_RECV_MULTISHOT) != 0 && (sqe.flags & IOSQE_BUFFER_SELECT) != 0,
                "a receive without buffers of the ring");
            break;
        case IORING_OP_SEND:
            world_.expect(sqe.len != 0, "an empty send");
            op->submitted.assign(reinterpret_cast<char const*>(sqe.addr), sqe.len);
            break;
        case IORING_OP_READ:
        case IORING_OP_CLOSE:
        case IORING_OP_NOP:
            break;
        default:
            world_.fail("an opcode that the simulated kernel does not have");
    }
    if (sqe.opcode == IORING_OP_RECV || sqe.opcode == IORING_OP_SEND ||
        sqe.opcode == IORING_OP_CLOSE) {
        world_.expect(is_open(sqe.fd), "an operation on a descriptor that is not open");
        op->socket = open_[static_cast<std::size_t>(sqe.fd - first_descriptor)];
        ++op->socket->holders;
    }
    in_flight_.push_back(op);
    schedule(op);
}

void kernel::cancel(std::uint64_t user_data, operation& request) {
    auto const target = std::find_if(in_flight_.begin(), in_flight_.end(), [&](auto const& each) {
        return each->sqe.user_data == user_data && !each->cancelled;
    });
    std::int32_t result = 0;
    if (target == in_flight_.end()) {
        result = -ENOENT;
    } else if ((*target)->decided) {
        result = -EALREADY;
    } else {
        (*target)->cancelled = true;
        schedule(*target);
    }
    post(request, result, 0);
}

// ---- completions

// Mostly short; sometimes long enough for many other events.
base::mono_ns kernel::delay_for(connection* source) {
    if (source != nullptr && source->lateness_budget > late_max && world_.strikes(fault::late)) {
        auto const delay = static_cast<base::mono_ns>(world_.below(late_max));
        source->lateness_budget -= delay;
        return delay;
    }
    return static_cast<base::mono_ns>(world_.below(30 * us));
}

void kernel::schedule(std::shared_ptr<operation> const& op) {
    if (op->scheduled || op->decided || op->finished) return;
    op->scheduled = true;
    world_.after(delay_for(op->socket.get()), [this, op] {
        op->scheduled = false;
        if (!op->finished && !op->decided) run(op);
    });
}

void kernel::schedule_all(connection const& source) {
    for (auto const& each : in_flight_)
        if (each->socket.get() == &source) schedule(each);
}

void kernel::run_reads() {
    for (std::size_t i = 0; i < in_flight_.size(); ++i)
        if (auto const each = in_flight_[i]; each->sqe.opcode == IORING_OP_READ) run_read(each);
}

void kernel::post(operation& op, std::int32_t result, std::uint32_t flags) {
    ready_.push_back({op.serial, op.sqe.user_data, result, flags});
}

void kernel::complete(std::shared_ptr<operation> const& op, std::int32_t result,
                      std::uint32_t flags) {
    world_.expect(!op->finished, "two final completions");
    op->finished = true;
    post(*op, result, flags);
    in_flight_.erase(std::find(in_flight_.begin(), in_flight_.end(), op));
    if (op->socket == nullptr) return;
    --op->socket->holders;
    release_if_done(*op->socket);
}

unsigned kernel::cq_used() const {
    return cq_tail_ - cq_head_;
}

void kernel::deliver() {
    for (std::size_t i = 1; i < ready_.size(); ++i)
        if (ready_[i].serial != ready_[i - 1].serial && world_.strikes(fault::reordered))
            std::swap(ready_[i], ready_[i - 1]);
    std::size_t count = 0;
    for (; count < ready_.size() && cq_used() < cq_entries_; ++count) {
        auto const& [serial, user_data, result, flags] = ready_[count];
        cqes_[cq_tail_ & cq_mask_] = {user_data, result, flags};
        ++cq_tail_;
        world_.trace(serial << 32 | static_cast<std::uint32_t>(result));
        world_.trace(static_cast<std::uint64_t>(world_.now()) ^ flags);
    }
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(count));
    sq_flags_ = ready_.empty() ? 0 : IORING_SQ_CQ_OVERFLOW;
    if (!ready_.empty()) world_.count(fault::overflow);
}

}  // namespace latchkey::fake
