// The physical limit: what an HTTP server on io_uring costs when it does nothing but move bytes. It
// does not parse: each blank line it receives is taken for a request and answered with the same
// constant response, and all answers to one receive are one send. One thread, plain HTTP/1.1 on
// loopback, no bodies. `bench/compare` measures the service against it.
//
//     limit [PORT] [BYTES]      port 0 (the default): any, printed; BYTES of JSON in the answer
#include <arpa/inet.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr unsigned buffer_count = 1024, buffer_bytes = 4096, buffer_group = 0;
constexpr int connections_max = 16384;

enum class operation : std::uint8_t { accept, receive, send };

struct connection {
    std::size_t line_bytes = 0;  // of a line that has begun
    bool sending = false;
    std::string waiting;  // answers that go with the next send
    std::string sent;     // those the kernel has now
};

class program {
  public:
    program(int port, std::size_t body_bytes);
    void run();

  private:
    io_uring_sqe* submission(operation what, int descriptor);
    void accept();
    void receive(int descriptor);
    void send(int descriptor);
    void complete(io_uring_cqe const& done);
    void received(int descriptor, io_uring_cqe const& done);
    void end(int descriptor);

    io_uring ring_{};
    io_uring_buf_ring* lent_ = nullptr;
    std::vector<char> memory_ = std::vector<char>(std::size_t{buffer_count} * buffer_bytes);
    std::vector<connection> connections_ = std::vector<connection>(connections_max);
    std::string answer_;
    int listener_ = -1;
};

[[noreturn]] void die(char const* what) {
    std::perror(what);
    std::exit(1);
}

program::program(int port, std::size_t body_bytes) {
    std::string body = R"({"id":1,"name":")";
    body.append(body_bytes > body.size() + 2 ? body_bytes - body.size() - 2 : 0, 'x').append("\"}");
    answer_ =
        "HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\n"
        "Content-Type: application/json; charset=utf-8\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;

    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int const on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(listener_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) die("bind");
    if (::listen(listener_, 4096) != 0) die("listen");
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);

    io_uring_params params{};
    params.flags = IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER |
                   IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CQSIZE;
    params.cq_entries = 8192;
    if (int const code = io_uring_queue_init_params(1024, &ring_, &params); code < 0)
        errno = -code, die("io_uring_queue_init_params");
    io_uring_register_ring_fd(&ring_);
    int code = 0;
    void* pages = nullptr;
    if (::posix_memalign(&pages, 4096, buffer_count * sizeof(io_uring_buf)) != 0) die("memory");
    lent_ = static_cast<io_uring_buf_ring*>(pages);
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uintptr_t>(lent_);
    registration.ring_entries = buffer_count;
    registration.bgid = buffer_group;
    if (code = io_uring_register_buf_ring(&ring_, &registration, 0); code < 0)
        errno = -code, die("io_uring_register_buf_ring");
    io_uring_buf_ring_init(lent_);
    for (unsigned i = 0; i < buffer_count; ++i)
        io_uring_buf_ring_add(lent_, &memory_[std::size_t{i} * buffer_bytes], buffer_bytes,
                              static_cast<std::uint16_t>(i), buffer_count - 1, static_cast<int>(i));
    io_uring_buf_ring_advance(lent_, buffer_count);
    std::printf("listening on http://127.0.0.1:%u\n", ntohs(at.sin_port));
    std::fflush(stdout);
}

void program::run() {
    accept();
    for (;;) {
        // With DEFER_TASKRUN only an enter that asks for events makes completions.
        int const code = io_uring_submit_and_wait(&ring_, 1);
        if (code < 0 && code != -EINTR) errno = -code, die("io_uring_submit_and_wait");
        unsigned head = 0, seen = 0;
        io_uring_cqe* cqe = nullptr;
        io_uring_for_each_cqe(&ring_, head, cqe) {
            ++seen;
            complete(*cqe);
        }
        io_uring_cq_advance(&ring_, seen);
    }
}

io_uring_sqe* program::submission(operation what, int descriptor) {
    auto* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) {
        io_uring_submit(&ring_);
        sqe = io_uring_get_sqe(&ring_);
    }
    if (sqe == nullptr) die("no submission is left");
    sqe->user_data = static_cast<std::uint64_t>(what) << 32 | static_cast<unsigned>(descriptor);
    return sqe;
}

void program::accept() {
    io_uring_prep_multishot_accept(submission(operation::accept, listener_), listener_, nullptr,
                                   nullptr, 0);
}

void program::receive(int descriptor) {
    auto* const sqe = submission(operation::receive, descriptor);
    io_uring_prep_recv_multishot(sqe, descriptor, nullptr, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = buffer_group;
}

void program::send(int descriptor) {
    auto& on = connections_[static_cast<std::size_t>(descriptor)];
    if (on.sending || on.waiting.empty()) return;
    on.sending = true;
    on.sent.swap(on.waiting);
    io_uring_prep_send(submission(operation::send, descriptor), descriptor, on.sent.data(),
                       on.sent.size(), MSG_WAITALL | MSG_NOSIGNAL);
}

void program::complete(io_uring_cqe const& done) {
    auto const descriptor = static_cast<int>(done.user_data & 0xffffffff);
    switch (static_cast<operation>(done.user_data >> 32)) {
        case operation::accept:
            if (done.res >= connections_max) {
                ::close(done.res);
            } else if (done.res >= 0) {
                connections_[static_cast<std::size_t>(done.res)] = {};
                receive(done.res);
            }
            if ((done.flags & IORING_CQE_F_MORE) == 0) accept();
            break;
        case operation::receive:
            received(descriptor, done);
            break;
        case operation::send: {
            auto& on = connections_[static_cast<std::size_t>(descriptor)];
            on.sending = false;
            on.sent.clear();
            if (done.res > 0) send(descriptor);
            break;
        }
    }
}

void program::received(int descriptor, io_uring_cqe const& done) {
    auto& on = connections_[static_cast<std::size_t>(descriptor)];
    if (done.res <= 0 && done.res != -ENOBUFS) return end(descriptor);
    if ((done.flags & IORING_CQE_F_BUFFER) != 0) {
        auto const id = done.flags >> IORING_CQE_BUFFER_SHIFT;
        char* const begin = &memory_[std::size_t{id} * buffer_bytes];
        std::string_view rest(begin, static_cast<std::size_t>(done.res));
        for (auto at = rest.find('\n'); at != rest.npos; at = rest.find('\n')) {
            if (std::exchange(on.line_bytes, 0) + at <= 1) on.waiting.append(answer_);
            rest.remove_prefix(at + 1);
        }
        on.line_bytes += rest.size();
        io_uring_buf_ring_add(lent_, begin, buffer_bytes, static_cast<std::uint16_t>(id),
                              buffer_count - 1, 0);
        io_uring_buf_ring_advance(lent_, 1);
    }
    if ((done.flags & IORING_CQE_F_MORE) == 0) receive(descriptor);
    send(descriptor);
}

void program::end(int descriptor) {
    // The receive has ended; a send in flight of a connection that is gone ends by itself.
    ::close(descriptor);
}

}  // namespace

int main(int count, char** arguments) {
    int const port = count > 1 ? std::atoi(arguments[1]) : 0;
    auto const bytes = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 64;
    program(port, bytes).run();
}
