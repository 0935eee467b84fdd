// The simulated sockets: results of operations, and their other ends.
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "kernel.hpp"

namespace latchkey::fake {
namespace {

// Writes into a receive buffer that the product has poisoned while the kernel owns it.
[[clang::no_sanitize("address")]] void fill(std::uint64_t address, std::string_view bytes) {
    auto* target = reinterpret_cast<char volatile*>(address);
    for (char const byte : bytes) *target++ = byte;
}

}  // namespace

// ---- the clients' end

int kernel::listen() {
    listeners_.emplace_back();
    return first_listener + static_cast<int>(listeners_.size()) - 1;
}

connection_ptr kernel::connect(int listener, client& peer) {
    auto socket = std::make_shared<connection>();
    socket->peer = &peer;
    socket->capacity = 512 << world_.below(10);
    auto& queue = listeners_[static_cast<std::size_t>(listener - first_listener)];
    if (queue.shut) {
        world_.after(0, [this, socket] {
            allow_break(*socket);
            break_connection(*socket);
        });
        return socket;
    }
    queue.backlog.push_back(socket);
    for (auto const& op : in_flight_)
        if (op->sqe.opcode == IORING_OP_ACCEPT && op->sqe.fd == listener) schedule(op);
    return socket;
}

void kernel::send(connection_ptr const& target, std::string_view bytes) {
    if (target->broken) return;
    if (target->released) return break_connection(*target);  // the server has closed it
    target->inbound.append(bytes);
    schedule_all(*target);
}

void kernel::end(connection_ptr const& target) {
    target->input_ended = true;
    schedule_all(*target);
}

void kernel::reset(connection_ptr const& target) {
    allow_break(*target);
    // An armed receive may miss a reset that follows data.
    if (!target->inbound.empty() && world_.strikes(fault::unseen_reset)) target->unseen = true;
    break_connection(*target);
}

std::string kernel::take(connection_ptr const& source, std::size_t bytes_max) {
    auto const size = std::min(bytes_max, source->outbound.size());
    auto const bytes = source->outbound.substr(0, size);
    source->outbound.erase(0, size);
    world_.trace(size);  // the size only: the content has ids of the OS's random source
    if (size != 0) schedule_all(*source);
    return bytes;
}

bool kernel::at_end(connection const& source) {
    return source.outbound.empty() && (source.output_ended || source.broken);
}

// ---- results of operations

void kernel::run(std::shared_ptr<operation> const& op) {
    switch (op->sqe.opcode) {
        case IORING_OP_ACCEPT:
            return run_accept(op);
        case IORING_OP_RECV:
            return run_receive(op);
        case IORING_OP_SEND:
            return run_send(op);
        case IORING_OP_READ:
            return run_read(op);
        case IORING_OP_CLOSE:
            return run_close(op);
        default:
            return complete(op, 0);
    }
}

// Failures of any operation.
bool kernel::inject_failure(std::shared_ptr<operation> const& op) {
    if (world_.strikes(fault::interrupted)) {
        complete(op, world_.chance(500) ? -EINTR : -EAGAIN);
        return true;
    }
    if (world_.strikes(fault::cancelled)) {
        if (op->sqe.opcode == IORING_OP_SEND) allow_break(*op->socket);
        complete(op, -ECANCELED);
        return true;
    }
    return false;
}

void kernel::run_accept(std::shared_ptr<operation> const& op) {
    auto& queue = listeners_[static_cast<std::size_t>(op->sqe.fd - first_listener)];
    if (op->cancelled) return complete(op, -ECANCELED);
    if (queue.shut) return complete(op, -EINVAL);
    if (queue.backlog.empty() || inject_failure(op)) return;
    if (world_.strikes(fault::no_descriptor)) {
        static constexpr int codes[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS};
        return complete(op, -codes[world_.below(4)]);
    }
    auto const next = queue.backlog.front();
    queue.backlog.pop_front();
    if (world_.strikes(fault::reset)) {
        allow_break(*next);
        break_connection(*next);
        return complete(op, -ECONNABORTED);
    }
    int const fd = open(next);
    bool const full = cq_used() + ready_.size() >= cq_entries_;
    if (full || world_.strikes(fault::ended_multishot)) return complete(op, fd);
    post(*op, fd, IORING_CQE_F_MORE);
    if (!queue.backlog.empty()) schedule(op);
}

void kernel::run_receive(std::shared_ptr<operation> const& op) {
    auto& source = *op->socket;
    // Input that has arrived may still complete before the cancel does.
    if (op->cancelled && (source.inbound.empty() || world_.chance(700)))
        return complete(op, -ECANCELED);
    if (!source.broken && world_.strikes(fault::reset)) {
        allow_break(source);
        break_connection(source);
    }
    if (source.inbound.empty()) {
        bool const reported = source.broken && !source.unseen;
        if (!reported && !source.input_ended) return;
        bool const with_buffer = has_buffer() && world_.strikes(fault::spare_buffer);
        return complete(op, reported ? -ECONNRESET : 0, with_buffer ? take_buffer() : 0);
    }
    if (inject_failure(op)) return;
    if (world_.strikes(fault::no_memory)) {
        allow_break(source);
        bool const with_buffer = has_buffer() && world_.strikes(fault::spare_buffer);
        return complete(op, -ENOMEM, with_buffer ? take_buffer() : 0);
    }
    if (!has_buffer()) world_.count(fault::no_buffers);
    if (!has_buffer() || world_.strikes(fault::no_buffers)) return complete(op, -ENOBUFS);
    receive_bytes(op);
}

void kernel::receive_bytes(std::shared_ptr<operation> const& op) {
    auto& source = *op->socket;
    auto const& buffer = buffers_->bufs[buffers_head_ & (buffer_count_ - 1)];
    auto size = std::min<std::size_t>(buffer.len, source.inbound.size());
    if (size > 1 && world_.strikes(fault::short_receive)) size = 1 + world_.below(size - 1);
    fill(buffer.addr, std::string_view(source.inbound).substr(0, size));
    source.inbound.erase(0, size);
    auto const result = static_cast<std::int32_t>(size);
    auto const flags = take_buffer();
    bool const full = cq_used() + ready_.size() >= cq_entries_;
    if (full || world_.strikes(fault::ended_multishot)) return complete(op, result, flags);
    post(*op, result, flags | IORING_CQE_F_MORE);
    if (op->cancelled || !source.inbound.empty() || source.input_ended || source.broken)
        schedule(op);
}

bool kernel::has_buffer() const {
    return buffers_ != nullptr && buffers_->tail != buffers_head_;
}

std::uint32_t kernel::take_buffer() {
    auto const id = buffers_->bufs[buffers_head_++ & (buffer_count_ - 1)].bid;
    return std::uint32_t{id} << IORING_CQE_BUFFER_SHIFT | IORING_CQE_F_BUFFER;
}

void kernel::run_send(std::shared_ptr<operation> const& op) {
    auto& target = *op->socket;
    std::string_view const bytes(reinterpret_cast<char const*>(op->sqe.addr), op->sqe.len);
    world_.expect(bytes == op->submitted,
                  "the bytes of a send changed while the kernel owned them");
    auto const result = static_cast<std::int32_t>(op->sent_bytes);
    if (op->cancelled) return complete(op, result != 0 && world_.chance(500) ? result : -ECANCELED);
    if (!target.broken && world_.strikes(fault::reset)) {
        allow_break(target);
        break_connection(target);
    }
    if (target.broken) return complete(op, world_.chance(500) ? -ECONNRESET : -EPIPE);
    world_.expect(!target.output_ended, "a send after the end");
    if (result == 0 && inject_failure(op)) return;
    if (result == 0 && world_.strikes(fault::no_memory)) {
        allow_break(target);
        return complete(op, world_.chance(500) ? -ENOMEM : -ENOBUFS);
    }
    auto const remaining = bytes.size() - op->sent_bytes;
    auto size =
        std::min(target.capacity - std::min(target.capacity, target.outbound.size()), remaining);
    bool const cut = size > 1 && world_.strikes(fault::short_send);
    if (cut) size = 1 + world_.below(size - 1);
    target.outbound.append(bytes.substr(op->sent_bytes, size));
    op->sent_bytes += size;
    if (size != 0) target.peer->readable();
    if (!cut && op->sent_bytes != bytes.size()) return;  // continues after the client has read
    // The client may react before the server gets this completion.
    op->decided = true;
    world_.after(delay_for(&target),
                 [this, op] { complete(op, static_cast<std::int32_t>(op->sent_bytes)); });
}

// Reads from a real eventfd.
void kernel::run_read(std::shared_ptr<operation> const& op) {
    if (op->finished) return;
    if (op->cancelled) return complete(op, -ECANCELED);
    pollfd poll_request{op->sqe.fd, POLLIN, 0};
    if (::poll(&poll_request, 1, 0) != 1) return;
    if (inject_failure(op)) return;
    auto const size = ::read(op->sqe.fd, reinterpret_cast<void*>(op->sqe.addr), 8);
    complete(op, static_cast<std::int32_t>(size));
}

void kernel::run_close(std::shared_ptr<operation> const& op) {
    // Linux closes the descriptor even if the close is interrupted.
    bool const interrupted = world_.strikes(fault::interrupted);
    close(op->sqe.fd);
    complete(op, interrupted ? -EINTR : 0);
}

// ---- descriptors

int kernel::open(connection_ptr source) {
    source->accepted = true;
    auto const free = std::find(open_.begin(), open_.end(), nullptr);
    auto const index = free - open_.begin();
    if (free == open_.end())
        open_.push_back(std::move(source));
    else
        *free = std::move(source);  // the lowest free one, as in POSIX
    return first_descriptor + static_cast<int>(index);
}

bool kernel::is_open(int fd) const {
    auto const index = static_cast<std::size_t>(fd - first_descriptor);
    return index < open_.size() && open_[index] != nullptr;
}

void kernel::close(int fd) {
    world_.expect(is_open(fd), "a descriptor closed twice");
    auto const source = std::exchange(open_[static_cast<std::size_t>(fd - first_descriptor)], {});
    source->closed = true;
    release_if_done(*source);
}

void kernel::release_if_done(connection& target) {
    if (!target.closed || target.holders != 0 || target.released) return;
    target.released = true;
    if (!target.inbound.empty()) {
        // Two seconds after its end a server may stop reading (RFC 9112 §9.6).
        bool const waited =
            target.output_ended && world_.now() - target.output_ended_at >= 2 * second;
        world_.expect(waited || target.may_break || target.broken,
                      "a client was reset without a reason");
        break_connection(target);
        return;
    }
    target.output_ended = true;
    target.peer->readable();
}

void kernel::allow_break(connection& target) {
    if (std::exchange(target.may_break, true)) return;
    target.peer->break_allowed();
}

// Loses the bytes on their way to the client.
void kernel::break_connection(connection& target) {
    if (std::exchange(target.broken, true)) return;
    target.outbound.clear();
    schedule_all(target);
    target.peer->readable();
}

int kernel::accept_now(int listener) {
    auto& queue = listeners_[static_cast<std::size_t>(listener - first_listener)];
    if (queue.backlog.empty()) {
        errno = EAGAIN;
        return -1;
    }
    auto next = queue.backlog.front();
    queue.backlog.pop_front();
    return open(std::move(next));
}

int kernel::shut(int fd, int mode) {
    if (fd >= first_listener) {
        auto& queue = listeners_[static_cast<std::size_t>(fd - first_listener)];
        queue.shut = true;
        for (auto const& each : queue.backlog) {
            allow_break(*each);
            break_connection(*each);
        }
        queue.backlog.clear();
        for (auto const& each : in_flight_)
            if (each->sqe.fd == fd) schedule(each);
        return 0;
    }
    world_.expect(mode == SHUT_WR && is_open(fd), "a shutdown of a closed descriptor");
    auto& source = *open_[static_cast<std::size_t>(fd - first_descriptor)];
    for (auto const& each : in_flight_)
        world_.expect(each->socket.get() != &source || each->sqe.opcode != IORING_OP_SEND,
                      "a shutdown during a send");
    source.output_ended = true;
    source.output_ended_at = world_.now();
    source.peer->readable();
    return 0;
}

short kernel::poll(int fd) {
    world_.expect(is_open(fd), "a poll of a closed descriptor");
    auto const& source = *open_[static_cast<std::size_t>(fd - first_descriptor)];
    return source.broken ? POLLERR | POLLHUP : 0;
}

}  // namespace latchkey::fake
