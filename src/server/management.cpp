#include "server/management.hpp"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "http/parser.hpp"
#include "http/settings.hpp"
#include "http/write.hpp"

namespace latchkey::server {
namespace {

constexpr base::mono_ns accept_pause_ns = 100'000'000;
constexpr base::mono_ns second = 1'000'000'000;
constexpr base::mono_ns idle_ns = 120 * second;  // longer than the time between two scrapes
constexpr base::mono_ns head_ns = 10 * second;   // from the first byte of a head to its last
constexpr base::mono_ns write_ns = 10 * second;  // for an answer to be taken
constexpr base::mono_ns linger_ns = 2 * second;  // for the client to end after the last answer
constexpr http::settings limits{.body_bytes_max = 0};

void watch(int epoll, int operation, int fd, std::uint32_t events, void* whose) {
    epoll_event what{};
    what.events = events;
    what.data.ptr = whose;
    ::epoll_ctl(epoll, operation, fd, &what);
}

}  // namespace

struct management::client {
    int fd = -1;
    http::parser parser{limits};
    std::string in, out;
    base::mono_ns deadline = 0;
    bool ending = false;   // after what is in `out`
    bool writing = false;  // the socket takes no more for now

    ~client() { ::close(fd); }
};

management::management(listening socket, page show)
    : socket_(std::move(socket)), show_(std::move(show)) {}

management::~management() {
    clients_.clear();
    if (epoll_ >= 0) ::close(epoll_);
}

base::result<std::unique_ptr<management>> management::open(listen_address const& where, page show) {
    auto socket = listening::open(where, 1);
    if (!socket) return socket.error();
    std::unique_ptr<management> made(new management(std::move(*socket), std::move(show)));
    made->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (made->epoll_ < 0) return base::errno_error("no descriptor for the management", errno);
    watch(made->epoll_, EPOLL_CTL_ADD, made->socket_.descriptor_of(0), EPOLLIN, nullptr);
    return made;
}

base::mono_ns management::next() const {
    base::mono_ns soonest = 0;
    for (auto const& each : clients_)
        if (soonest == 0 || each->deadline < soonest) soonest = each->deadline;
    if (accepts_again_ != 0 && (soonest == 0 || accepts_again_ < soonest)) soonest = accepts_again_;
    return soonest;
}

void management::run(base::instant now) {
    epoll_event ready[clients_max + 1];
    int const count = ::epoll_wait(epoll_, ready, std::size(ready), 0);
    bool callers = false;
    for (int i = 0; i < count; ++i) {
        auto* const which = static_cast<client*>(ready[i].data.ptr);
        if (which == nullptr)
            callers = true;
        else if (which->writing)
            write(*which, now), answer_all(*which, now);
        else
            read(*which, now);
    }
    std::erase_if(clients_, [&](auto const& each) { return each->deadline <= now.mono; });
    if (accepts_again_ != 0 && accepts_again_ <= now.mono) {
        accepts_again_ = 0;
        watch(epoll_, EPOLL_CTL_MOD, socket_.descriptor_of(0), EPOLLIN, nullptr);
    }
    // Last, since it may end those that `ready` speaks of.
    if (callers) accept_all(now);
}

void management::accept_all(base::instant now) {
    for (;;) {
        int const fd =
            ::accept4(socket_.descriptor_of(0), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
            // The caller stays in the queue; asking at once again would only burn the core.
            accepts_again_ = now.mono + accept_pause_ns;
            watch(epoll_, EPOLL_CTL_MOD, socket_.descriptor_of(0), 0, nullptr);
        }
        if (fd < 0) return;
        if (clients_.size() == clients_max)
            clients_.erase(std::min_element(
                clients_.begin(), clients_.end(),
                [](auto const& a, auto const& b) { return a->deadline < b->deadline; }));
        auto made = std::make_unique<client>();
        made->fd = fd;
        made->deadline = now.mono + head_ns;
        made->parser.next();
        watch(epoll_, EPOLL_CTL_ADD, fd, EPOLLIN, made.get());
        clients_.push_back(std::move(made));
    }
}

void management::read(client& from, base::instant now) {
    char bytes[4096];
    auto const got = ::recv(from.fd, bytes, sizeof bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return end(from);
    if (from.ending) return;  // lingering: what comes now is dropped
    if (from.in.empty()) from.deadline = now.mono + head_ns;
    from.in.append(bytes, static_cast<std::size_t>(got));
    answer_all(from, now);
}

// Whatever is there whole, until the client does not take its answers.
void management::answer_all(client& to, base::instant now) {
    while (!to.ending && !to.writing) {
        http::framing framing;
        auto const head = to.parser.read_head(to.in, request_, framing);
        if (head.state == http::step::state::incomplete) return;
        if (head.state == http::step::state::refused) {
            refuse(to, head.problem, now);
        } else {
            bool const body = framing.body != http::framing::body_kind::none;
            answer(to, request_, framing.keep_alive && !body, now);
            to.in.erase(0, head.consumed);
            to.parser.next();
        }
        to.deadline = now.mono + (to.in.empty() ? idle_ns : head_ns);
        write(to, now);
    }
}

void management::answer(client& to, http::request const& asked, bool keep_alive,
                        base::instant now) {
    http::response made;
    if (asked.method == http::method::get || asked.method == http::method::head) {
        show_(asked, made);
    } else {
        made.status = 405;
        made.add("Allow", "GET, HEAD");
        made.content_type = http::content::text;
        made.body = "only GET and HEAD\n";
    }
    made.add("Cache-Control", "no-store");
    made.add("X-Content-Type-Options", "nosniff");
    http::date_line date;
    http::write(made,
                {.head = asked.method == http::method::head,
                 .close = !keep_alive,
                 .keep_alive_1_0 = keep_alive && asked.minor_version == 0},
                date.at(now.wall), to.out);
    to.ending = !keep_alive;
}

void management::refuse(client& to, base::problem problem, base::instant now) {
    http::response refusal;
    refusal.status = base::describe(problem).status;
    refusal.content_type = http::content::text;
    refusal.body.append(base::describe(problem).title).append("\n");
    http::date_line date;
    http::write(refusal, {.close = true}, date.at(now.wall), to.out);
    to.ending = true;
}

void management::write(client& to, base::instant now) {
    while (!to.out.empty()) {
        auto const sent = ::send(to.fd, to.out.data(), to.out.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno != EAGAIN) return end(to);
        if (sent < 0) break;
        to.out.erase(0, static_cast<std::size_t>(sent));
    }
    bool const blocked = !to.out.empty();
    if (blocked) to.deadline = now.mono + write_ns;
    if (blocked != to.writing)
        watch(epoll_, EPOLL_CTL_MOD, to.fd, blocked ? EPOLLOUT : EPOLLIN, &to);
    to.writing = blocked;
    if (blocked || !to.ending) return;
    // A socket that is closed with bytes unread resets the connection, and the answer with it.
    ::shutdown(to.fd, SHUT_WR);
    to.deadline = now.mono + linger_ns;
}

void management::end(client& which) {
    which.deadline = 0;  // `run` takes it out
}

}  // namespace latchkey::server
