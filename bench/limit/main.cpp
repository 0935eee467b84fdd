// The lower bound: the cost of an HTTP server on io_uring that only moves bytes. It does not parse:
// each blank line counts as a request and gets the same constant response, and all responses to one
// receive go into one send. One thread, plain HTTP/1.1 on loopback, no bodies. `bench/compare`
// measures the service against it.
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
    std::size_t line_bytes = 0;  // of an incomplete line
    bool sending = false;
    std::string queued;         // responses for the next send
    std::string sending_bytes;  // bytes that the kernel owns
};

class program {
  public:
    program(int port, std::size_t body_bytes);
    void run();

  private:
    io_uring_sqe* submission(operation type, int descriptor);
    void accept();
    void receive(int descriptor);
    void send(int descriptor);
    void complete(io_uring_cqe const& cqe);
    void on_received(int descriptor, io_uring_cqe const& cqe);
    void end(int descriptor);

    io_uring ring_{};
    io_uring_buf_ring* buffers_ = nullptr;
    std::vector<char> memory_ = std::vector<char>(std::size_t{buffer_count} * buffer_bytes);
    std::vector<connection> connections_ = std::vector<connection>(connections_max);
    std::string answer_;
    int listener_ = -1;
};

[[noreturn]] void die(char const* operation_name) {
    std::perror(operation_name);
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
    int const enabled = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &enabled, sizeof enabled);
    ::setsockopt(listener_, IPPROTO_TCP, TCP_NODELAY, &enabled, sizeof enabled);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) die("bind");
    if (::listen(listener_, 4096) != 0) die("listen");
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);

    io_uring_params params{};
    params.flags = IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER |
                   IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CQSIZE;
    params.cq_entries = 8192;
    if (int const code = io_uring_queue_init_params(1024, &ring_, &params); code < 0) {
        errno = -code;
        die("io_uring_queue_init_params");
    }
    io_uring_register_ring_fd(&ring_);
    int code = 0;
    void* pages = nullptr;
    if (::posix_memalign(&pages, 4096, buffer_count * sizeof(io_uring_buf)) != 0) die("memory");
    buffers_ = static_cast<io_uring_buf_ring*>(pages);
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uintptr_t>(buffers_);
    registration.ring_entries = buffer_count;
    registration.bgid = buffer_group;
    if (code = io_uring_register_buf_ring(&ring_, &registration, 0); code < 0) {
        errno = -code;
        die("io_uring_register_buf_ring");
    }
    io_uring_buf_ring_init(buffers_);
    for (unsigned i = 0; i < buffer_count; ++i)
        io_uring_buf_ring_add(buffers_, &memory_[std::size_t{i} * buffer_bytes], buffer_bytes,
                              static_cast<std::uint16_t>(i), buffer_count - 1, static_cast<int>(i));
    io_uring_buf_ring_advance(buffers_, buffer_count);
    std::printf("listening on http://127.0.0.1:%u\n", ntohs(address.sin_port));
    std::fflush(stdout);
}

void program::run() {
    accept();
    for (;;) {
        // With DEFER_TASKRUN only an enter with GETEVENTS posts completions.
        int const code = io_uring_submit_and_wait(&ring_, 1);
        if (code < 0 && code != -EINTR) {
            errno = -code;
            die("io_uring_submit_and_wait");
        }
        unsigned head = 0, count = 0;
        io_uring_cqe* cqe = nullptr;
        io_uring_for_each_cqe(&ring_, head, cqe) {
            ++count;
            complete(*cqe);
        }
        io_uring_cq_advance(&ring_, count);
    }
}

io_uring_sqe* program::submission(operation type, int descriptor) {
    auto* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) {
        io_uring_submit(&ring_);
        sqe = io_uring_get_sqe(&ring_);
    }
    if (sqe == nullptr) die("the submission queue is full");
    sqe->user_data = static_cast<std::uint64_t>(type) << 32 | static_cast<unsigned>(descriptor);
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
    auto& client = connections_[static_cast<std::size_t>(descriptor)];
    if (client.sending || client.queued.empty()) return;
    client.sending = true;
    client.sending_bytes.swap(client.queued);
    io_uring_prep_send(submission(operation::send, descriptor), descriptor,
                       client.sending_bytes.data(), client.sending_bytes.size(),
                       MSG_WAITALL | MSG_NOSIGNAL);
}

void program::complete(io_uring_cqe const& cqe) {
    auto const descriptor = static_cast<int>(cqe.user_data & 0xffffffff);
    switch (static_cast<operation>(cqe.user_data >> 32)) {
        case operation::accept:
            if (cqe.res >= connections_max) {
                ::close(cqe.res);
            } else if (cqe.res >= 0) {
                connections_[static_cast<std::size_t>(cqe.res)] = {};
                receive(cqe.res);
            }
            if ((cqe.flags & IORING_CQE_F_MORE) == 0) accept();
            break;
        case operation::receive:
            on_received(descriptor, cqe);
            break;
        case operation::send: {
            auto& client = connections_[static_cast<std::size_t>(descriptor)];
            client.sending = false;
            client.sending_bytes.clear();
            if (cqe.res > 0) send(descriptor);
            break;
        }
    }
}

void program::on_received(int descriptor, io_uring_cqe const& cqe) {
    auto& client = connections_[static_cast<std::size_t>(descriptor)];
    if (cqe.res <= 0 && cqe.res != -ENOBUFS) return end(descriptor);
    if ((cqe.flags & IORING_CQE_F_BUFFER) != 0) {
        auto const id = cqe.flags >> IORING_CQE_BUFFER_SHIFT;
        char* const begin = &memory_[std::size_t{id} * buffer_bytes];
        std::string_view rest(begin, static_cast<std::size_t>(cqe.res));
        for (auto position = rest.find('\n'); position != rest.npos; position = rest.find('\n')) {
            if (std::exchange(client.line_bytes, 0) + position <= 1) client.queued.append(answer_);
            rest.remove_prefix(position + 1);
        }
        client.line_bytes += rest.size();
        io_uring_buf_ring_add(buffers_, begin, buffer_bytes, static_cast<std::uint16_t>(id),
                              buffer_count - 1, 0);
        io_uring_buf_ring_advance(buffers_, 1);
    }
    if ((cqe.flags & IORING_CQE_F_MORE) == 0) receive(descriptor);
    send(descriptor);
}

void program::end(int descriptor) {
    // The receive has ended; a send in flight fails by itself.
    ::close(descriptor);
}

}  // namespace

int main(int count, char** arguments) {
    int const port = count > 1 ? std::atoi(arguments[1]) : 0;
    auto const bytes = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 64;
    program(port, bytes).run();
}
