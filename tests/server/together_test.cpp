// The whole service in this process, with everything that its threads share in use at once: two
// workers, the writer, the log thread, the main thread with its management listener, reloads. For
// ThreadSanitizer above all (tools/test tsan), which ends the process at the first race.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "auth/key_form.hpp"
#include "server/service.hpp"
#include "store/writer.hpp"

namespace latchkey::server {
namespace {

constexpr auto lasts = std::chrono::seconds(4);

class client {
  public:
    explicit client(std::string const& path) {
        sockaddr_un where{};
        where.sun_family = AF_UNIX;
        path.copy(where.sun_path, sizeof where.sun_path - 1);
        connect(reinterpret_cast<sockaddr const&>(where), sizeof where);
    }
    explicit client(listen_address const& where) {
        sockaddr_storage address;
        auto const size = to_sockaddr(where, address);
        connect(reinterpret_cast<sockaddr const&>(address), size);
    }
    ~client() { ::close(fd_); }
    client(client const&) = delete;
    client& operator=(client const&) = delete;
    bool there() const { return there_; }

    // The status of the answer, 0 when there is none; its body in `body`.
    int ask(std::string_view method, std::string_view path, std::string_view key,
            std::string_view sent = {}, std::string_view once = {}) {
        std::string text;
        text.append(method).append(" ").append(path).append(" HTTP/1.1\r\nHost: x\r\n");
        text.append("X-API-Key: ").append(key).append("\r\n");
        if (!once.empty()) text.append("Idempotency-Key: ").append(once).append("\r\n");
        if (!sent.empty()) text.append("Content-Type: application/json\r\n");
        text.append("Content-Length: ").append(std::to_string(sent.size())).append("\r\n\r\n");
        text.append(sent);
        if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(text.size()))
            return 0;
        return receive();
    }

    std::string body;

  private:
    void connect(sockaddr const& where, socklen_t size) {
        fd_ = ::socket(where.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        timeval const patience{.tv_sec = 10, .tv_usec = 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        there_ = ::connect(fd_, &where, size) == 0;
    }
    int receive() {
        std::string all;
        char part[8192];
        for (;;) {
            auto const head = all.find("\r\n\r\n");
            if (head != all.npos) {
                auto const field = all.find("Content-Length: ");
                auto const size = field < head ? std::stoul(all.substr(field + 16)) : 0;
                if (all.size() >= head + 4 + size) {
                    body = all.substr(head + 4);
                    return std::stoi(all.substr(9, 3));
                }
            }
            auto const got = ::recv(fd_, part, sizeof part, 0);
            if (got <= 0) return 0;
            all.append(part, static_cast<std::size_t>(got));
        }
    }

    int fd_ = -1;
    bool there_ = false;
};

struct whole_service {
    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("together-" + std::to_string(::getpid()));
    config settings;
    std::string key;
    std::thread main;
    bool served = false;

    whole_service() {
        std::filesystem::create_directories(folder);
        // The thread that serves takes signals; nobody else may.
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        settings.data = folder / "data";
        settings.listen = {"unix:" + socket()};
        settings.workers = 2;
        settings.management = "127.0.0.1:0";
        settings.confined = false;  // this process has more to do
        auth::fresh_key const fresh("lkey");
        key = fresh.text();
        auto store = store::environment::open({.directory = settings.data}).value();
        std::vector<store::command> commands(1);
        model::key record{.digest = auth::digest_of(key), .name = "first", .rate_limits = {}};
        record.scopes.add("*");
        commands[0].what = store::create_key{record};
        EXPECT_TRUE(store::apply(*store, std::move(commands)));
        store.reset();
        main = std::thread([this] {
            auto const done = serve_until_stopped(settings, [this] {
                auto next = settings;
                static std::atomic<unsigned> times{0};
                next.http_idle_seconds = 30 + times++ % 2;
                return base::result<config>(next);
            });
            served = bool(done);
            EXPECT_TRUE(done) << done.error().message;
        });
        for (int i = 0; i < 1000 && !client(socket()).there(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ~whole_service() {
        ::kill(::getpid(), SIGTERM);
        main.join();
        EXPECT_TRUE(served);
        std::filesystem::remove_all(folder);
    }
    std::string socket() const { return folder / "socket"; }
};

// The service chose its port: it is this process' only listener on IP.
listen_address management_of_this_process() {
    for (int fd = 0; fd < 256; ++fd) {
        int listens = 0;
        socklen_t size = sizeof listens;
        sockaddr_storage at{};
        socklen_t length = sizeof at;
        if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
            ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length) == 0 &&
            at.ss_family == AF_INET)
            return parse_listen_address("http://127.0.0.1:" + std::to_string(port_of(at))).value();
    }
    ADD_FAILURE() << "there is no management listener";
    return {};
}

std::string member(std::string const& of, std::string const& name) {
    auto const at = of.find("\"" + name + "\":\"");
    if (at == of.npos) return {};
    auto const begin = at + name.size() + 4;
    return of.substr(begin, of.find('"', begin) - begin);
}

TEST(together, a_service_with_everything_in_use_serves_every_request) {
    whole_service service;
    std::atomic<bool> over{false};
    std::atomic<std::size_t> asked{0}, failed{0};
    std::atomic<int> wrong{0};
    auto const expect = [&](int status, std::initializer_list<int> good) {
        ++asked;
        if (std::find(good.begin(), good.end(), status) != good.end()) return;
        ++failed;
        wrong = status;
    };
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n)
        threads.emplace_back([&, n] {
            for (unsigned i = 0; !over; ++i) {
                client on(service.socket());  // on either worker
                auto const user = R"({"name":"U","email":")" + std::to_string(n) + "." +
                                  std::to_string(i) + R"(@example.com"})";
                expect(on.ask("POST", "/api/v1/users", service.key, user), {201});
                expect(on.ask("GET", "/api/v1/users?limit=5", service.key), {200});
                expect(on.ask("GET", "/api/v1/users/1", std::string(48, 'x')), {401, 429});
            }
        });
    // Keys that come, are used by both workers, and go.
    threads.emplace_back([&] {
        while (!over) {
            client one(service.socket()), other(service.socket());
            expect(one.ask("POST", "/api/v1/keys", service.key, R"({"name":"k","scopes":["*"]})"),
                   {201});
            auto const key = member(one.body, "key");
            expect(other.ask("GET", "/api/v1/users", key), {200});
            expect(one.ask("POST", "/api/v1/keys/current/deactivate", key), {200});
            expect(other.ask("GET", "/api/v1/users", key), {403});
        }
    });
    // The same under one Idempotency-Key from two connections: it is done once, the second gets the
    // same answer or is told that the first goes on.
    std::atomic<unsigned> turns{0};
    for (int n = 0; n < 2; ++n)
        threads.emplace_back([&] {
            while (!over) {
                client on(service.socket());
                auto const once = "once-" + std::to_string(turns++ / 2);
                auto const user = R"({"name":"U","email":")" + once + R"(@example.com"})";
                expect(on.ask("POST", "/api/v1/users", service.key, user, once), {201, 409});
            }
        });
    // What watches the service looks at what the workers count.
    threads.emplace_back([&, where = management_of_this_process()] {
        for (; !over; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
            expect(client(where).ask("GET", "/metrics", ""), {200});
            expect(client(where).ask("GET", "/readyz", ""), {200});
        }
    });
    // Reloads, which also open the log anew.
    threads.emplace_back([&] {
        while (!over) {
            ::kill(::getpid(), SIGHUP);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    });
    std::this_thread::sleep_for(lasts);
    over = true;
    for (auto& each : threads) each.join();
    EXPECT_EQ(failed, 0u) << "of " << asked << ", the last with " << wrong;
    EXPECT_GT(asked, 100u);
}

}  // namespace
}  // namespace latchkey::server
