#include "wire/http/write.hpp"

#include <gtest/gtest.h>

#include <string>

namespace latchkey::http {
namespace {

constexpr std::string_view date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";

std::string written(response const& answer, write_options options = {}) {
    std::string output = "before";
    write(answer, options, date, output);
    EXPECT_TRUE(output.starts_with("before"));
    return output.substr(6);
}

TEST(write, content) {
    response answer;
    answer.status = 201;
    answer.content_type = content::json;
    answer.add("Location", "/api/v1/users/", 17, "");
    answer.add("ETag", "\"x\"");
    answer.body = "{\"a\":1}";
    EXPECT_EQ(written(answer),
              "HTTP/1.1 201 Created\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
              "Content-Type: application/json; charset=utf-8\r\nContent-Length: 7\r\n"
              "Location: /api/v1/users/17\r\nETag: \"x\"\r\n\r\n{\"a\":1}");
}

TEST(write, head_has_the_length_and_no_content) {
    response answer;
    answer.content_type = content::text;
    answer.body = "hello";
    EXPECT_EQ(written(answer, {.head = true}),
              "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
              "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n\r\n");
}

TEST(write, empty_content_has_a_length) {
    response answer;
    answer.status = 401;
    EXPECT_EQ(written(answer),
              "HTTP/1.1 401 Unauthorized\r\n" + std::string(date) + "Content-Length: 0\r\n\r\n");
}

// RFC 9110 §8.6, §15.4.5, RFC 9112 §6.3.
TEST(write, statuses_without_content) {
    for (auto const& [status, line] : {std::pair(204, "HTTP/1.1 204 No Content\r\n"),
                                       std::pair(304, "HTTP/1.1 304 Not Modified\r\n"),
                                       std::pair(100, "HTTP/1.1 100 Continue\r\n"),
                                       std::pair(103, "HTTP/1.1 103 Unknown\r\n")}) {
        response answer;
        answer.status = static_cast<std::uint16_t>(status);
        answer.content_type = content::json;
        answer.body = "{}";
        answer.add("ETag", "\"x\"");
        EXPECT_EQ(written(answer), line + std::string(date) + "ETag: \"x\"\r\n\r\n");
    }
}

TEST(write, connection) {
    response answer;
    auto const begin = "HTTP/1.1 200 OK\r\n" + std::string(date) + "Content-Length: 0\r\n";
    EXPECT_EQ(written(answer), begin + "\r\n");
    EXPECT_EQ(written(answer, {.close = true}), begin + "Connection: close\r\n\r\n");
    EXPECT_EQ(written(answer, {.keep_alive_1_0 = true}), begin + "Connection: keep-alive\r\n\r\n");
    EXPECT_EQ(written(answer, {.close = true, .keep_alive_1_0 = true}),
              begin + "Connection: close\r\n\r\n");
    answer.close = true;
    EXPECT_EQ(written(answer, {.keep_alive_1_0 = true}), begin + "Connection: close\r\n\r\n");
}

TEST(write, every_status_of_the_contract_has_a_reason) {
    for (auto const& problem : base::problems)
        if (problem.status != 0) {
            EXPECT_NE(reason_of(problem.status), "Unknown") << problem.status;
        }
    EXPECT_EQ(reason_of(200), "OK");
    EXPECT_EQ(reason_of(507), "Insufficient Storage");
    EXPECT_EQ(reason_of(599), "Unknown");
    EXPECT_EQ(reason_of(999), "Unknown");
    EXPECT_EQ(reason_of(65535), "Unknown");
    response answer;
    answer.status = 599;
    EXPECT_TRUE(written(answer).starts_with("HTTP/1.1 599 Unknown\r\n"));
}

// Whatever the size of its parts, a response moves earlier output at most once.
TEST(write, grows_once) {
    for (std::size_t const size : {0u, 10u, 1000u, 100000u}) {
        response answer;
        answer.body.assign(size, 'x');
        answer.content_type = content::problem;
        answer.add("X", std::string(size, 'y'));
        std::string output;
        write(answer, {.close = true}, date, output);
        auto const capacity = output.capacity();
        EXPECT_GE(capacity, output.size());
        std::string exact;
        exact.reserve(capacity);
        auto const* const bytes = exact.data();
        write(answer, {.close = true}, date, exact);
        EXPECT_EQ(exact.data(), bytes);
    }
}

TEST(write, date) {
    date_line line;
    EXPECT_EQ(line.at(784111777000), date);
    EXPECT_EQ(line.at(784111777999), date);
    EXPECT_EQ(line.at(784111778000), "Date: Sun, 06 Nov 1994 08:49:38 GMT\r\n");
    EXPECT_EQ(line.at(0), "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n");
}

TEST(response, finds_its_fields) {
    response answer;
    answer.add("Retry-After", 30);
    answer.add("Retry", -5);
    answer.add("Empty");
    answer.add("Retry-After", "later");
    EXPECT_EQ(answer.find("Retry-After"), "30");
    EXPECT_EQ(answer.find("Retry"), "-5");
    EXPECT_EQ(answer.find("Empty"), "");
    EXPECT_EQ(answer.find("retry"), "");
    EXPECT_EQ(answer.field_lines(),
              "Retry-After: 30\r\nRetry: -5\r\nEmpty: \r\nRetry-After: later\r\n");
    answer.clear();
    EXPECT_EQ(answer.field_lines(), "");
}

TEST(response, media_types) {
    EXPECT_EQ(media_type_of(content::none), "");
    EXPECT_EQ(media_type_of(content::json), "application/json; charset=utf-8");
    EXPECT_EQ(media_type_of(content::problem), "application/problem+json");
    EXPECT_EQ(media_type_of(content::html), "text/html; charset=utf-8");
}

using namespace std::string_view_literals;

TEST(response_death, refuses_to_be_split) {
    for (auto const text : {"a\rb"sv, "a\nb"sv, "a\0b"sv, "0123456789\r\nX: y"sv}) {
        response answer;
        EXPECT_DEATH(answer.add("X", text), "CR, LF or NUL");
    }
    response answer;
    answer.add("X", "a\tb \x01 \xff");
    EXPECT_EQ(answer.find("X"), "a\tb \x01 \xff");
}

}  // namespace
}  // namespace latchkey::http
