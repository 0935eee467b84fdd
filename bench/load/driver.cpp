#include "driver.hpp"

#include <errno.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <deque>
#include <memory>
#include <stdexcept>
#include <utility>

#include "answer_head.hpp"
#include "tls_client.hpp"

namespace load {
namespace {

using ns = std::int64_t;
constexpr ns second = 1'000'000'000;
constexpr unsigned buffer_count = 1024, buffer_bytes = 16384, buffer_group = 0;
constexpr ns drain_max = second;  // how long answers are waited for at the end
constexpr unsigned tick_completions = 64;  // that end a tick early

ns clock_now(clockid_t which) {
    timespec now{};
    ::clock_gettime(which, &now);
    return now.tv_sec * second + now.tv_nsec;
}

enum class operation : std::uint8_t { connect, receive, send };

struct pending {
    ns since;
    std::uint32_t kind;
};

struct stream;

struct connection {
    stream* of = nullptr;
    int descriptor = -1;
    bool up = false;  // connected, and with TLS the handshake is done
    bool sending = false;
    bool receiving = false;
    bool dirty = false;
    bool ended = false;   // to be closed, and in the reconnect modes opened again
    std::string waiting;  // bytes for the next send, encrypted where there is TLS
    std::string sent;     // those the kernel has
    std::string plain;    // requests that are not encrypted yet
    std::string in;       // an answer that is not complete
    std::deque<pending> flight;
    std::unique_ptr<tls_client> tls;
    bssl::UniquePtr<SSL_SESSION> session;
    ns due = 0;  // of the request that a fresh connection is for
};

// Requests of one kind of client, and what became of them.
struct stream {
    options const& how;
    plan const& what;
    ns interval = 0, next_due = 0;  // open loop
    std::deque<std::size_t> free;   // connections with room, one entry for each request
    results seen;

    stream(options const& given, plan const& asked) : how(given), what(asked) {
        if (how.rate > 0) interval = static_cast<ns>(double(second) / how.rate);
        seen.latencies.resize(what.kinds().size());
    }
    bool is_right(answer_head const& head) const {
        bool fine = how.statuses.empty() && head.status / 100 == 2;
        for (auto const each : how.statuses) fine |= each == head.status;
        return fine && head.content >= how.bytes_min && head.content <= how.bytes_max;
    }
};

class driver {
  public:
    driver(options const& how, plan const& what);
    ~driver();
    results run(std::atomic<unsigned>& ready, unsigned threads);

  private:
    void set_up_ring();
    io_uring_sqe* submission(operation op, std::size_t at);
    void open(std::size_t at);
    void receive(std::size_t at);
    void touch(std::size_t at);
    void flush();
    void turn(ns until);
    void complete(io_uring_cqe const& done);
    void received(std::size_t at, io_uring_cqe const& done);
    void consume(std::size_t at);
    void count(connection& on, answer_head const& head, std::string_view text);
    void came_up(std::size_t at);
    void close(std::size_t at);
    void ask(std::size_t at, ns since);
    void issue();
    void finish(stream& of, double seconds, double cpu_seconds);
    bool all_up() const;
    std::uint64_t in_flight(stream const& of) const;
    std::uint64_t in_flight() const;

    options const& how_;
    std::deque<stream> streams_;  // those asked for, and those beside them
    io_uring ring_{};
    io_uring_buf_ring* lent_ = nullptr;
    std::vector<char> memory_ = std::vector<char>(std::size_t{buffer_count} * buffer_bytes);
    std::vector<connection> connections_;
    std::vector<std::size_t> dirty_;
    std::optional<tls_context> tls_;
    random random_;
    std::uint64_t unique_, turn_ = 0;
    ns now_ = 0;
    bool measuring_ = false, asking_ = false;
};

driver::driver(options const& how, plan const& what)
    : how_(how),
      random_(how.seed),
      // Neither other runs against the same store nor other threads may have the same numbers.
      unique_(static_cast<std::uint64_t>(clock_now(CLOCK_REALTIME)) / 1000 * unique_step +
              how.seed) {
    if (how.core >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<unsigned>(how.core), &set);
        ::sched_setaffinity(0, sizeof set, &set);
    }
    // The kernel would let a thread sleep 50 us longer than it asked for.
    if (how.tick_seconds > 0) ::prctl(PR_SET_TIMERSLACK, 1000);
    if (how.tls) tls_.emplace(how.tls_version_max);
    streams_.emplace_back(how, what);
    if (how.beside) streams_.emplace_back(how.beside->how, how.beside->what);
    for (auto& each : streams_)
        for (unsigned i = 0; i < each.how.connections; ++i) connections_.emplace_back().of = &each;
    set_up_ring();
}

driver::~driver() {
    io_uring_queue_exit(&ring_);
    for (auto const& each : connections_)
        if (each.descriptor >= 0) ::close(each.descriptor);
    ::free(lent_);
}

void driver::set_up_ring() {
    io_uring_params params{};
    params.flags = IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER |
                   IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CQSIZE |
                   IORING_SETUP_CLAMP;
    params.cq_entries = 32768;
    if (int const code = io_uring_queue_init_params(4096, &ring_, &params); code < 0)
        throw std::runtime_error("io_uring: " + std::string(::strerror(-code)));
    io_uring_register_ring_fd(&ring_);
    void* pages = nullptr;
    if (::posix_memalign(&pages, 4096, buffer_count * sizeof(io_uring_buf)) != 0)
        throw std::bad_alloc();
    lent_ = static_cast<io_uring_buf_ring*>(pages);
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uintptr_t>(lent_);
    registration.ring_entries = buffer_count;
    registration.bgid = buffer_group;
    if (int const code = io_uring_register_buf_ring(&ring_, &registration, 0); code < 0)
        throw std::runtime_error("io_uring buffers: " + std::string(::strerror(-code)));
    io_uring_buf_ring_init(lent_);
    for (unsigned i = 0; i < buffer_count; ++i)
        io_uring_buf_ring_add(lent_, &memory_[std::size_t{i} * buffer_bytes], buffer_bytes,
                              static_cast<std::uint16_t>(i), buffer_count - 1, static_cast<int>(i));
    io_uring_buf_ring_advance(lent_, buffer_count);
}

results driver::run(std::atomic<unsigned>& ready, unsigned threads) {
    now_ = clock_now(CLOCK_MONOTONIC);
    if (how_.again == reconnect::never) {
        for (std::size_t i = 0; i < connections_.size(); ++i) open(i);
        for (auto const until = now_ + 20 * second; !all_up(); turn(now_ + second))
            if (now_ > until) throw std::runtime_error("not all connections came up in 20 s");
    }
    ready.fetch_add(1);
    while (ready.load() < threads) turn(now_ + second / 100);

    asking_ = true;
    for (auto& each : streams_) each.next_due = now_;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        auto& of = *connections_[i].of;
        if (how_.again != reconnect::never) open(i);
        for (unsigned k = 0; k < of.how.pipeline; ++k)
            if (how_.again == reconnect::never && of.interval == 0)
                ask(i, now_);
            else if (how_.again == reconnect::never)
                of.free.push_back(i);
    }
    auto const begin = now_ + static_cast<ns>(how_.warmup_seconds * double(second));
    while (now_ < begin) turn(begin);
    measuring_ = true;
    auto const started = now_, cpu = clock_now(CLOCK_THREAD_CPUTIME_ID);
    auto const end = started + static_cast<ns>(how_.seconds * double(second));
    while (now_ < end) turn(end);
    auto const seconds = double(now_ - started) / double(second);
    auto const cpu_seconds = double(clock_now(CLOCK_THREAD_CPUTIME_ID) - cpu) / double(second);
    asking_ = measuring_ = false;
    for (auto const until = now_ + drain_max; in_flight() != 0 && now_ < until;)
        turn(now_ + second / 20);
    for (auto& each : streams_) finish(each, seconds, cpu_seconds);
    auto seen = std::move(streams_.front().seen);
    if (streams_.size() > 1) seen.beside.push_back(std::move(streams_.back().seen));
    return seen;
}

void driver::finish(stream& of, double seconds, double cpu_seconds) {
    of.seen.seconds = seconds;
    of.seen.cpu_seconds = cpu_seconds;
    of.seen.unanswered = in_flight(of);
}

// What is due is sent, in one system call with the wait; then everything that came is looked at.
void driver::turn(ns until) {
    issue();
    flush();
    auto wait = until - now_;
    unsigned wanted = 1;
    for (auto const& each : streams_) {
        if (!asking_ || each.interval == 0) continue;
        if (how_.tick_seconds > 0) {
            wait = std::min(wait, static_cast<ns>(how_.tick_seconds * double(second)));
            wanted = tick_completions;
        } else if (!each.free.empty()) {
            wait = std::min(wait, each.next_due - now_);
        }
    }
    __kernel_timespec timeout{};
    timeout.tv_sec = std::max<ns>(wait, 0) / second;
    timeout.tv_nsec = std::max<ns>(wait, 0) % second;
    io_uring_getevents_arg argument{};
    argument.ts = reinterpret_cast<std::uintptr_t>(&timeout);
    auto& sq = ring_.sq;
    unsigned const pending = io_uring_sq_ready(&ring_);
    // liburing 2.3 leaves GETEVENTS out when a completion is there already; with DEFER_TASKRUN
    // that would make no new ones.
    for (; sq.sqe_head != sq.sqe_tail; ++sq.sqe_head)
        sq.array[*sq.ktail & sq.ring_mask] = sq.sqe_head & sq.ring_mask, ++*sq.ktail;
    int const code =
        io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), pending, wanted,
                        IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG |
                            ((ring_.int_flags & 1) != 0 ? IORING_ENTER_REGISTERED_RING : 0),
                        reinterpret_cast<sigset_t*>(&argument), sizeof argument);
    if (code < 0 && code != -ETIME && code != -EINTR && code != -EBUSY && code != -EAGAIN)
        throw std::runtime_error("io_uring_enter: " + std::string(::strerror(-code)));
    now_ = clock_now(CLOCK_MONOTONIC);
    unsigned head = 0, seen = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
        ++seen;
        complete(*cqe);
    }
    io_uring_cq_advance(&ring_, seen);
}

// Open loop: a request that found no room keeps the time at which it was due.
void driver::issue() {
    if (!asking_ || how_.again != reconnect::never) return;
    for (auto& each : streams_) {
        if (each.interval == 0) continue;
        for (; each.next_due <= now_ && !each.free.empty(); each.next_due += each.interval) {
            auto const at = each.free.front();
            each.free.pop_front();
            ask(at, each.next_due);
        }
    }
}

void driver::ask(std::size_t at, ns since) {
    auto& on = connections_[at];
    auto& to = tls_ ? on.plain : on.waiting;
    auto const which = on.of->what.append(to, random_, unique_, turn_);
    on.flight.push_back({since, static_cast<std::uint32_t>(which)});
    touch(at);
}

void driver::touch(std::size_t at) {
    if (std::exchange(connections_[at].dirty, true)) return;
    dirty_.push_back(at);
}

void driver::flush() {
    for (auto const at : dirty_) {
        auto& on = connections_[at];
        on.dirty = false;
        if (on.ended) continue;
        if (on.tls && on.up && !on.plain.empty()) {
            if (!on.tls->send(on.plain, on.waiting)) on.ended = true;
            on.plain.clear();
        }
        if (on.sending || on.waiting.empty() || (!on.up && !on.tls)) continue;
        on.sending = true;
        on.sent.swap(on.waiting);
        on.waiting.clear();
        io_uring_prep_send(submission(operation::send, at), on.descriptor, on.sent.data(),
                           on.sent.size(), MSG_WAITALL | MSG_NOSIGNAL);
    }
    dirty_.clear();
}

io_uring_sqe* driver::submission(operation op, std::size_t at) {
    auto* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) io_uring_submit(&ring_), sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) throw std::runtime_error("the ring is full");
    sqe->user_data = static_cast<std::uint64_t>(op) << 32 | at;
    return sqe;
}

void driver::open(std::size_t at) {
    auto& on = connections_[at];
    on.descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (on.descriptor < 0) throw std::runtime_error("socket: " + std::string(::strerror(errno)));
    int const one = 1;
    ::setsockopt(on.descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (how_.again != reconnect::never) {
        // Closing with a reset leaves no TIME_WAIT, of which the ports would run out.
        linger const hard{1, 0};
        ::setsockopt(on.descriptor, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        on.due = now_;
    }
    if (on.of->how.from.s_addr != 0) {
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr = on.of->how.from;
        if (::bind(on.descriptor, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0)
            throw std::runtime_error("bind: " + std::string(::strerror(errno)));
    }
    on.up = on.ended = false;
    on.flight.clear();
    on.in.clear(), on.plain.clear(), on.waiting.clear();
    io_uring_prep_connect(submission(operation::connect, at), on.descriptor,
                          reinterpret_cast<sockaddr const*>(&how_.server), sizeof how_.server);
}

void driver::receive(std::size_t at) {
    auto& on = connections_[at];
    on.receiving = true;
    auto* const sqe = submission(operation::receive, at);
    io_uring_prep_recv_multishot(sqe, on.descriptor, nullptr, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = buffer_group;
}

void driver::complete(io_uring_cqe const& done) {
    auto const at = static_cast<std::size_t>(done.user_data & 0xffffffff);
    auto& on = connections_[at];
    switch (static_cast<operation>(done.user_data >> 32)) {
        case operation::connect:
            if (done.res < 0)
                throw std::runtime_error("the server does not answer: " +
                                         std::string(::strerror(-done.res)));
            receive(at);
            if (!tls_) return came_up(at);
            on.tls = std::make_unique<tls_client>(
                *tls_, how_.again == reconnect::resumed ? on.session.get() : nullptr);
            on.tls->send({}, on.waiting);
            touch(at);
            return;
        case operation::receive:
            return received(at, done);
        case operation::send:
            on.sending = false;
            on.sent.clear();
            if (done.res < 0) on.ended = true;
            if (on.ended) return close(at);
            if (!on.waiting.empty() || !on.plain.empty()) touch(at);
            return;
    }
}

void driver::came_up(std::size_t at) {
    auto& on = connections_[at];
    on.up = true;
    if (on.tls && measuring_)
        ++on.of->seen.handshakes, on.of->seen.resumed += on.tls->resumed() ? 1 : 0;
    if (how_.again != reconnect::never && asking_) ask(at, on.due);
    if (!on.plain.empty() || !on.waiting.empty()) touch(at);
}

void driver::received(std::size_t at, io_uring_cqe const& done) {
    auto& on = connections_[at];
    if ((done.flags & IORING_CQE_F_MORE) == 0) on.receiving = false;
    if ((done.flags & IORING_CQE_F_BUFFER) != 0) {
        auto const id = done.flags >> IORING_CQE_BUFFER_SHIFT;
        char* const begin = &memory_[std::size_t{id} * buffer_bytes];
        std::string_view const bytes(begin, static_cast<std::size_t>(done.res));
        if (!on.ended && on.tls) {
            bool const fine = on.tls->receive(bytes, on.in, on.waiting);
            if (!on.waiting.empty()) touch(at);
            if (!on.up && on.tls->ready()) came_up(at);
            if (!fine) on.ended = true;
            consume(at);
        } else if (!on.ended) {
            on.in.append(bytes);
            consume(at);
        }
        io_uring_buf_ring_add(lent_, begin, buffer_bytes, static_cast<std::uint16_t>(id),
                              buffer_count - 1, 0);
        io_uring_buf_ring_advance(lent_, 1);
    }
    if (done.res <= 0 && done.res != -ENOBUFS) on.ended = true;
    if (on.ended) return close(at);
    if (!on.receiving) receive(at);
}

// Counts the complete answers at the front of what came, and asks anew for each.
void driver::consume(std::size_t at) {
    auto& on = connections_[at];
    std::string_view rest = on.in;
    while (!on.flight.empty()) {
        auto const head = read_head(rest);
        if (!head || rest.size() < head->bytes) break;
        count(on, *head, rest);
        rest.remove_prefix(head->bytes);
        on.flight.pop_front();
        if (how_.again != reconnect::never) {
            if (on.tls) {
                if (auto ticket = on.tls->take_session()) on.session = std::move(ticket);
            }
            on.ended = true;
            break;
        }
        if (!asking_) continue;
        if (on.of->interval == 0)
            ask(at, now_);
        else
            on.of->free.push_back(at);
    }
    on.in.erase(0, on.in.size() - rest.size());
}

void driver::count(connection& on, answer_head const& head, std::string_view text) {
    auto& seen = on.of->seen;
    bool const fine = on.of->is_right(head);
    if (!fine && seen.first_wrong.empty())
        seen.first_wrong = text.substr(0, std::min<std::size_t>(head.bytes, 2000));
    if (!measuring_) return;
    ++seen.answers;
    ++seen.statuses[std::min<std::size_t>(head.status, seen.statuses.size() - 1)];
    if (!fine) {
        ++seen.wrong;
        return;
    }
    auto const& asked = on.flight.front();
    seen.latencies[asked.kind].count(now_ - asked.since);
}

// Once the kernel holds nothing of it, it is closed, and in the reconnect modes opened again.
void driver::close(std::size_t at) {
    auto& on = connections_[at];
    if (on.descriptor < 0) return;
    if (on.receiving || on.sending) {
        ::shutdown(on.descriptor, SHUT_RDWR);
        return;
    }
    if (!asking_ && !on.up) throw std::runtime_error("the server closed a connection at once");
    auto const lost = on.flight.size();
    if (measuring_) on.of->seen.broken += lost;
    ::close(std::exchange(on.descriptor, -1));
    on.tls.reset();
    on.flight.clear();
    if (!asking_) return;
    open(at);
    for (std::size_t i = 0; i < lost && how_.again == reconnect::never; ++i)
        if (on.of->interval == 0)
            ask(at, now_);
        else
            on.of->free.push_back(at);
}

bool driver::all_up() const {
    for (auto const& each : connections_)
        if (!each.up) return false;
    return true;
}

std::uint64_t driver::in_flight(stream const& of) const {
    std::uint64_t sum = 0;
    for (auto const& each : connections_)
        if (each.of == &of) sum += each.flight.size();
    return sum;
}
std::uint64_t driver::in_flight() const {
    std::uint64_t sum = 0;
    for (auto const& each : streams_) sum += in_flight(each);
    return sum;
}

}  // namespace

results drive(options const& how, plan const& what, std::atomic<unsigned>& ready,
              unsigned threads) {
    return driver(how, what).run(ready, threads);
}

}  // namespace load
