// The limits of a head (api.md §1): the largest accepted size and the smallest refused one.
#include "base/limits.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "wire.hpp"

namespace latchkey::http {
namespace {

using base::problem;

// A request line of exactly `bytes` without its CRLF.
std::string line_of(std::size_t bytes) {
    std::string const frame = "GET / HTTP/1.1";
    return "GET /" + std::string(bytes - frame.size(), 'p') + " HTTP/1.1\r\n";
}

// A header section of exactly `bytes`, the empty line counted.
std::string section_of(std::size_t bytes) {
    std::string const frame = "Host: a\r\nX: \r\n\r\n";
    return "Host: a\r\nX: " + std::string(bytes - frame.size(), 'x') + "\r\n\r\n";
}

TEST(head_limits, request_line) {
    auto const max = small_limits.request_line_bytes_max;
    EXPECT_EQ(run_all_splits(line_of(max) + "Host: a\r\n\r\n", small_limits).messages.size(), 1u);
    EXPECT_EQ(
        run_all_splits("\r\n" + line_of(max) + "Host: a\r\n\r\n", small_limits).messages.size(),
        1u);
    // 414 wherever the limit falls: in the target, and before, in and after the version.
    for (std::size_t excess = 1; excess < 40; ++excess) {
        auto const result = run_all_splits(line_of(max + excess) + "Host: a\r\n\r\n", small_limits);
        EXPECT_EQ(result.problem, problem::uri_too_long) << excess;
        EXPECT_EQ(result.bytes_fed, max + 1) << "before the line has ended";
    }
    auto const endless = run_all_splits("GET /" + std::string(200, 'p'), small_limits);
    EXPECT_EQ(endless.problem, problem::uri_too_long);
}

// RFC 9112 §3: 501 for a method longer than any that is implemented.
TEST(head_limits, method) {
    auto const max = base::limits::method_bytes_max;
    auto const result = [&](std::size_t bytes) {
        return run_all_splits(std::string(bytes, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n",
                              small_limits);
    };
    EXPECT_EQ(result(max).messages.size(), 1u);
    for (std::size_t const bytes : {max + 1, max + 68}) {
        EXPECT_EQ(result(bytes).problem, problem::method_not_implemented);
        EXPECT_EQ(result(bytes).bytes_fed, max + 1);
    }
}

TEST(head_limits, header_section) {
    auto const max = small_limits.header_bytes_max;
    std::string const line = "GET / HTTP/1.1\r\n";
    EXPECT_EQ(run_all_splits(line + section_of(max), small_limits).messages.size(), 1u);
    for (std::size_t excess = 1; excess < 20; ++excess) {
        auto const result = run_all_splits(line + section_of(max + excess), small_limits);
        EXPECT_EQ(result.problem, problem::headers_too_large) << excess;
        EXPECT_EQ(result.bytes_fed, line.size() + max);
    }
    auto const endless = run_all_splits(line + std::string(300, 'n'), small_limits);
    EXPECT_EQ(endless.problem, problem::headers_too_large);
    auto const many = run_all_splits(line + std::string(300, 'n') + ": a\r\n", small_limits);
    EXPECT_EQ(many.problem, problem::headers_too_large);
}

TEST(head_limits, the_section_of_a_later_request) {
    auto const max = small_limits.header_bytes_max;
    std::string const first = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    std::string const line = "\r\nGET / HTTP/1.1\r\n";
    EXPECT_EQ(run_all_splits(first + line + section_of(max), small_limits).messages.size(), 2u);
    EXPECT_EQ(run_all_splits(first + line + section_of(max + 1), small_limits).problem,
              problem::headers_too_large);
}

TEST(head_limits, fields) {
    std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
    while (head.size() < 25 + 4 * (base::limits::header_fields_max - 1)) head.append("X:\r\n");
    EXPECT_EQ(run_all_splits(head + "\r\n").messages.size(), 1u);
    auto const result = run_all_splits(head + "Y:\r\n\r\n");
    EXPECT_EQ(result.problem, problem::headers_too_large);
    EXPECT_EQ(result.bytes_fed, head.size() + 1);
}

// The default limits, whole, byte by byte, and cut around the limit.
void expect_at_default_limits(std::string const& bytes, problem expected) {
    std::vector<std::size_t> every(bytes.size() - 1);
    std::iota(every.begin(), every.end(), 1);
    EXPECT_EQ(run(bytes, {}, {}).problem, expected);
    EXPECT_EQ(run(bytes, every, {}).problem, expected);
    for (std::size_t distance = 1; distance < 30; ++distance)
        EXPECT_EQ(run(bytes, {bytes.size() - distance}, {}).problem, expected) << distance;
}

TEST(head_limits, defaults) {
    size_limits const limits;
    EXPECT_EQ(limits.request_line_bytes_max, 8192u);
    EXPECT_EQ(limits.header_bytes_max, 16384u);
    EXPECT_EQ(limits.body_bytes_max, 1048576u);
    std::string const line = "GET / HTTP/1.1\r\n";
    expect_at_default_limits(line_of(8192) + "Host: a\r\n\r\n", problem::none);
    expect_at_default_limits(line_of(8193) + "Host: a\r\n\r\n", problem::uri_too_long);
    expect_at_default_limits(line + section_of(16384), problem::none);
    expect_at_default_limits(line + section_of(16385), problem::headers_too_large);
    expect_at_default_limits(line_of(8192) + section_of(16384), problem::none);
    std::string const post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ";
    expect_at_default_limits(post + "1048576\r\n\r\n", problem::none);
    expect_at_default_limits(post + "1048577\r\n\r\n", problem::body_too_large);
}

}  // namespace
}  // namespace latchkey::http
