// The made-up sockets: what operations on them come to, and their other ends.
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "kernel.hpp"

namespace latchkey::fake {
namespace {

// Into a buffer that the product has poisoned: it is ours, and only it may not touch it.
[[clang::no_sanitize("address")]] void fill(std::uint64_t at, std::string_view bytes) {
    auto* to = reinterpret_cast<char volatile*>(at);
    for (char const byte : bytes) *to++ = byte;
}

}  // namespace

// ---- what the other end does

int kernel::listen() {
    listeners_.emplace_back();
    return first_listener + static_cast<int>(listeners_.size()) - 1;
}

connection_ptr kernel::connect(int where, client& who) {
    auto made = std::make_shared<connection>();
    made->other = &who;
    made->capacity = 512 << world_.below(10);
    auto& to = listeners_[static_cast<std::size_t>(where - first_listener)];
    if (to.shut) {
        world_.after(0, [this, made] { spoil(*made), break_off(*made); });
        return made;
    }
    to.backlog.push_back(made);
    for (auto const& each : in_flight_)
        if (each->sqe.opcode == IORING_OP_ACCEPT && each->sqe.fd == where) look(each);
    return made;
}

void kernel::send(connection_ptr const& to, std::string_view bytes) {
    if (to->broken) return;
    if (to->released) return break_off(*to);  // nobody is there any more
    to->inbound.append(bytes);
    look_at(*to);
}

void kernel::end(connection_ptr const& to) {
    to->input_ended = true;
    look_at(*to);
}

void kernel::reset(connection_ptr const& to) {
    spoil(*to);
    // Together with data it may go unseen.
    if (!to->inbound.empty() && world_.strikes(fault::unseen_reset)) to->unseen = true;
    break_off(*to);
}

std::string kernel::take(connection_ptr const& from, std::size_t bytes_max) {
    auto const size = std::min(bytes_max, from->outbound.size());
    auto const bytes = from->outbound.substr(0, size);
    from->outbound.erase(0, size);
    world_.trace(size);  // not what they are: ids are made by real chance
    if (size != 0) look_at(*from);
    return bytes;
}

bool kernel::at_end(connection const& of) {
    return of.outbound.empty() && (of.output_ended || of.broken);
}

// ---- what operations come to

void kernel::run(std::shared_ptr<operation> const& which) {
    switch (which->sqe.opcode) {
        case IORING_OP_ACCEPT:
            return run_accept(which);
        case IORING_OP_RECV:
            return run_receive(which);
        case IORING_OP_SEND:
            return run_send(which);
        case IORING_OP_READ:
            return run_read(which);
        case IORING_OP_CLOSE:
            return run_close(which);
        default:
            return complete(which, 0);
    }
}

// The ends that any operation may come to.
bool kernel::struck(std::shared_ptr<operation> const& which) {
    if (world_.strikes(fault::interrupted)) {
        complete(which, world_.chance(500) ? -EINTR : -EAGAIN);
        return true;
    }
    if (world_.strikes(fault::cancelled)) {
        if (which->sqe.opcode == IORING_OP_SEND) spoil(*which->on);
        complete(which, -ECANCELED);
        return true;
    }
    return false;
}

void kernel::run_accept(std::shared_ptr<operation> const& which) {
    auto& from = listeners_[static_cast<std::size_t>(which->sqe.fd - first_listener)];
    if (which->cancelled) return complete(which, -ECANCELED);
    if (from.shut) return complete(which, -EINVAL);
    if (from.backlog.empty() || struck(which)) return;
    if (world_.strikes(fault::no_descriptor)) {
        static constexpr int codes[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS};
        return complete(which, -codes[world_.below(4)]);
    }
    auto const next = from.backlog.front();
    from.backlog.pop_front();
    if (world_.strikes(fault::reset)) {
        spoil(*next);
        break_off(*next);
        return complete(which, -ECONNABORTED);
    }
    int const fd = open(next);
    bool const full = cq_used() + ready_.size() >= cq_entries_;
    if (full || world_.strikes(fault::ended_multishot)) return complete(which, fd);
    post(*which, fd, IORING_CQE_F_MORE);
    if (!from.backlog.empty()) look(which);
}

void kernel::run_receive(std::shared_ptr<operation> const& which) {
    auto& from = *which->on;
    // What has come already may still be told of before a cancel is.
    if (which->cancelled && (from.inbound.empty() || world_.chance(700)))
        return complete(which, -ECANCELED);
    if (!from.broken && world_.strikes(fault::reset)) {
        spoil(from);
        break_off(from);
    }
    if (from.inbound.empty()) {
        bool const told = from.broken && !from.unseen;
        if (!told && !from.input_ended) return;
        bool const with_buffer = has_buffer() && world_.strikes(fault::spare_buffer);
        return complete(which, told ? -ECONNRESET : 0, with_buffer ? take_buffer() : 0);
    }
    if (struck(which)) return;
    if (world_.strikes(fault::no_memory)) {
        spoil(from);
        bool const with_buffer = has_buffer() && world_.strikes(fault::spare_buffer);
        return complete(which, -ENOMEM, with_buffer ? take_buffer() : 0);
    }
    if (!has_buffer()) world_.count(fault::no_buffers);
    if (!has_buffer() || world_.strikes(fault::no_buffers)) return complete(which, -ENOBUFS);
    bring(which);
}

void kernel::bring(std::shared_ptr<operation> const& which) {
    auto& from = *which->on;
    auto const& buffer = buffers_->bufs[buffers_head_ & (buffer_count_ - 1)];
    auto size = std::min<std::size_t>(buffer.len, from.inbound.size());
    if (size > 1 && world_.strikes(fault::short_receive)) size = 1 + world_.below(size - 1);
    fill(buffer.addr, std::string_view(from.inbound).substr(0, size));
    from.inbound.erase(0, size);
    auto const result = static_cast<std::int32_t>(size);
    auto const flags = take_buffer();
    bool const full = cq_used() + ready_.size() >= cq_entries_;
    if (full || world_.strikes(fault::ended_multishot)) return complete(which, result, flags);
    post(*which, result, flags | IORING_CQE_F_MORE);
    if (which->cancelled || !from.inbound.empty() || from.input_ended || from.broken) look(which);
}

bool kernel::has_buffer() const {
    return buffers_ != nullptr && buffers_->tail != buffers_head_;
}

std::uint32_t kernel::take_buffer() {
    auto const id = buffers_->bufs[buffers_head_++ & (buffer_count_ - 1)].bid;
    return std::uint32_t{id} << IORING_CQE_BUFFER_SHIFT | IORING_CQE_F_BUFFER;
}

void kernel::run_send(std::shared_ptr<operation> const& which) {
    auto& to = *which->on;
    std::string_view const bytes(reinterpret_cast<char const*>(which->sqe.addr), which->sqe.len);
    world_.expect(bytes == which->promised, "the bytes of a send changed under the kernel");
    auto const done = static_cast<std::int32_t>(which->done);
    if (which->cancelled)
        return complete(which, done != 0 && world_.chance(500) ? done : -ECANCELED);
    if (!to.broken && world_.strikes(fault::reset)) {
        spoil(to);
        break_off(to);
    }
    if (to.broken) return complete(which, world_.chance(500) ? -ECONNRESET : -EPIPE);
    world_.expect(!to.output_ended, "a send after the end");
    if (done == 0 && struck(which)) return;
    if (done == 0 && world_.strikes(fault::no_memory)) {
        spoil(to);
        return complete(which, world_.chance(500) ? -ENOMEM : -ENOBUFS);
    }
    auto const left = bytes.size() - which->done;
    auto size = std::min(to.capacity - std::min(to.capacity, to.outbound.size()), left);
    bool const cut = size > 1 && world_.strikes(fault::short_send);
    if (cut) size = 1 + world_.below(size - 1);
    to.outbound.append(bytes.substr(which->done, size));
    which->done += size;
    if (size != 0) to.other->readable();
    if (!cut && which->done != bytes.size()) return;  // until the client has read
    // The client may answer before the server hears that its bytes are out.
    which->decided = true;
    world_.after(delay_for(&to),
                 [this, which] { complete(which, static_cast<std::int32_t>(which->done)); });
}

// Of an eventfd, the real one.
void kernel::run_read(std::shared_ptr<operation> const& which) {
    if (which->over) return;
    if (which->cancelled) return complete(which, -ECANCELED);
    pollfd asked{which->sqe.fd, POLLIN, 0};
    if (::poll(&asked, 1, 0) != 1) return;
    if (struck(which)) return;
    auto const size = ::read(which->sqe.fd, reinterpret_cast<void*>(which->sqe.addr), 8);
    complete(which, static_cast<std::int32_t>(size));
}

void kernel::run_close(std::shared_ptr<operation> const& which) {
    // Linux has closed a descriptor even when it says that it was interrupted.
    bool const interrupted = world_.strikes(fault::interrupted);
    close(which->sqe.fd);
    complete(which, interrupted ? -EINTR : 0);
}

// ---- descriptors

int kernel::open(connection_ptr what) {
    what->accepted = true;
    auto const free = std::find(open_.begin(), open_.end(), nullptr);
    auto const index = free - open_.begin();
    if (free == open_.end())
        open_.push_back(std::move(what));
    else
        *free = std::move(what);  // the lowest that is free, as always
    return first_descriptor + static_cast<int>(index);
}

bool kernel::is_open(int fd) const {
    auto const index = static_cast<std::size_t>(fd - first_descriptor);
    return index < open_.size() && open_[index] != nullptr;
}

void kernel::close(int fd) {
    world_.expect(is_open(fd), "a descriptor closed twice");
    auto const which = std::exchange(open_[static_cast<std::size_t>(fd - first_descriptor)], {});
    which->closed = true;
    release_if_done(*which);
}

void kernel::release_if_done(connection& which) {
    if (!which.closed || which.holders != 0 || which.released) return;
    which.released = true;
    if (!which.inbound.empty()) {
        // Two seconds after its end a server need not listen any more (RFC 9112 §9.6).
        bool const waited =
            which.output_ended && world_.now() - which.output_ended_at >= 2 * second;
        world_.expect(waited || which.is_spoiled || which.broken,
                      "a client that did no wrong was reset");
        break_off(which);
        return;
    }
    which.output_ended = true;
    which.other->readable();
}

void kernel::spoil(connection& which) {
    if (std::exchange(which.is_spoiled, true)) return;
    which.other->spoiled();
}

// What was on its way to the client is lost.
void kernel::break_off(connection& which) {
    if (std::exchange(which.broken, true)) return;
    which.outbound.clear();
    look_at(which);
    which.other->readable();
}

int kernel::accept_now(int where) {
    auto& from = listeners_[static_cast<std::size_t>(where - first_listener)];
    if (from.backlog.empty()) {
        errno = EAGAIN;
        return -1;
    }
    auto next = from.backlog.front();
    from.backlog.pop_front();
    return open(std::move(next));
}

int kernel::shut(int fd, int how) {
    if (fd >= first_listener) {
        auto& which = listeners_[static_cast<std::size_t>(fd - first_listener)];
        which.shut = true;
        for (auto const& each : which.backlog) spoil(*each), break_off(*each);
        which.backlog.clear();
        for (auto const& each : in_flight_)
            if (each->sqe.fd == fd) look(each);
        return 0;
    }
    world_.expect(how == SHUT_WR && is_open(fd), "a shutdown of what is not open");
    auto& which = *open_[static_cast<std::size_t>(fd - first_descriptor)];
    for (auto const& each : in_flight_)
        world_.expect(each->on.get() != &which || each->sqe.opcode != IORING_OP_SEND,
                      "an end in the middle of a send");
    which.output_ended = true;
    which.output_ended_at = world_.now();
    which.other->readable();
    return 0;
}

short kernel::poll(int fd) {
    world_.expect(is_open(fd), "a poll of what is not open");
    auto const& which = *open_[static_cast<std::size_t>(fd - first_descriptor)];
    return which.broken ? POLLERR | POLLHUP : 0;
}

}  // namespace latchkey::fake
