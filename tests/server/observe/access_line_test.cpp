#include "server/observe/access_line.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "../running_worker.hpp"
#include "../socket_client.hpp"

namespace latchkey::server {
namespace {

// The access log, once it has so many lines.
std::string lines_of(running_worker& service, std::ptrdiff_t count) {
    std::string log;
    for (int i = 0; i < 10'000 && std::count(log.begin(), log.end(), '\n') < count; ++i) {
        ::usleep(1000);
        std::ifstream file(service.access_log());
        log.assign(std::istreambuf_iterator<char>(file), {});
    }
    return log;
}

TEST(access_log_lines, are_json_whatever_the_client_sends) {
    log_entry entry;
    entry.begin("GET", "/users/\"\\", "agent\x01\xff\"", {0, 0});
    entry.status = 404;
    entry.code = base::problem::route_not_found;
    entry.bytes_in = 10;
    entry.bytes_out = 20;
    entry.request_id = "req_x";
    entry.refused_unparsed = true;
    std::string line;
    access_lines().append(entry, nullptr, {}, 1'234'567, line);
    EXPECT_NE(line.find(R"("protocol":"HTTP/1.1")"), std::string::npos) << line;
    EXPECT_EQ(line.find('\x01'), std::string::npos);
    EXPECT_EQ(line.find('\xff'), std::string::npos) << "a log line is valid UTF-8";
    EXPECT_NE(line.find(R"("path":"/users/\"\\")"), std::string::npos) << line;
    EXPECT_NE(
        line.find(
            R"("status":404,"code":"route_not_found","bytes_in":10,"bytes_out":20,"duration_us":1234,)"),
        std::string::npos)
        << line;
    EXPECT_TRUE(line.ends_with("}\n"));
}

TEST(access_log_lines, name_the_protocol) {
    for (auto const& [version, name] : {std::pair{session::protocol::http1_0, "HTTP/1.0"},
                                        {session::protocol::http1_1, "HTTP/1.1"},
                                        {session::protocol::http2, "HTTP/2"}}) {
        log_entry entry;
        entry.begin("GET", "/", "", {0, 0});
        entry.protocol = version;
        std::string line;
        access_lines().append(entry, nullptr, {}, 0, line);
        EXPECT_NE(line.find("\"protocol\":\"" + std::string(name) + "\"}\n"), line.npos) << line;
    }
}

// The connection is a trusted proxy's, the request somebody else's.
TEST(access_log_lines, name_the_client_of_the_request) {
    running_worker service({.trusted_proxies = {"127.0.0.1"}}, 1, 20);
    auto request = service.get("/posts/1");
    request.insert(request.size() - 2,
                   "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n");
    socket_client proxy(service.address());
    EXPECT_EQ(proxy.status(request), 200);
    EXPECT_EQ(proxy.status("nonsense\r\n\r\n"), 400);
    auto const log = lines_of(service, 2);
    auto const second = log.find('\n') + 1;
    EXPECT_NE(log.substr(0, second).find(R"("ip":"192.0.2.1")"), log.npos) << log;
    EXPECT_NE(log.substr(second).find(R"("ip":"127.0.0.1")"), log.npos) << log;
}

// A terminal that shows the log would interpret C1 controls and bidirectional overrides of a
// client.
TEST(access_log_lines, escape_control_characters_of_a_client) {
    log_entry entry;
    entry.begin("GET", "/",
                "a\xc2\x9b"
                "2J\xe2\x80\xae"
                "b\xe2\x80\xa8\xe2\x81\xa6"
                "c\x9b\xc3\xa9",
                {0, 0});
    std::string line;
    access_lines().append(entry, nullptr, {}, 0, line);
    EXPECT_NE(line.find("\"user_agent\":\"a\\u009b2J\\u202eb\\u2028\\u2066c\xef\xbf\xbd\xc3\xa9\""),
              std::string::npos)
        << line;
}

TEST(access_log_lines, keep_a_bounded_part_of_what_the_client_sends) {
    std::string const long_text(10'000, 'x');
    log_entry entry;
    entry.begin(long_text, long_text, long_text, {0, 0});
    EXPECT_EQ(entry.method.size(), log_entry::method_bytes_max);
    EXPECT_EQ(entry.path.size(), log_entry::path_bytes_max);
    EXPECT_EQ(entry.user_agent.size(), log_entry::agent_bytes_max);
}

TEST(access_log_lines, outlive_the_request_once_they_are_kept) {
    log_entry entry;
    {
        std::string method = "PATCH", path = "/api/v1/users/7", agent = "some agent";
        entry.begin(method, path, agent, {0, 0});
        entry.keep();  // its body came later
        entry.keep();  // and then it waited for a commit
        for (auto* const each : {&method, &path, &agent}) each->assign(each->size(), '#');
    }
    EXPECT_EQ(entry.method, "PATCH");
    EXPECT_EQ(entry.path, "/api/v1/users/7");
    EXPECT_EQ(entry.user_agent, "some agent");
}

// The tables have room for fewer clients and operations, and some of these texts are not kept.
TEST(access_log_lines, do_not_depend_on_the_lines_before) {
    std::mt19937 random(7);
    auto const one_of = [&](auto const& choices) -> auto const& {
        return choices[random() % std::size(choices)];
    };
    std::string const methods[] = {"GET", "POST", "OPTIONS", "A-METHOD-OF-THE-LARGEST-SIZE-XXX",
                                   ""};
    std::string const agents[] = {"",
                                  "curl/8",
                                  "curl/9",
                                  "a\"\x01",
                                  std::string(160, 'a'),
                                  std::string(161, 'a'),
                                  std::string(160, '"'),
                                  std::string(256, '\x01')};
    access_lines lines;
    for (int i = 0; i < 20'000; ++i) {
        api::peer peer;
        if (random() % 8 != 0) {
            peer.client.emplace().bytes[15] = static_cast<std::uint8_t>(random());
            peer.client->bytes[random() % 2 == 0 ? 0 : 10] = 0xff;
        }
        log_entry entry;
        entry.begin(one_of(methods), "/", one_of(agents), {0, 0});
        entry.protocol = static_cast<session::protocol>(random() % 3);
        std::string line, alone;
        lines.append(entry, nullptr, peer, 5000, line);
        access_lines().append(entry, nullptr, peer, 5000, alone);
        ASSERT_EQ(line, alone) << i;
        boost::system::error_code error;
        boost::json::parse(line, error);
        ASSERT_FALSE(error) << line;
    }
}

TEST(access_log_lines, name_each_request_s_own_client_and_operation) {
    running_worker service({.trusted_proxies = {"127.0.0.1"}}, 1, 20);
    std::string const paths[] = {"/posts/1", "/users/1", "/users/77", "/nowhere"};
    std::string const agents[] = {"one", "other", "a\tb"};
    socket_client proxy(service.address());
    constexpr int count = 400;
    for (int i = 0; i < count; ++i) {
        auto request = service.get(paths[i % 4]);
        auto const fields = "X-Forwarded-For: 192.0.2." + std::to_string(i % 200) +
                            "\r\nX-Forwarded-Proto: https\r\nUser-Agent: " + agents[i % 3] +
                            "\r\nX-Request-Id: request-" + std::to_string(i) + "\r\n";
        if (i % 5 == 0) request.replace(request.find("X-API-Key"), 9, "X-No-Key_");
        request.insert(request.size() - 2, fields);
        proxy.status(request);
    }
    std::istringstream log(lines_of(service, count));
    std::string line;
    for (int i = 0; i < count && std::getline(log, line); ++i) {
        auto const value = boost::json::parse(line);
        EXPECT_EQ(value.at("request_id").as_string(), "request-" + std::to_string(i));
        EXPECT_EQ(value.at("ip").as_string(), "192.0.2." + std::to_string(i % 200)) << line;
        EXPECT_EQ(value.at("user_agent").as_string(), agents[i % 3]) << line;
        EXPECT_EQ(value.at("path").as_string(), "/api/v1" + paths[i % 4]) << line;
        EXPECT_EQ(value.at("key_id").is_null(), i % 5 == 0) << line;
        EXPECT_EQ(value.at("project").is_null(), i % 5 == 0) << line;
        EXPECT_EQ(value.at("key_source").is_null(), i % 5 == 0) << line;
        bool const has_route = i % 4 != 3;
        EXPECT_EQ(value.at("route").is_null(), !has_route) << line;
    }
    EXPECT_FALSE(line.empty());
}

}  // namespace
}  // namespace latchkey::server
