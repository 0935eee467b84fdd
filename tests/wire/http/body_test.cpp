// Sized and chunked bodies (RFC 9112 §6, §7.1) in every split.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/limits.hpp"
#include "wire.hpp"
#include "wire/http/chunk_guard.hpp"

namespace latchkey::http {
namespace {

using namespace std::string_view_literals;
using base::problem;
namespace limits = base::limits;

constexpr std::string_view sized_head = "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: ";
constexpr std::string_view chunked_head =
    "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr std::string_view chunked_prefix =
    "POST /b @a 1.1 keep {Host=a;Transfer-Encoding=chunked} chunked ";

TEST(body, sized) {
    for (auto const length : {"5", "05", "0000000000000000000000000000005"}) {
        auto const bytes =
            std::string(sized_head) + length + "\r\n\r\nhel\r\nGET / HTTP/1.0\r\n\r\n";
        EXPECT_EQ(format_outcome(run_all_splits(bytes), bytes.size()),
                  "POST /b @a 1.1 keep {Host=a;Content-Length=" + std::string(length) +
                      "} sized 'hel\r\n'\nGET / @ 1.0 close {} none\n");
    }
}

TEST(body, sized_holds_any_bytes) {
    auto const bytes = std::string(sized_head) + "6\r\n\r\n" + std::string("\0\r\n\n\r\xff"sv);
    EXPECT_EQ(format_outcome(run_all_splits(bytes), bytes.size()),
              "POST /b @a 1.1 keep {Host=a;Content-Length=6} sized '" +
                  std::string("\0\r\n\n\r\xff"sv) + "'\n");
}

TEST(body, of_length_zero_is_none) {
    auto const bytes = std::string(sized_head) + "0\r\n\r\nGET / HTTP/1.0\r\n\r\n";
    EXPECT_EQ(format_outcome(run_all_splits(bytes), bytes.size()),
              "POST /b @a 1.1 keep {Host=a;Content-Length=0} none\nGET / @ 1.0 close {} none\n");
}

TEST(body, incomplete) {
    auto const result = run_all_splits(std::string(sized_head) + "5\r\n\r\nhell");
    EXPECT_FALSE(result.refused());
    EXPECT_TRUE(result.messages.empty());
}

TEST(body, of_the_largest_size) {
    auto const bytes = std::string(sized_head) + "32\r\n\r\n" + std::string(32, 'x');
    EXPECT_EQ(run_all_splits(bytes, small_limits).messages.size(), 1u);
}

struct script {
    std::string_view name;
    std::string_view bytes;
    std::string_view body;
};

constexpr script accepted[] = {
    {"empty", "0\r\n\r\n", ""},
    {"zero in many digits", "00000000\r\n\r\n", ""},
    {"one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello"},
    {"chunks of one byte", "1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n", "abc"},
    {"leading zeros", "00000005\r\nhello\r\n000\r\n\r\n", "hello"},
    {"hexadecimal, both cases", "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n",
     "01234567890123456789a"},
    {"data that looks like framing", "7\r\n0\r\n\r\n\r\n\r\n2\r\n\r\n\r\n0\r\n\r\n",
     "0\r\n\r\n\r\n\r\n"},
    {"RFC 9112 §7.1.1 extensions", "5;a\r\nhello\r\n1;a;b;c=\"d;e\"\r\n!\r\n0;last\r\n\r\n",
     "hello!"},
    {"several of them with values", "5;a=b;c=\"d\"\r\nhello\r\n0;a;b=c;d\r\n\r\n", "hello"},
    {"white space around their signs", "5 ; a = b\t;c\r\nhello\r\n0\t;a \r\n\r\n", "hello"},
    {"quoted pairs in them", "5;a=\"\\\"\\\\;\"\r\nhello\r\n0;a=\"\\\"\";b\r\n\r\n", "hello"},
    {"RFC 9112 §7.1.2 trailers", "5\r\nhello\r\n0\r\nX: y\r\nZ:\t a b \r\nE:\r\n\r\n", "hello"},
    {"RFC 9110 §6.5.1 trailers change no framing", "1\r\na\r\n0\r\nContent-Length: 9\r\n\r\n", "a"},
    {"RFC 9110 §6.5.1 a length among trailers is ignored",
     "1\r\na\r\n0\r\nContent-Length: x\r\ncontent-length: -1\r\n\r\n", "a"},
    {"RFC 9110 §6.5.1 and so are codings and connection options",
     "1\r\na\r\n0\r\nTransfer-Encoding: gzip\r\nConnection: close, upgrade\r\nUpgrade: h2c\r\n\r\n",
     "a"},
};

TEST(body, chunked) {
    for (auto const& one : accepted) {
        SCOPED_TRACE(one.name);
        auto const bytes =
            std::string(chunked_head).append(one.bytes).append("GET / HTTP/1.0\r\n\r\n");
        EXPECT_EQ(format_outcome(run_all_splits(bytes), bytes.size()),
                  std::string(chunked_prefix)
                      .append("'")
                      .append(one.body)
                      .append("'\nGET / @ 1.0 close {} none\n"));
    }
}

// No state of one message reaches the next.
TEST(body, chunked_several_in_a_row) {
    std::string bytes;
    std::string expected;
    for (auto const& one : accepted) {
        bytes.append(chunked_head).append(one.bytes);
        expected.append(chunked_prefix).append("'").append(one.body).append("'\n");
    }
    EXPECT_EQ(format_outcome(run_all_splits(bytes), bytes.size()), expected);
}

struct refusal {
    std::string_view name;
    std::string_view valid_prefix;
    std::string_view invalid_rest;
    problem expected = problem::malformed_request;
};

constexpr refusal refusals[] = {
    {"no size", "", "\r\nhello\r\n0\r\n\r\n"},
    {"a size that is no number", "", "g\r\n"},
    {"a sign", "", "+5\r\nhello\r\n"},
    {"negative", "", "-1\r\n"},
    {"a prefix", "0", "x5\r\nhello\r\n"},
    {"white space before the size", "", " 5\r\nhello\r\n"},
    {"white space behind the size", "5 ", "\r\nhello\r\n"},
    {"tab behind the size", "5\t", "\r\nhello\r\n"},
    {"white space within the size", "1 ", "0\r\nhello\r\n"},
    {"an extension without its sign", "5 ", "a\r\nhello\r\n"},
    {"nine digits", "00000000", "5\r\nhello\r\n"},
    {"a size beyond 64 bits", "00000000", "000000005\r\nhello\r\n"},
    {"LF behind the size", "5", "\nhello\r\n0\r\n\r\n"},
    {"CR behind the size", "5\r", "hello\r\n0\r\n\r\n"},
    {"LF in an extension", "5;a", "\nhello\r\n0\r\n\r\n"},
    {"CR in an extension", "5;a\r", "b\r\nhello\r\n0\r\n\r\n"},
    {"NUL in an extension", "5;a", "\0\r\nhello\r\n"sv},
    {"a control character in a quoted extension", "5;a=\"", "\x01\"\r\nhello\r\n"},
    {"an extension without a name", "5;", "\r\nhello\r\n0\r\n\r\n"},
    {"an extension without a name before another", "5;", ";a\r\nhello\r\n0\r\n\r\n"},
    {"a value without a name", "5; ", "=a\r\nhello\r\n0\r\n\r\n"},
    {"RFC 9112 §7.1.1 an extension of two words", "5;a ", "b\r\nhello\r\n0\r\n\r\n"},
    {"an extension that is no token", "5;a", "(\r\nhello\r\n0\r\n\r\n"},
    {"an extension with a value that is missing", "5;a=", "\r\nhello\r\n0\r\n\r\n"},
    {"an extension with two values", "5;a=b", "=c\r\nhello\r\n0\r\n\r\n"},
    {"a value of two words", "5;a=b ", "c\r\nhello\r\n0\r\n\r\n"},
    {"a quote in a name", "5;a", "\"b\"\r\nhello\r\n0\r\n\r\n"},
    {"a quote in a value", "5;a=b", "\"c\"\r\nhello\r\n0\r\n\r\n"},
    {"a word behind quotes", "5;a=\"b\"", "c\r\nhello\r\n0\r\n\r\n"},
    {"quotes that do not end", "5;a=\"b", "\r\nhello\r\n0\r\n\r\n"},
    {"quotes that end behind a backslash", "5;a=\"b\\\"", "\r\nhello\r\n0\r\n\r\n"},
    {"a line in a quoted pair", "5;a=\"b\\", "\r\nhello\r\n0\r\n\r\n"},
    {"LF behind the data", "5\r\nhello", "\n0\r\n\r\n"},
    {"CR behind the data", "5\r\nhello\r", "0\r\n\r\n"},
    {"nothing behind the data", "5\r\nhello", "0\r\n\r\n"},
    {"data longer than its size", "5\r\nhello", "!\r\n0\r\n\r\n"},
    {"LF behind the last chunk", "5\r\nhello\r\n0", "\n\r\n"},
    {"LF ends the trailers", "5\r\nhello\r\n0\r\n", "\n"},
    {"CR and another byte end the trailers", "5\r\nhello\r\n0\r\n\r", "GET / HTTP/1.1\r\n"},
    {"a bare CR in a trailer", "0\r\nX: a\r", "b\r\n\r\n"},
    {"a bare LF in a trailer", "0\r\nX: a", "\n\r\n"},
    {"a folded trailer", "0\r\nX: a\r\n", " b\r\n\r\n"},
    {"a trailer without a name", "0\r\n", ": a\r\n\r\n"},
    {"a trailer with white space before the colon", "0\r\nX", " : a\r\n\r\n"},
    {"a trailer without a colon", "0\r\nGET", " / HTTP/1.1\r\n\r\n"},
    {"NUL in a trailer", "0\r\nX: a", "\0\r\n\r\n"sv},
    {"a chunk beyond the limit", "21", "\r\n", problem::body_too_large},
    {"a chunk beyond the limit, with an extension", "21", ";a\r\n", problem::body_too_large},
    {"the largest size", "FFFFFFFF", "\r\n", problem::body_too_large},
    {"chunks beyond the limit together", "14\r\n01234567890123456789\r\nd", "\r\n0123456789abc\r\n",
     problem::body_too_large},
};

TEST(body, invalid_chunks) {
    for (auto const& one : refusals) {
        SCOPED_TRACE(one.name);
        auto const valid_prefix = std::string(chunked_head).append(one.valid_prefix);
        auto const result =
            run_all_splits(valid_prefix + std::string(one.invalid_rest), small_limits);
        EXPECT_EQ(base::describe(result.problem).name, base::describe(one.expected).name)
            << result.detail;
        EXPECT_EQ(result.bytes_fed, valid_prefix.size() + 1) << "refused at another byte";
    }
}

// The guard alone, without the parser behind it, which would refuse the same bytes.
TEST(body, invalid_chunks_are_refused_by_the_guard_alone) {
    for (std::string_view const invalid_rest :
         {"1\rx", "1\r\na\n", "1\r\nab", "1\r\na\rx", "0\r\n\rx"}) {
        chunk_guard guard;
        std::size_t consumed = 0;
        auto const ignore = [](std::string_view) {};
        EXPECT_EQ(
            guard.advance(invalid_rest.substr(0, invalid_rest.size() - 1), 99, consumed, ignore),
            chunk_guard::verdict::more);
        EXPECT_EQ(guard.advance(invalid_rest.substr(invalid_rest.size() - 1), 99, consumed, ignore),
                  chunk_guard::verdict::refused)
            << invalid_rest;
    }
}

// A caller may set a lower limit than the settings. A chunk is refused by its size, before its data
// arrives, so the outcome does not depend on the split.
TEST(body, chunked_beyond_the_limit_of_the_caller_in_every_split) {
    size_limits const limits;
    std::string const head(chunked_head);
    auto const bytes = head + "5\r\nhello\r\n6\r\n world\r\nno chunk";
    for (std::size_t cut = head.size(); cut < bytes.size(); ++cut) {
        parser subject(limits);
        request message;
        framing delivery;
        ASSERT_EQ(subject.read_head(head, message, delivery).state, step::progress::complete);
        std::string body;
        auto part = subject.read_body(
            std::string_view(bytes).substr(head.size(), cut - head.size()), body, 10);
        if (part.state == step::progress::incomplete) {
            auto const begin = head.size() + part.consumed;
            part = subject.read_body(std::string_view(bytes).substr(begin), body, 10);
        }
        EXPECT_EQ(part.problem, problem::body_too_large) << cut;
        EXPECT_EQ(body, "hello") << cut;
    }
}

TEST(body, chunked_of_the_largest_size) {
    auto const bytes =
        std::string(chunked_head) + "14\r\n01234567890123456789\r\nc\r\n0123456789ab\r\n0\r\n\r\n";
    EXPECT_EQ(run_all_splits(bytes, small_limits).messages.size(), 1u);
}

// The limits of base/limits.hpp: the largest accepted size and the smallest refused one.
struct bound {
    std::string_view name;
    std::string fits;
    std::string too_long;
    problem expected;
};

std::string repeat(std::size_t count, std::string_view text) {
    std::string all;
    while (count-- > 0) all.append(text);
    return all;
}

std::string chunk_with_extension(std::size_t bytes) {
    return "1;" + std::string(bytes - 1, 'e') + "\r\nx\r\n";
}

std::string trailers_of(std::size_t bytes) {
    return "0\r\nX: " + std::string(bytes - 7, 'x') + "\r\n\r\n";
}

TEST(body, bounds_of_chunked_bodies) {
    auto const one_extension = limits::chunk_extension_bytes_max;
    auto const extensions = limits::chunk_extensions_bytes_max / one_extension;
    ASSERT_EQ(extensions * one_extension, limits::chunk_extensions_bytes_max);
    auto const longest = repeat(extensions - 1, chunk_with_extension(one_extension));
    bound const bounds[] = {
        {"an extension", chunk_with_extension(one_extension) + "0\r\n\r\n",
         chunk_with_extension(one_extension + 1) + "0\r\n\r\n", problem::malformed_request},
        {"all extensions", longest + chunk_with_extension(one_extension - 2) + "0;e\r\n\r\n",
         longest + chunk_with_extension(one_extension - 1) + "0;e\r\n\r\n",
         problem::malformed_request},
        {"trailers", trailers_of(limits::trailer_bytes_max),
         trailers_of(limits::trailer_bytes_max + 1), problem::headers_too_large},
        {"trailer fields", "0\r\n" + repeat(limits::trailer_fields_max, "X: y\r\n") + "\r\n",
         "0\r\n" + repeat(limits::trailer_fields_max + 1, "X: y\r\n") + "\r\n",
         problem::headers_too_large},
    };
    for (auto const& one : bounds) {
        SCOPED_TRACE(one.name);
        auto const fits = run_all_splits(std::string(chunked_head) + one.fits);
        EXPECT_FALSE(fits.refused()) << fits.detail;
        EXPECT_EQ(fits.messages.size(), 1u);
        auto const too_long = run_all_splits(std::string(chunked_head) + one.too_long);
        EXPECT_EQ(base::describe(too_long.problem).name, base::describe(one.expected).name);
    }
}

// A sized body that lies in the input whole may be viewed in place.
TEST(body, sized_in_place) {
    size_limits const limits;
    parser subject(limits);
    request head;
    framing delivery;
    auto const bytes = std::string(sized_head) + "2\r\n\r\nhiGET /2 HTTP/1.0\r\n\r\n";
    auto const first = subject.read_head(bytes, head, delivery);
    ASSERT_EQ(first.state, step::progress::complete);
    EXPECT_EQ(delivery.content_length, 2u);
    subject.next();
    auto const rest = std::string_view(bytes).substr(first.consumed + delivery.content_length);
    ASSERT_EQ(subject.read_head(rest, head, delivery).state, step::progress::complete);
    EXPECT_EQ(head.path, "/2");
    EXPECT_EQ(delivery.body, framing::body_kind::none);
}

}  // namespace
}  // namespace latchkey::http
