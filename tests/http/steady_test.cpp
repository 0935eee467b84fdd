// Once its buffers have grown, a connection parses and answers without allocating.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "http/parser.hpp"
#include "http/write.hpp"

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t size) {
    ++allocations;
    if (void* const memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

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
    settings limits;
    section_cache sections;
    parser in{limits, &sections};
    request head;
    framing how;
    response answer;
    date_line date;
    std::string body;
    std::string output;

    std::size_t turn() {
        std::size_t answered = 0;
        std::string_view input = requests;
        output.clear();
        while (!input.empty()) {
            auto const first = in.read_head(input, head, how);
            if (first.state != step::state::complete) return 0;
            input.remove_prefix(first.consumed);
            body.clear();
            auto const second = in.read_body(input, body);
            if (second.state != step::state::complete) return 0;
            input.remove_prefix(second.consumed);
            in.next();
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
        write(answer, {.head = false, .close = !how.keep_alive}, date.at(784111777000), output);
    }
};

TEST(steady, allocates_nothing) {
    connection on;
    ASSERT_EQ(on.turn(), 3u);
    auto const before = allocations;
    std::size_t answered = 0;
    for (int turn = 0; turn < 100; ++turn) answered += on.turn();
    auto const after = allocations;
    EXPECT_EQ(answered, 300u);
    EXPECT_EQ(after - before, 0u);
}

// The counter counts.
TEST(steady, would_notice) {
    auto const before = allocations;
    auto* volatile text = new std::string(100, 'x');
    delete text;
    EXPECT_GE(allocations - before, 2u);
}

}  // namespace
}  // namespace latchkey::http
