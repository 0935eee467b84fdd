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
#include "connection.hpp"
#include "tls_client.hpp"

namespace load {
namespace {

constexpr unsigned buffer_count = 1024, buffer_bytes = 16384, buffer_group = 0;
constexpr ns drain_max = second;           // maximum wait for answers at the end
constexpr unsigned tick_completions = 64;  // these end a tick early

ns clock_now(clockid_t kind) {
    timespec now{};
    ::clock_gettime(kind, &now);
    return now.tv_sec * second + now.tv_nsec;
}

std::string description_of(exchange const& answer) {
    if (!answer.text.empty()) return answer.text;
    auto text = ":status: " + std::to_string(answer.status) + ", " +
                std::to_string(answer.content) + " bytes of content";
    if (answer.content_length != SIZE_MAX)
        text += ", content-length: " + std::to_string(answer.content_length);
    return text;
}

enum class operation : std::uint8_t { connect, receive, send };

class driver {
  public:
    driver(options const& settings, plan const& requests);
    ~driver();
    results run(std::atomic<unsigned>& ready, unsigned threads);

  private:
    void set_up_ring();
    io_uring_sqe* submission(operation op, std::size_t index);
    void open(std::size_t index);
    void receive(std::size_t index);
    void mark_dirty(std::size_t index);
    void flush();
    void turn(ns deadline);
    void complete(io_uring_cqe const& cqe);
    void on_received(std::size_t index, io_uring_cqe const& cqe);
    void consume(std::size_t index);
    void consume_frames(std::size_t index);
    void count(group& clients, pending const& request, unsigned status, bool valid);
    void on_connected(std::size_t index);
    void start_http2(std::size_t index);
    void close(std::size_t index);
    void issue_request(std::size_t index, ns start);
    void issue_backlog(std::size_t index);
    void renew(std::size_t index, std::size_t count);
    void issue_due();
    void finish(group& clients, double seconds, double cpu_seconds);
    bool all_connected() const;
    std::uint64_t in_flight(group const& clients) const;
    std::uint64_t in_flight() const;

    options const& settings_;
    std::deque<group> groups_;  // the main clients, then their companions
    io_uring ring_{};
    io_uring_buf_ring* buffers_ = nullptr;
    std::vector<char> memory_ = std::vector<char>(std::size_t{buffer_count} * buffer_bytes);
    std::vector<connection> connections_;
    std::vector<std::size_t> dirty_;
    std::optional<tls_context> tls_;
    latchkey::http2::header_text text_{65536};
    random random_;
    std::uint64_t unique_, turn_ = 0;
    ns now_ = 0;
    bool starting_ = true, measuring_ = false, issuing_ = false;
};

driver::driver(options const& settings, plan const& requests)
    : settings_(settings),
      random_(settings.seed),
      // Numbers must be unique among threads and among runs against the same store.
      unique_(static_cast<std::uint64_t>(clock_now(CLOCK_REALTIME)) / 1000 * unique_step +
              settings.seed) {
    if (settings.core >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<unsigned>(settings.core), &set);
        ::sched_setaffinity(0, sizeof set, &set);
    }
    // The default timer slack would prolong each sleep by 50 us.
    if (settings.tick_seconds > 0) ::prctl(PR_SET_TIMERSLACK, 1000);
    if (settings.tls) tls_.emplace(settings.tls_version_max, settings.http2);
    groups_.emplace_back(settings, requests);
    if (settings.companion_clients)
        groups_.emplace_back(settings.companion_clients->settings,
                             settings.companion_clients->requests);
    for (auto& each : groups_)
        for (unsigned i = 0; i < each.settings.connections; ++i)
            connections_.emplace_back().owner = &each;
    set_up_ring();
}

driver::~driver() {
    io_uring_queue_exit(&ring_);
    for (auto const& each : connections_)
        if (each.descriptor >= 0) ::close(each.descriptor);
    ::free(buffers_);
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
    buffers_ = static_cast<io_uring_buf_ring*>(pages);
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uintptr_t>(buffers_);
    registration.ring_entries = buffer_count;
    registration.bgid = buffer_group;
    if (int const code = io_uring_register_buf_ring(&ring_, &registration, 0); code < 0)
        throw std::runtime_error("io_uring buffers: " + std::string(::strerror(-code)));
    io_uring_buf_ring_init(buffers_);
    for (unsigned i = 0; i < buffer_count; ++i)
        io_uring_buf_ring_add(buffers_, &memory_[std::size_t{i} * buffer_bytes], buffer_bytes,
                              static_cast<std::uint16_t>(i), buffer_count - 1, static_cast<int>(i));
    io_uring_buf_ring_advance(buffers_, buffer_count);
}

results driver::run(std::atomic<unsigned>& ready, unsigned threads) {
    now_ = clock_now(CLOCK_MONOTONIC);
    if (settings_.reconnection == reconnect::never) {
        for (std::size_t i = 0; i < connections_.size(); ++i) open(i);
        for (auto const deadline = now_ + 20 * second; !all_connected(); turn(now_ + second))
            if (now_ > deadline) throw std::runtime_error("not all connections came up in 20 s");
    }
    ready.fetch_add(1);
    while (ready.load() < threads) turn(now_ + second / 100);

    starting_ = false;
    issuing_ = true;
    for (auto& each : groups_) each.next_due = now_;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        auto& owner = *connections_[i].owner;
        if (settings_.reconnection != reconnect::never) open(i);
        if (settings_.reconnection != reconnect::never) continue;
        auto const& session = connections_[i].http2;
        // What a server does not let through stays with an open loop's other connections.
        renew(i, session && owner.interval != 0 ? session->capacity() : owner.settings.pipeline);
    }
    auto const begin = now_ + static_cast<ns>(settings_.warmup_seconds * double(second));
    while (now_ < begin) turn(begin);
    measuring_ = true;
    auto const started = now_, cpu = clock_now(CLOCK_THREAD_CPUTIME_ID);
    auto const end = started + static_cast<ns>(settings_.seconds * double(second));
    while (now_ < end) turn(end);
    auto const seconds = double(now_ - started) / double(second);
    auto const cpu_seconds = double(clock_now(CLOCK_THREAD_CPUTIME_ID) - cpu) / double(second);
    issuing_ = measuring_ = false;
    for (auto const deadline = now_ + drain_max; in_flight() != 0 && now_ < deadline;)
        turn(now_ + second / 20);
    for (auto& each : groups_) finish(each, seconds, cpu_seconds);
    auto outcome = std::move(groups_.front().outcome);
    if (groups_.size() > 1) outcome.companion_results.push_back(std::move(groups_.back().outcome));
    return outcome;
}

void driver::finish(group& clients, double seconds, double cpu_seconds) {
    clients.outcome.seconds = seconds;
    clients.outcome.cpu_seconds = cpu_seconds;
    clients.outcome.unanswered = in_flight(clients);
}

// Sends due requests in the same system call as the wait, then handles all completions.
void driver::turn(ns deadline) {
    issue_due();
    flush();
    auto wait = deadline - now_;
    unsigned completions_min = 1;
    for (auto const& each : groups_) {
        if (!issuing_ || each.interval == 0) continue;
        if (settings_.tick_seconds > 0) {
            wait = std::min(wait, static_cast<ns>(settings_.tick_seconds * double(second)));
            completions_min = tick_completions;
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
    // Not io_uring_submit: liburing 2.3 omits GETEVENTS when a completion is pending, and then
    // DEFER_TASKRUN posts no new ones.
    for (; sq.sqe_head != sq.sqe_tail; ++sq.sqe_head)
        sq.array[(*sq.ktail)++ & sq.ring_mask] = sq.sqe_head & sq.ring_mask;
    int const code =
        io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), pending, completions_min,
                        IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG |
                            ((ring_.int_flags & 1) != 0 ? IORING_ENTER_REGISTERED_RING : 0),
                        reinterpret_cast<sigset_t*>(&argument), sizeof argument);
    if (code < 0 && code != -ETIME && code != -EINTR && code != -EBUSY && code != -EAGAIN)
        throw std::runtime_error("io_uring_enter: " + std::string(::strerror(-code)));
    now_ = clock_now(CLOCK_MONOTONIC);
    unsigned head = 0, outcome = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
        ++outcome;
        complete(*cqe);
    }
    io_uring_cq_advance(&ring_, outcome);
}

// Open loop: a request that waits for capacity keeps its due time.
void driver::issue_due() {
    if (!issuing_ || settings_.reconnection != reconnect::never) return;
    for (auto& each : groups_) {
        if (each.interval == 0) continue;
        for (; each.next_due <= now_ && !each.free.empty(); each.next_due += each.interval) {
            auto const index = each.free.front();
            each.free.pop_front();
            issue_request(index, each.next_due);
        }
    }
}

void driver::issue_request(std::size_t index, ns start) {
    auto& client = connections_[index];
    if (settings_.http2) {
        client.backlog.push_back(start);
        return issue_backlog(index);
    }
    auto& output = tls_ ? client.plain : client.queued;
    auto const kind = client.owner->requests.append(output, random_, unique_, turn_);
    client.flight.push_back({start, static_cast<std::uint32_t>(kind)});
    mark_dirty(index);
}

// HTTP/2: sends what its streams allow. In a closed loop a request does not exist before it is sent.
void driver::issue_backlog(std::size_t index) {
    auto& client = connections_[index];
    if (client.backlog.empty() || !client.ready() || client.closing) return;
    auto& session = *client.http2;
    bool const closed_loop =
        client.owner->interval == 0 && settings_.reconnection == reconnect::never;
    if (closed_loop && !issuing_) return;
    while (!client.backlog.empty() && !session.leaving() && session.active() < session.capacity()) {
        session.send(random_, unique_, turn_, closed_loop ? now_ : client.backlog.front(),
                     client.output());
        client.backlog.pop_front();
    }
    mark_dirty(index);
}

// Lets that many requests follow on a connection.
void driver::renew(std::size_t index, std::size_t count) {
    auto& clients = *connections_[index].owner;
    if (!issuing_ || settings_.reconnection != reconnect::never) return;
    for (std::size_t i = 0; i < count; ++i)
        if (clients.interval == 0)
            issue_request(index, now_);
        else
            clients.free.push_back(index);
}

void driver::mark_dirty(std::size_t index) {
    if (std::exchange(connections_[index].dirty, true)) return;
    dirty_.push_back(index);
}

void driver::flush() {
    for (auto const index : dirty_) {
        auto& client = connections_[index];
        client.dirty = false;
        if (client.closing) continue;
        if (client.tls && client.connected && !client.plain.empty()) {
            if (!client.tls->send(client.plain, client.queued)) client.closing = true;
            client.plain.clear();
        }
        if (client.sending || client.queued.empty() || (!client.connected && !client.tls)) continue;
        client.sending = true;
        client.sending_bytes.swap(client.queued);
        client.queued.clear();
        io_uring_prep_send(submission(operation::send, index), client.descriptor,
                           client.sending_bytes.data(), client.sending_bytes.size(),
                           MSG_WAITALL | MSG_NOSIGNAL);
    }
    dirty_.clear();
}

io_uring_sqe* driver::submission(operation op, std::size_t index) {
    auto* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) {
        io_uring_submit(&ring_);
        sqe = io_uring_get_sqe(&ring_);
    }
    if (sqe == nullptr) throw std::runtime_error("the ring is full");
    sqe->user_data = static_cast<std::uint64_t>(op) << 32 | index;
    return sqe;
}

void driver::open(std::size_t index) {
    auto& client = connections_[index];
    client.descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client.descriptor < 0)
        throw std::runtime_error("socket: " + std::string(::strerror(errno)));
    int const one = 1;
    ::setsockopt(client.descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (settings_.reconnection != reconnect::never) {
        // A reset on close avoids TIME_WAIT, which would exhaust the ports.
        linger const hard{1, 0};
        ::setsockopt(client.descriptor, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        client.due_time = now_;
        client.backlog.clear();
    }
    if (client.owner->settings.source.s_addr != 0) {
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr = client.owner->settings.source;
        if (::bind(client.descriptor, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0)
            throw std::runtime_error("bind: " + std::string(::strerror(errno)));
    }
    client.connected = client.closing = false;
    client.flight.clear();
    client.received.clear();
    client.plain.clear();
    client.queued.clear();
    io_uring_prep_connect(submission(operation::connect, index), client.descriptor,
                          reinterpret_cast<sockaddr const*>(&settings_.server),
                          sizeof settings_.server);
}

void driver::receive(std::size_t index) {
    auto& client = connections_[index];
    client.receiving = true;
    auto* const sqe = submission(operation::receive, index);
    io_uring_prep_recv_multishot(sqe, client.descriptor, nullptr, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = buffer_group;
}

void driver::complete(io_uring_cqe const& cqe) {
    auto const index = static_cast<std::size_t>(cqe.user_data & 0xffffffff);
    auto& client = connections_[index];
    switch (static_cast<operation>(cqe.user_data >> 32)) {
        case operation::connect:
            if (cqe.res < 0)
                throw std::runtime_error("the server does not answer: " +
                                         std::string(::strerror(-cqe.res)));
            receive(index);
            if (!tls_) return on_connected(index);
            client.tls = std::make_unique<tls_client>(
                *tls_,
                settings_.reconnection == reconnect::resumed ? client.session.get() : nullptr);
            client.tls->send({}, client.queued);
            mark_dirty(index);
            return;
        case operation::receive:
            return on_received(index, cqe);
        case operation::send:
            client.sending = false;
            client.sending_bytes.clear();
            if (cqe.res < 0) client.closing = true;
            if (client.closing) return close(index);
            if (!client.queued.empty() || !client.plain.empty()) mark_dirty(index);
            return;
    }
}

void driver::on_connected(std::size_t index) {
    auto& client = connections_[index];
    client.connected = true;
    if (client.tls && measuring_) {
        ++client.owner->outcome.handshakes;
        client.owner->outcome.resumed += client.tls->resumed() ? 1 : 0;
    }
    if (settings_.http2) start_http2(index);
    if (settings_.reconnection != reconnect::never && issuing_)
        issue_request(index, client.due_time);
    if (!client.plain.empty() || !client.queued.empty()) mark_dirty(index);
}

void driver::start_http2(std::size_t index) {
    auto& client = connections_[index];
    if (client.tls && client.tls->protocol() != "h2")
        throw std::runtime_error(
            "the server does not speak HTTP/2: by ALPN it chose " +
            (client.tls->protocol().empty() ? "nothing" : std::string(client.tls->protocol())));
    client.http2 = std::make_unique<http2_session>(*client.owner, text_);
    client.http2->start(client.output());
    mark_dirty(index);
}

void driver::on_received(std::size_t index, io_uring_cqe const& cqe) {
    auto& client = connections_[index];
    if ((cqe.flags & IORING_CQE_F_MORE) == 0) client.receiving = false;
    if ((cqe.flags & IORING_CQE_F_BUFFER) != 0) {
        auto const id = cqe.flags >> IORING_CQE_BUFFER_SHIFT;
        char* const begin = &memory_[std::size_t{id} * buffer_bytes];
        std::string_view const bytes(begin, static_cast<std::size_t>(cqe.res));
        if (!client.closing && client.tls) {
            bool const valid = client.tls->receive(bytes, client.received, client.queued);
            if (!client.queued.empty()) mark_dirty(index);
            if (!client.connected && client.tls->ready()) on_connected(index);
            if (!valid) client.closing = true;
            consume(index);
        } else if (!client.closing) {
            client.received.append(bytes);
            consume(index);
        }
        io_uring_buf_ring_add(buffers_, begin, buffer_bytes, static_cast<std::uint16_t>(id),
                              buffer_count - 1, 0);
        io_uring_buf_ring_advance(buffers_, 1);
    }
    if (cqe.res <= 0 && cqe.res != -ENOBUFS) client.closing = true;
    if (client.closing) return close(index);
    if (!client.receiving) receive(index);
}

// Counts the complete answers in the received bytes, and issues a request for each.
void driver::consume(std::size_t index) {
    auto& client = connections_[index];
    if (client.http2) return consume_frames(index);
    std::string_view rest = client.received;
    while (!client.flight.empty()) {
        auto const head = read_head(rest);
        if (!head || rest.size() < head->bytes) break;
        auto& outcome = client.owner->outcome;
        bool const valid = client.owner->expects(head->status, head->content);
        if (!valid && outcome.first_wrong.empty())
            outcome.first_wrong = rest.substr(0, std::min<std::size_t>(head->bytes, 2000));
        count(*client.owner, client.flight.front(), head->status, valid);
        rest.remove_prefix(head->bytes);
        client.flight.pop_front();
        if (settings_.reconnection != reconnect::never) {
            if (client.tls) {
                if (auto ticket = client.tls->take_session()) client.session = std::move(ticket);
            }
            client.closing = true;
            break;
        }
        renew(index, 1);
    }
    client.received.erase(0, client.received.size() - rest.size());
}

// The same for the frames of HTTP/2.
void driver::consume_frames(std::size_t index) {
    auto& client = connections_[index];
    auto& session = *client.http2;
    auto& outcome = client.owner->outcome;
    auto const note = [&](std::string const& text) {
        if (outcome.first_wrong.empty()) outcome.first_wrong = text;
    };
    bool const was_leaving = session.leaving();
    std::size_t ends = 0;
    auto const give = [&](exchange const& result, bool has_answer) {
        ++ends;
        if (!has_answer) {
            note(result.text);
            if (measuring_) ++outcome.broken;
            return;
        }
        bool const complete = result.content_length == SIZE_MAX ||
                              result.content_length == result.content || result.status == 304 ||
                              client.owner->requests.kinds()[result.kind].method == "HEAD";
        bool const valid = complete && client.owner->expects(result.status, result.content);
        if (!valid) note(description_of(result));
        count(*client.owner, {result.start, result.kind}, result.status, valid);
    };
    auto const size = session.receive(client.received, client.output(), give);
    client.received.erase(0, size);
    if (!session.goaway().empty() && !was_leaving) {
        note(session.goaway());
        if (measuring_) ++outcome.goaways;
    }
    if (!session.problem().empty()) note(session.problem());
    if (settings_.reconnection != reconnect::never && ends != 0) {
        if (auto ticket = client.tls ? client.tls->take_session() : nullptr)
            client.session = std::move(ticket);
        client.closing = true;
    }
    if (!session.problem().empty() || (session.leaving() && session.active() == 0))
        client.closing = true;
    renew(index, ends);
    issue_backlog(index);
    if (!client.output().empty()) mark_dirty(index);
}

void driver::count(group& clients, pending const& request, unsigned status, bool valid) {
    auto& outcome = clients.outcome;
    if (!measuring_) return;
    ++outcome.answers;
    ++outcome.statuses[std::min<std::size_t>(status, outcome.statuses.size() - 1)];
    if (!valid) {
        ++outcome.wrong;
        return;
    }
    outcome.latencies[request.kind].count(now_ - request.start);
}

// Closes the connection once no operation is in flight; reopens it in the reconnect modes.
void driver::close(std::size_t index) {
    auto& client = connections_[index];
    if (client.descriptor < 0) return;
    if (client.receiving || client.sending) {
        ::shutdown(client.descriptor, SHUT_RDWR);
        return;
    }
    if (starting_) {
        auto const& reason = client.owner->outcome.first_wrong;
        throw std::runtime_error(
            !reason.empty()   ? reason
            : settings_.http2 ? "the server closed a connection at once; does it speak HTTP/2?"
                              : "the server closed a connection at once");
    }
    auto const losses = client.in_flight();
    if (measuring_) client.owner->outcome.broken += losses;
    ::close(std::exchange(client.descriptor, -1));
    client.tls.reset();
    client.http2.reset();
    client.flight.clear();
    if (!issuing_) return;
    open(index);
    renew(index, losses);
}

bool driver::all_connected() const {
    for (auto const& each : connections_)
        if (!each.ready()) return false;
    return true;
}

std::uint64_t driver::in_flight(group const& clients) const {
    std::uint64_t sum = 0;
    for (auto const& each : connections_)
        if (each.owner == &clients)
            sum += each.in_flight() + (clients.interval != 0 ? each.backlog.size() : 0);
    return sum;
}
std::uint64_t driver::in_flight() const {
    std::uint64_t sum = 0;
    for (auto const& each : groups_) sum += in_flight(each);
    return sum;
}

}  // namespace

results drive(options const& settings, plan const& requests, std::atomic<unsigned>& ready,
              unsigned threads) {
    return driver(settings, requests).run(ready, threads);
}

}  // namespace load
