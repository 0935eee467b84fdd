// An epoll set of its own holds the listening socket and the clients, so the main loop polls one
// descriptor. A client reads or writes, never both: while its output is stuck no further request is
// answered. `end` only sets the deadline to 0; clients are removed at one place, after all events.
#include "server/observe/management.hpp"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/time_units.hpp"
#include "wire/http/parser.hpp"
#include "wire/http/size_limits.hpp"
#include "wire/http/write.hpp"

namespace latchkey::server {
namespace {

using base::second;

constexpr base::mono_ns accept_pause_ns = second / 10;
constexpr base::mono_ns idle_ns = 120 * second;  // longer than a scrape interval
constexpr base::mono_ns head_ns = 10 * second;   // for a header section, from its first byte
constexpr base::mono_ns write_ns = 10 * second;  // for the client to read a response
constexpr base::mono_ns management_linger_ns =
    2 * second;  // for the client to close after the last response
constexpr http::size_limits limits{.body_bytes_max = 0};

void watch(int epoll, int operation, int fd, std::uint32_t events, void* client) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = client;
    ::epoll_ctl(epoll, operation, fd, &event);
}

}  // namespace

struct management::client {
    base::descriptor socket;
    http::parser parser{limits};
    std::string input, output;
    base::mono_ns deadline = 0;
    bool ending = false;   // close once `output` is sent
    bool writing = false;  // the socket's send buffer is full
};

management::management(listen_sockets socket, page_handler handler)
    : socket_(std::move(socket)), handler_(std::move(handler)) {}

management::~management() = default;

base::result<std::unique_ptr<management>> management::open(listen_address const& address,
                                                           page_handler handler) {
    auto socket = listen_sockets::open(address, 1);
    if (!socket) return socket.error();
    return serve(std::move(*socket), std::move(handler));
}

base::result<std::unique_ptr<management>> management::serve(listen_sockets socket,
                                                            page_handler handler) {
    std::unique_ptr<management> instance(new management(std::move(socket), std::move(handler)));
    instance->epoll_ = base::descriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!instance->epoll_.is_open())
        return base::errno_error("cannot create an epoll descriptor for the management listener",
                                 errno);
    watch(instance->fd(), EPOLL_CTL_ADD, instance->socket_.descriptor_of(0), EPOLLIN, nullptr);
    return instance;
}

void management::keep() {
    // They listen: nothing can fail.
    [[maybe_unused]] auto const listening = socket_.begin_listening();
}

void management::hand_over() {
    watch(fd(), EPOLL_CTL_DEL, socket_.descriptor_of(0), 0, nullptr);
    socket_.hand_over();
    is_handed_over_ = true;
    accepts_again_ = 0;
}

base::mono_ns management::next() const {
    base::mono_ns earliest = 0;
    for (auto const& each : clients_)
        if (earliest == 0 || each->deadline < earliest) earliest = each->deadline;
    if (accepts_again_ != 0 && (earliest == 0 || accepts_again_ < earliest))
        earliest = accepts_again_;
    return earliest;
}

void management::run(base::instant now) {
    epoll_event ready[clients_max + 1];
    int const count = ::epoll_wait(fd(), ready, std::size(ready), 0);
    bool new_clients = false;
    for (int i = 0; i < count; ++i) {
        auto* const connection = static_cast<client*>(ready[i].data.ptr);
        if (connection == nullptr)
            new_clients = true;
        else if (connection->writing)
            write(*connection, now), answer_all(*connection, now);
        else
            read(*connection, now);
    }
    std::erase_if(clients_, [&](auto const& each) { return each->deadline <= now.mono; });
    if (accepts_again_ != 0 && accepts_again_ <= now.mono) {
        accepts_again_ = 0;
        watch(fd(), EPOLL_CTL_MOD, socket_.descriptor_of(0), EPOLLIN, nullptr);
    }
    // Last, since it may destroy connections that `ready` points to.
    if (new_clients) accept_all(now);
}

void management::accept_all(base::instant now) {
    for (;;) {
        base::descriptor socket(
            ::accept4(socket_.descriptor_of(0), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket.is_open() && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
            // The client stays in the queue; without a pause the loop would spin.
            accepts_again_ = now.mono + accept_pause_ns;
            watch(fd(), EPOLL_CTL_MOD, socket_.descriptor_of(0), 0, nullptr);
        }
        if (!socket.is_open()) return;
        if (clients_.size() == clients_max)
            clients_.erase(std::min_element(
                clients_.begin(), clients_.end(),
                [](auto const& a, auto const& b) { return a->deadline < b->deadline; }));
        auto connection = std::make_unique<client>();
        connection->socket = std::move(socket);
        connection->deadline = now.mono + head_ns;
        connection->parser.next();
        watch(fd(), EPOLL_CTL_ADD, connection->socket.get(), EPOLLIN, connection.get());
        clients_.push_back(std::move(connection));
    }
}

void management::read(client& connection, base::instant now) {
    char bytes[4096];
    auto const size = ::recv(connection.socket.get(), bytes, sizeof bytes, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return end(connection);
    if (connection.ending) return;  // lingering close: input is dropped
    if (connection.input.empty()) connection.deadline = now.mono + head_ns;
    connection.input.append(bytes, static_cast<std::size_t>(size));
    answer_all(connection, now);
}

// Answers every complete request, until the socket's send buffer is full.
void management::answer_all(client& connection, base::instant now) {
    while (!connection.ending && !connection.writing) {
        http::framing framing;
        auto const head = connection.parser.read_head(connection.input, request_, framing);
        if (head.state == http::step::progress::incomplete) return;
        if (head.state == http::step::progress::refused) {
            refuse(connection, head.problem, now);
        } else {
            bool const body = framing.body != http::framing::body_kind::none;
            answer(connection, request_, framing.keep_alive && !body && !is_handed_over_, now);
            connection.input.erase(0, head.consumed);
            connection.parser.next();
        }
        connection.deadline = now.mono + (connection.input.empty() ? idle_ns : head_ns);
        write(connection, now);
    }
}

void management::answer(client& connection, http::request const& request, bool keep_alive,
                        base::instant now) {
    http::response response;
    if (request.method == http::method::get || request.method == http::method::head) {
        handler_(request, response);
    } else {
        response.status = 405;
        response.add("Allow", "GET, HEAD");
        response.content_type = http::content::text;
        response.body = "only GET and HEAD\n";
    }
    response.add("Cache-Control", "no-store");
    response.add("X-Content-Type-Options", "nosniff");
    http::date_line date;
    http::write(response,
                {.head = request.method == http::method::head,
                 .close = !keep_alive,
                 .keep_alive_1_0 = keep_alive && request.minor_version == 0},
                date.at(now.clock), connection.output);
    connection.ending = !keep_alive;
}

void management::refuse(client& connection, base::problem problem, base::instant now) {
    http::response refusal;
    refusal.status = base::describe(problem).status;
    refusal.content_type = http::content::text;
    refusal.body.append(base::describe(problem).title).append("\n");
    http::date_line date;
    http::write(refusal, {.close = true}, date.at(now.clock), connection.output);
    connection.ending = true;
}

void management::write(client& connection, base::instant now) {
    while (!connection.output.empty()) {
        auto const size = ::send(connection.socket.get(), connection.output.data(),
                                 connection.output.size(), MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno != EAGAIN) return end(connection);
        if (size < 0) break;
        connection.output.erase(0, static_cast<std::size_t>(size));
    }
    bool const blocked = !connection.output.empty();
    if (blocked) connection.deadline = now.mono + write_ns;
    if (blocked != connection.writing)
        watch(fd(), EPOLL_CTL_MOD, connection.socket.get(), blocked ? EPOLLOUT : EPOLLIN,
              &connection);
    connection.writing = blocked;
    if (blocked || !connection.ending) return;
    // Lingering close: closing a socket with unread bytes would reset the connection and lose the
    // response.
    ::shutdown(connection.socket.get(), SHUT_WR);
    connection.deadline = now.mono + management_linger_ns;
}

void management::end(client& connection) {
    connection.deadline = 0;  // `run` removes it
}

}  // namespace latchkey::server
