// The program from outside: this process is its service and its collector.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/time_units.hpp"
#include "helpers/kit/channel.hpp"
#include "helpers/trace/protocol/trace_messages.hpp"

namespace latchkey::trace {
namespace {

constexpr base::mono_ns patience = 30 * base::second;

// Answers one request after another as its list says, then all with 200. Each ends its connection.
class collector {
  public:
    explicit collector(std::vector<std::string> answers) : answers_(std::move(answers)) {
        socket_ = base::descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in name{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        socklen_t size = sizeof name;
        ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&name), size);
        ::listen(socket_.get(), 16);
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&name), &size);
        port_ = ntohs(name.sin_port);
        thread_ = std::thread([this] { run(); });
    }
    ~collector() {
        ::shutdown(socket_.get(), SHUT_RDWR);
        thread_.join();
    }

    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1/traces"; }
    std::vector<std::string> requests() {
        std::lock_guard const lock(mutex_);
        return requests_;
    }

  private:
    void run() {
        for (std::size_t i = 0;; ++i) {
            base::descriptor const client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!client.is_open()) return;
            auto request = read_request(client.get());
            {
                std::lock_guard const lock(mutex_);
                requests_.push_back(std::move(request));
            }
            auto const answer = i < answers_.size() ? answers_[i] : std::string("200 OK\r\n");
            auto const text =
                "HTTP/1.1 " + answer + "Content-Length: 2\r\nConnection: close\r\n\r\n{}";
            (void)::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
        }
    }
    static std::string read_request(int fd) {
        std::string text;
        char bytes[4096];
        for (std::size_t size_max = std::string::npos; text.size() < size_max;) {
            auto const size = ::recv(fd, bytes, sizeof bytes, 0);
            if (size <= 0) break;
            text.append(bytes, static_cast<std::size_t>(size));
            auto const end = text.find("\r\n\r\n");
            auto const length = text.find("Content-Length: ");
            if (end != text.npos && length != text.npos)
                size_max = end + 4 + std::stoul(text.substr(length + 16));
        }
        return text;
    }

    std::vector<std::string> answers_;
    base::descriptor socket_;
    std::uint16_t port_ = 0;
    std::mutex mutex_;
    std::vector<std::string> requests_;
    std::thread thread_;
};

// The service's side.
class running_helper {
  public:
    explicit running_helper(std::string const& endpoint) {
        auto ends = kit::make_socket_pair();
        process_ = ::fork();
        if (process_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::setenv("http_proxy", "http://127.0.0.1:9", 1);  // which must be ignored
            auto const number = std::to_string(::dup(ends->second.get()));
            auto const path = (std::filesystem::read_symlink("/proc/self/exe").parent_path() /
                               "../../../src/helpers/trace/latchkey-trace")
                                  .string();
            ::execl(path.c_str(), path.c_str(), "--descriptor", number.c_str(), nullptr);
            ::_exit(127);
        }
        channel_ = std::make_unique<kit::channel>(std::move(ends->first));
        trace::protocol::settings settings;
        settings.endpoint = endpoint;
        settings.fields = {{"Authorization", "Bearer x"}};
        settings.service_name = "keys";
        auto const content = receive();
        auto const* const hello = std::get_if<trace::protocol::hello>(&content);
        EXPECT_NE(hello, nullptr);
        auto const session = hello != nullptr ? hello->session : 0;
        // Of an earlier helper, which has ended: its spans are lost, and not this one's to count.
        send(trace::protocol::begin{session + 1});
        send(settings);
        send_spans(7);
        send(trace::protocol::begin{session});
        send(settings);
    }
    ~running_helper() { (void)close(); }

    void send(trace::protocol::message const& content) {
        EXPECT_TRUE(channel_->send(trace::protocol::encode(content), base::read_mono() + patience));
    }
    void send_spans(std::size_t count) {
        for (; count > 0; count -= std::min(count, trace::protocol::spans_per_batch_max)) {
            trace::protocol::batch batch;
            batch.spans.resize(std::min(count, trace::protocol::spans_per_batch_max));
            for (auto& each : batch.spans) each.method = "GET";
            send(batch);
        }
    }
    // The first report that tells of so many spans.
    trace::protocol::report await_report(std::uint64_t count) {
        for (;;) {
            auto const content = receive();
            auto const* const report = std::get_if<trace::protocol::report>(&content);
            if (report == nullptr) return {};
            if (report->exported + report->dropped >= count) return *report;
        }
    }
    // Its exit code, once the service has ended.
    int close() {
        if (process_ < 0) return -1;
        channel_.reset();
        int status = 0;
        ::waitpid(std::exchange(process_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

  private:
    trace::protocol::message receive() {
        auto const bytes = channel_->receive_until(base::read_mono() + patience);
        if (!bytes || !*bytes) {
            ADD_FAILURE() << "the helper says nothing";
            return trace::protocol::flush{};
        }
        return trace::protocol::decode(**bytes).value();
    }

    std::unique_ptr<kit::channel> channel_;
    pid_t process_ = -1;
};

TEST(latchkey_trace, exports_batches_and_reports_them) {
    collector collector({});
    running_helper helper(collector.url());
    helper.send_spans(600);
    EXPECT_EQ(helper.await_report(600), (trace::protocol::report{600, 0, ""}));
    auto const requests = collector.requests();
    ASSERT_EQ(requests.size(), 2u) << "512 in one request";
    for (auto const* part : {"POST /v1/traces HTTP/1.1\r\n", "Content-Type: application/json\r\n",
                             "Authorization: Bearer x\r\n", R"("resourceSpans":[{)",
                             R"({"stringValue":"keys"})", R"("name":"GET")"})
        EXPECT_NE(requests[0].find(part), std::string::npos) << part;
    EXPECT_EQ(helper.close(), 0);
}

TEST(latchkey_trace, sends_at_once_what_it_is_to_flush) {
    collector collector({});
    running_helper helper(collector.url());
    auto const start = base::read_mono();
    helper.send_spans(1);
    helper.send(trace::protocol::flush{});
    EXPECT_EQ(helper.await_report(1).exported, 1u);
    EXPECT_LT(base::read_mono() - start, 10 * base::second);
}

TEST(latchkey_trace, repeats_what_is_refused_for_now_and_obeys_retry_after) {
    collector collector(
        {"503 Service Unavailable\r\nRetry-After: 2\r\n", "429 Too Many Requests\r\n"});
    running_helper helper(collector.url());
    auto const start = base::read_mono();
    helper.send_spans(3);
    EXPECT_EQ(helper.await_report(3), (trace::protocol::report{3, 0, ""}));
    EXPECT_GE(base::read_mono() - start, 4 * base::second)
        << "2 s that it named, and 2 s of its own";
    auto const requests = collector.requests();
    ASSERT_EQ(requests.size(), 3u);
    EXPECT_EQ(requests[0], requests[2]) << "the same spans";
}

TEST(latchkey_trace, drops_and_counts_what_is_refused_for_good) {
    collector collector({"400 Bad Request\r\n"});
    running_helper helper(collector.url());
    helper.send_spans(3);
    EXPECT_EQ(helper.await_report(3), (trace::protocol::report{0, 3, "the endpoint answered 400"}));
    helper.send_spans(2);
    EXPECT_EQ(helper.await_report(5), (trace::protocol::report{2, 3, ""}));
    EXPECT_EQ(collector.requests().size(), 2u);
}

TEST(latchkey_trace, keeps_no_more_than_its_queue_while_the_endpoint_is_away) {
    running_helper helper("http://127.0.0.1:9/v1/traces");
    helper.send_spans(512);
    ::sleep(1);  // they are in a request, which fails
    helper.send_spans(8192 + 100);
    EXPECT_EQ(helper.await_report(100).dropped, 100u);
    EXPECT_EQ(helper.close(), 0);
}

}  // namespace
}  // namespace latchkey::trace
