// The whole service in this process, with everything that its threads share in use at once: two
// workers, the writer, the log thread, the main thread with its management listener, reloads. Meant
// for ThreadSanitizer (tools/test tsan), which ends the process at the first race.
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
#include "domain/writer.hpp"
#include "server/service.hpp"
#include "socket_client.hpp"

namespace latchkey::server {
namespace {

constexpr auto duration = std::chrono::seconds(4);

// Remembers the content of the last response.
class client {
  public:
    explicit client(listen_address const& server) : socket_(server) {}

    // The status of the response, 0 when there is none.
    int ask(std::string_view method, std::string_view path, std::string_view key,
            std::string_view body = {}, std::string_view idempotency_key = {}) {
        std::string text;
        text.append(method).append(" ").append(path).append(" HTTP/1.1\r\nHost: x\r\n");
        text.append("X-API-Key: ").append(key).append("\r\n");
        if (!idempotency_key.empty())
            text.append("Idempotency-Key: ").append(idempotency_key).append("\r\n");
        if (!body.empty()) text.append("Content-Type: application/json\r\n");
        text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n");
        auto const response = socket_.ask(text.append(body));
        content = socket_client::content_of(response);
        return socket_client::status_of(response);
    }

    std::string content;

  private:
    socket_client socket_;
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
        // Only the thread of the service takes signals.
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        settings.data = folder / "data";
        settings.listen = {"unix:" + socket()};
        settings.workers = 2;
        settings.management = "127.0.0.1:0";
        settings.confined = false;  // the tests need what that forbids
        auth::fresh_key const fresh("lkey");
        key = fresh.text();
        auto store = store::environment::open({.directory = settings.data}).value();
        std::vector<domain::command> commands(1);
        model::key record{.digest = auth::digest_of(key), .name = "first", .rate_limits = {}};
        record.scopes.add("*");
        commands[0].action = domain::create_key{record};
        EXPECT_TRUE(domain::apply(*store, std::move(commands)));
        store.reset();
        main = std::thread([this] {
            auto const outcome = serve_until_stopped(settings, [this] {
                auto next = settings;
                static std::atomic<unsigned> times{0};
                next.http_idle_seconds = 30 + times++ % 2;
                return base::result<config>(next);
            });
            served = bool(outcome);
            EXPECT_TRUE(outcome) << outcome.error().message;
        });
        for (int i = 0; i < 1000 && !is_served(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ~whole_service() {
        ::kill(::getpid(), SIGTERM);
        main.join();
        EXPECT_TRUE(served);
        std::filesystem::remove_all(folder);
    }
    bool is_served() const {
        return socket_client(address(), {.may_be_refused = true}).connected();
    }
    std::string socket() const { return folder / "socket"; }
    listen_address address() const { return parse_listen_address("unix:" + socket()).value(); }
};

// The service chose the port: this process has no other listener on IP.
listen_address management_of_this_process() {
    for (int fd = 0; fd < 256; ++fd) {
        int listens = 0;
        socklen_t size = sizeof listens;
        sockaddr_storage address{};
        socklen_t length = sizeof address;
        if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
            ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
            address.ss_family == AF_INET)
            return parse_listen_address("http://127.0.0.1:" + std::to_string(port_of(address)))
                .value();
    }
    ADD_FAILURE() << "there is no management listener";
    return {};
}

std::string member(std::string const& json, std::string const& name) {
    auto const position = json.find("\"" + name + "\":\"");
    if (position == json.npos) return {};
    auto const begin = position + name.size() + 4;
    return json.substr(begin, json.find('"', begin) - begin);
}

TEST(together, a_service_with_everything_in_use_serves_every_request) {
    whole_service service;
    std::atomic<bool> finished{false};
    std::atomic<std::size_t> requests{0}, failed{0};
    std::atomic<int> wrong{0};
    auto const expect = [&](int status, std::initializer_list<int> good) {
        ++requests;
        if (std::find(good.begin(), good.end(), status) != good.end()) return;
        ++failed;
        wrong = status;
    };
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n)
        threads.emplace_back([&, n] {
            for (unsigned i = 0; !finished; ++i) {
                client connection(service.address());  // on either worker
                auto const user = R"({"name":"U","email":")" + std::to_string(n) + "." +
                                  std::to_string(i) + R"(@example.com"})";
                expect(connection.ask("POST", "/api/v1/users", service.key, user), {201});
                expect(connection.ask("GET", "/api/v1/users?limit=5", service.key), {200});
                expect(connection.ask("GET", "/api/v1/users/1", std::string(48, 'x')), {401, 429});
            }
        });
    // Keys that are created, used by both workers, and deactivated.
    threads.emplace_back([&] {
        while (!finished) {
            client one(service.address()), other(service.address());
            expect(one.ask("POST", "/api/v1/keys", service.key, R"({"name":"k","scopes":["*"]})"),
                   {201});
            auto const key = member(one.content, "key");
            expect(other.ask("GET", "/api/v1/users", key), {200});
            expect(one.ask("POST", "/api/v1/keys/current/deactivate", key), {200});
            expect(other.ask("GET", "/api/v1/users", key), {403});
        }
    });
    // The same write under one Idempotency-Key from two connections: it is done once, and the second
    // gets the same response, or the error that the first is in progress.
    std::atomic<unsigned> turns{0};
    for (int n = 0; n < 2; ++n)
        threads.emplace_back([&] {
            while (!finished) {
                client connection(service.address());
                auto const idempotency_key = "once-" + std::to_string(turns++ / 2);
                auto const user =
                    R"({"name":"U","email":")" + idempotency_key + R"(@example.com"})";
                expect(connection.ask("POST", "/api/v1/users", service.key, user, idempotency_key),
                       {201, 409});
            }
        });
    // Monitoring reads what the workers count.
    threads.emplace_back([&, where = management_of_this_process()] {
        for (; !finished; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
            expect(client(where).ask("GET", "/metrics", ""), {200});
            expect(client(where).ask("GET", "/readyz", ""), {200});
        }
    });
    // Reloads, which also reopen the log.
    threads.emplace_back([&] {
        while (!finished) {
            ::kill(::getpid(), SIGHUP);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    });
    std::this_thread::sleep_for(duration);
    finished = true;
    for (auto& each : threads) each.join();
    EXPECT_EQ(failed, 0u) << "of " << requests << ", the last with " << wrong;
    EXPECT_GT(requests, 100u);
}

}  // namespace
}  // namespace latchkey::server
