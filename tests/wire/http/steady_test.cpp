// In the steady state a connection parses and responds without allocating.
#include <gtest/gtest.h>

#include <string>

#include "../../limit/allocations.hpp"
#include "wire/http/parser.hpp"
#include "wire/http/write.hpp"

namespace latchkey::http {
namespace {

constexpr std::string_view requests =
    "GET /api/v1/users/17?include=posts HTTP/1.1\r\nHost: api.example.com\r\n"
    "Authorization: Bearer lkey0123456789012345678901234567890123456789abcd\r\n"
    "Accept: application/json\r\nX-Other: something\r\n\r\n"
    "POST /api/v1/users HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX: y\r\n\r\n"
    "POST /api/v1/users HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\n"
    "0123456789012345678901234567890123456789";

struct connection {
    size_limits limits;
    section_cache sections;
    parser subject{limits, &sections};
    request head;
    framing delivery;
    response answer;
    date_line date;
    std::string body;
    std::string output;

    std::size_t turn() {
        std::size_t answered = 0;
        std::string_view input = requests;
        output.clear();
        while (!input.empty()) {
            auto const first = subject.read_head(input, head, delivery);
            if (first.state != step::progress::complete) return 0;
            input.remove_prefix(first.consumed);
            body.clear();
            auto const second = subject.read_body(input, body);
            if (second.state != step::progress::complete) return 0;
            input.remove_prefix(second.consumed);
            subject.next();
            respond();
            ++answered;
        }
        return answered;
    }

    void respond() {
        answer.clear();
        answer.status = 201;
        answer.content_type = content::json;
        answer.add("Location", "/api/v1/users/", 1234567890);
        answer.add("ETag", "\"0123456789abcdef\"");
        answer.body.append(body).append(head.path);
        write(answer, {.head = false, .close = !delivery.keep_alive}, date.at(784111777000),
              output);
    }
};

TEST(steady, allocates_nothing) {
    if (!test::counts_allocations()) GTEST_SKIP() << "nothing is counted in this build";
    connection subject;
    ASSERT_EQ(subject.turn(), 3u);
    auto const initial = test::allocations();
    std::size_t answered = 0;
    for (int turn = 0; turn < 100; ++turn) answered += subject.turn();
    auto const final_count = test::allocations();
    EXPECT_EQ(answered, 300u);
    EXPECT_EQ(final_count - initial, 0u);
}

// The counter counts.
TEST(steady, counts_allocations) {
    if (!test::counts_allocations()) GTEST_SKIP() << "nothing is counted in this build";
    auto const initial = test::allocations();
    auto* volatile text = new std::string(100, 'x');
    delete text;
    EXPECT_GE(test::allocations() - initial, 2u);
}

}  // namespace
}  // namespace latchkey::http
