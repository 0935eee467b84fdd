// tests/api/conversation.hpp is a connection without socket, time and worker, quick enough for a
// fuzzer. What it repeats of server/connection.cpp must not become something else: here both are
// told the same, in one piece and cut, and must give the same answers and come to the same end.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "../api/conversation.hpp"
#include "running_worker.hpp"

namespace latchkey::server {
namespace {

using namespace std::chrono_literals;
using api::in_chunks;
using api::request_text;

// How a connection went, without what is another value each time.
struct course {
    std::vector<std::string> answers;  // status line, Connection, Content-Length, code of a problem
    bool ended = false;

    bool operator==(course const&) const = default;
};

std::ostream& operator<<(std::ostream& to, course const& shown) {
    for (auto const& answer : shown.answers) to << "\n  " << answer;
    return to << (shown.ended ? "\n  and its end" : "\n  and goes on");
}

std::string part_of(std::string_view answer, std::string_view begin, char end) {
    auto const at = answer.find(begin);
    if (at == answer.npos) return {};
    return std::string(answer.substr(at, answer.find(end, at + begin.size()) - at));
}

// Whether a body comes unasked depends on how the bytes were cut, so `100 Continue` is no answer.
std::vector<std::string> answers_in(std::string_view bytes) {
    constexpr std::string_view begin = "HTTP/1.1 ";
    std::vector<std::string> all;
    for (auto at = bytes.find(begin); at != bytes.npos;) {
        auto const next = bytes.find(begin, at + 1);
        auto const one = bytes.substr(at, next == bytes.npos ? next : next - at);
        at = next;
        if (one.starts_with("HTTP/1.1 100 ")) continue;
        all.push_back(part_of(one, begin, '\r') + " | " + part_of(one, "\r\nConnection: ", '\r') +
                      " | " + part_of(one, "\r\nContent-Length: ", '\r') + " | " +
                      part_of(one, "\"code\":\"", '"'));
        std::erase(all.back(), '\n');
        std::erase(all.back(), '\r');
    }
    return all;
}

struct agreement : testing::Test {
    running_worker service;
    api::station station;

    agreement() {
        station.from = {.tls = false, .local = true, .client = model::address::parse("127.0.0.1")};
        station.add_user("Ada Lovelace", "ada@example.com");
    }

    course conversed(std::string_view bytes, std::size_t cut) {
        api::conversation with(station);
        with.receive(bytes.substr(0, cut));
        with.receive(bytes.substr(cut));
        return {answers_in(with.answers()), with.closed()};
    }

    // Waits until it went as is wanted, and a little longer for what is not.
    course served(std::string_view bytes, std::size_t cut, course const& wanted) {
        sockaddr_storage address;
        auto const size = to_sockaddr(service.where(), address);
        int const fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
        // The server may have ended it in the middle.
        if (cut != 0) {
            (void)::send(fd, bytes.data(), cut, MSG_NOSIGNAL);
            std::this_thread::sleep_for(2ms);
        }
        for (auto rest = bytes.substr(cut); !rest.empty();) {
            auto const sent = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
            if (sent <= 0) break;
            rest.remove_prefix(static_cast<std::size_t>(sent));
        }
        course seen;
        std::string heard;
        while (!seen.ended) {
            pollfd asked{fd, POLLIN, 0};
            if (::poll(&asked, 1, seen == wanted ? 20 : 5000) == 0) break;
            char part[16384];
            auto const got = ::recv(fd, part, sizeof part, 0);
            if (got > 0) heard.append(part, static_cast<std::size_t>(got));
            seen = {answers_in(heard), got <= 0};
        }
        ::close(fd);
        return seen;
    }

    // `{key}` stands for the key, which is another one here and there. Behind it comes one more
    // request, which is answered, taken for something else or dropped.
    void expect_agreement(std::string const& text) {
        auto const with = [&](std::string const& key) {
            auto bytes = text + request_text("GET /healthz");
            for (std::size_t at; (at = bytes.find("{key}")) != bytes.npos;)
                bytes.replace(at, 5, key);
            return bytes;
        };
        auto const here = with(service.key()), there = with(station.key);
        ASSERT_EQ(here.size(), there.size());
        auto const head = here.find("\r\n\r\n");
        for (std::size_t const cut : {std::size_t{0}, head + 4, here.size() - 30, head - 1}) {
            if (cut >= here.size()) continue;
            auto const wanted = conversed(there, cut);
            EXPECT_EQ(served(here, cut, wanted), wanted)
                << "cut at " << cut << ": " << text.substr(0, 300);
        }
    }
};

api::lines const key{"X-API-Key: {key}"};

api::lines with_key(std::string field) {
    return {key[0], std::move(field)};
}

TEST_F(agreement, about_requests_without_a_body) {
    for (auto const line : {"GET /api/v1/users/1", "HEAD /api/v1/users/1", "GET /api/v1/users/9",
                            "GET /nothing", "OPTIONS *", "BREW /healthz"}) {
        expect_agreement(request_text(line, key));
        expect_agreement(request_text(line, with_key("Connection: close")));
    }
    expect_agreement("GET /healthz HTTP/1.0\r\n\r\n");
    expect_agreement("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    expect_agreement("GET /healthz HTTP/1.1\r\n\r\n");
    expect_agreement("HEAD /healthz HTTP/1.1\r\n\r\n");
    expect_agreement("\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_agreement("hello\r\n\r\n");
    expect_agreement(request_text("GET /" + std::string(9000, 'x')));
    expect_agreement(request_text("GET /healthz", {"X: " + std::string(17000, 'x')}));
}

TEST_F(agreement, about_bodies_that_are_read) {
    std::string const user = R"({"name":"Bob","email":"bob@example.com"})";
    auto const path = "POST /api/v1/users";
    expect_agreement(request_text(path, key, user));
    expect_agreement(request_text(path, key, user) + request_text("GET /api/v1/users/2", key));
    expect_agreement(in_chunks(path, key, user));
    expect_agreement(request_text(path, key, "no json"));
    expect_agreement(request_text(path, with_key("Connection: close"), user));
    expect_agreement(request_text(path, with_key("Expect: 100-continue"), user));
    expect_agreement(request_text(path, with_key("Expect: a miracle"), user));
    expect_agreement(request_text(path, with_key("Content-Type: text/plain"), user));
    expect_agreement(request_text(path, {}, R"({"api_key":"{key}"})" + std::string(43, ' ')));
    auto const chunked = with_key("Transfer-Encoding: chunked\r\nContent-Type: application/json");
    for (auto const body : {"0\n\n", "zz\r\n", "2\r\n{}x", "2\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
                            "2;a=b\r\n{}\r\n0\r\n\r\n", "ffffffff\r\n"})
        expect_agreement(request_text(path, chunked) + body);
}

TEST_F(agreement, about_bodies_that_are_too_long) {
    auto const path = "POST /api/v1/events/a_source";
    std::string const body(base::limits::event_bytes_max + 1, ' ');
    expect_agreement(request_text(path, key, body));
    expect_agreement(in_chunks(path, key, body));
    expect_agreement(request_text(path, with_key("Expect: 100-continue"), body));
    expect_agreement(request_text("POST /api/v1/users", key, std::string(1100 * 1024, ' ')));
    expect_agreement(request_text("POST /api/v1/users", with_key("Content-Length: 9999999")));
}

TEST_F(agreement, about_bodies_that_nobody_reads) {
    auto const hidden = request_text("GET /api/v1/users/1");
    for (auto const line : {"PUT /api/v1/users/1", "PUT /healthz", "POST /nothing"}) {
        expect_agreement(request_text(line, {}, hidden));
        expect_agreement(in_chunks(line, {}, hidden));
        expect_agreement(request_text(line, {"Expect: 100-continue"}, hidden));
        expect_agreement(request_text(line, {"Transfer-Encoding: chunked"}) + "no chunk\r\n");
        expect_agreement(request_text(line, {"Connection: close"}, hidden));
    }
    for (std::size_t const size :
         {base::limits::skipped_body_bytes_max, base::limits::skipped_body_bytes_max + 1}) {
        expect_agreement(request_text("PUT /healthz", {}, std::string(size, ' ')));
        expect_agreement(in_chunks("PUT /healthz", {}, std::string(size, ' ')));
    }
}

}  // namespace
}  // namespace latchkey::server
