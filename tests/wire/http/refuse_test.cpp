// Invalid scripts in two parts: `valid_prefix` may still begin a request, and the first byte of
// `invalid_rest` must cause the refusal.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "wire.hpp"

namespace latchkey::http {
namespace {

using namespace std::string_view_literals;
using base::problem;

struct script {
    std::string_view name;
    std::string_view valid_prefix;
    std::string_view invalid_rest;
    problem expected = problem::malformed_request;
};

#define LINE "GET / HTTP/1.1\r\n"
#define HEAD LINE "Host: a\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"

constexpr script request_lines[] = {
    {"RFC 9112 §2.2 bare LF before the request", "", "\nGET / HTTP/1.1\r\n\r\n"},
    {"RFC 9112 §2.2 bare CR before the request", "\r\n\r", "GET / HTTP/1.1\r\n\r\n"},
    {"RFC 9112 §2.2 white space before the request", "", " GET / HTTP/1.1\r\n\r\n"},
    {"a fifth empty line", "\r\n\r\n\r\n\r\n\r", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"TLS on a plain port", "", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"sv},
    {"NUL in the method", "GE", "\0T / HTTP/1.1\r\n"sv},
    {"RFC 9110 §9.1 a method that is no token", "GE", "(T / HTTP/1.1\r\n"},
    {"obs-text in the method", "G", "\xc3\x89T / HTTP/1.1\r\n"},
    {"no method", "", ": / HTTP/1.1\r\n"},
    {"a word and nothing else", "GARBAGE", "\r\n\r\n"},
    {"tab instead of a space", "GET", "\t/ HTTP/1.1\r\n"},
    {"RFC 9112 §3 a method that is longer than any", "MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM",
     "M / HTTP/1.1\r\nHost: a\r\n\r\n", problem::method_not_implemented},
    {"RFC 9112 §3 two spaces", "GET ", " / HTTP/1.1\r\n"},
    {"RFC 9112 §3 two spaces before the version", "GET / ", " HTTP/1.1\r\n"},
    {"RFC 9112 §3 a space behind the version", "GET / HTTP/1.1", " \r\nHost: a\r\n"},
    {"RFC 9112 §3 tab before the version", "GET /", "\tHTTP/1.1\r\n"},
    {"RFC 9112 §2.2 bare LF ends the request line", "GET / HTTP/1.1", "\nHost: a\r\n\r\n"},
    {"RFC 9112 §2.2 bare CR ends the request line", "GET / HTTP/1.1\r", "Host: a\r\n\r\n"},
    {"RFC 9112 §2.2 two CR end the request line", "GET / HTTP/1.1\r", "\r\nHost: a\r\n\r\n"},
    {"HTTP/0.9", "GET /", "\r\n"},
    {"HTTP/0.9 with LF", "GET /", "\n"},
    {"RFC 9112 §3.2 a relative target", "GET ", "index.html HTTP/1.1\r\n"},
    {"RFC 9112 §3.2 a query without a path", "GET ", "?a=b HTTP/1.1\r\n"},
    {"RFC 3986 §3.5 a fragment", "GET /a", "#b HTTP/1.1\r\n"},
    {"a quote in the target", "GET /a", "\"b HTTP/1.1\r\n"},
    {"angle brackets in the target", "GET /a", "<b> HTTP/1.1\r\n"},
    {"a backslash in the target", "GET /a", "\\b HTTP/1.1\r\n"},
    {"a caret in the target", "GET /a", "^b HTTP/1.1\r\n"},
    {"a grave in the target", "GET /a?", "`b HTTP/1.1\r\n"},
    {"braces in the target", "GET /a", "{b} HTTP/1.1\r\n"},
    {"a bar in the target", "GET /a", "|b HTTP/1.1\r\n"},
    {"obs-text in the target", "GET /caf", "\xc3\xa9 HTTP/1.1\r\n"},
    {"NUL in the target", "GET /a", "\0b HTTP/1.1\r\n"sv},
    {"DEL in the target", "GET /a", "\x7f HTTP/1.1\r\n"},
    {"form feed in the target", "GET /a", "\fb HTTP/1.1\r\n"},
    {"CR in the target", "GET /a", "\rb HTTP/1.1\r\n"},
    {"a space in the target", "GET /a ", "b HTTP/1.1\r\n"},
    {"RFC 9112 §3.2.2 another scheme", "GET ", "ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9112 §3.2.2 a scheme that begins alike", "GET httpx://a/",
     " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9112 §3.2.2 one slash", "GET http:/a/", " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9112 §3.2.2 a later scheme", "GET h?http://a/", " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9110 §4.2.1 an empty host", "GET http:///a", " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9110 §4.2.1 an empty host with a port", "GET http://:80/a",
     " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9110 §4.2.4 user information", "GET http://u@a/", " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9110 §4.2.4 user and password", "GET http://u:p@a/", " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 3986 §3.2.3 a port that is none", "GET http://a:8x/", " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 3986 §3.2.2 an address that is none", "GET http://[::g]/",
     " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9110 §9.3.6 CONNECT to a host", "CONNECT a:443 HTTP/1.1\r", "\nHost: a\r\n\r\n",
     problem::method_not_allowed},
    {"RFC 9110 §9.3.6 CONNECT to a host that begins like a scheme", "CONNECT http:443 HTTP/1.1\r",
     "\nHost: a\r\n\r\n", problem::method_not_allowed},
    {"RFC 9110 §9.3.6 CONNECT to an address", "CONNECT [::1]:443 HTTP/1.1\r", "\nHost: a\r\n\r\n",
     problem::method_not_allowed},
    {"RFC 9110 §9.3.6 CONNECT over HTTP/2.0", "CONNECT a:443 HTTP/2.0\r", "\nHost: a\r\n\r\n",
     problem::http_version_not_supported},
    {"RFC 9110 §9.3.6 CONNECT without a port", "CONNECT a", " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9110 §9.3.6 CONNECT with an empty port", "CONNECT a:", " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9110 §9.3.6 CONNECT to port 0", "CONNECT a:00", " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9110 §9.3.6 CONNECT to port 65536", "CONNECT a:65536", " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9110 §9.3.6 CONNECT to an address without a port", "CONNECT [::1]",
     " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9110 §9.3.6 CONNECT, origin form", "CONNECT /", " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9110 §9.3.6 CONNECT, absolute form", "CONNECT http://a:443/",
     " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9112 §3.2.3 the authority form on GET", "GET ", "a:443 HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9112 §3.2.4 asterisk on GET", "GET * HTTP/1.1\r", "\nHost: a\r\n\r\n"},
    {"RFC 9112 §3.2.4 more than an asterisk", "OPTIONS */a", " HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"RFC 9112 §2.3 lower case", "GET / ", "http/1.1\r\n"},
    {"RFC 9112 §2.3 another protocol", "GET / ", "RTSP/1.0\r\n"},
    {"RFC 9112 §2.3 no minor version", "GET / HTTP/1", "\r\n"},
    {"RFC 9112 §2.3 two digits", "GET / HTTP/1.1", "0\r\n"},
    {"RFC 9112 §2.3 a comma", "GET / HTTP/1", ",1\r\n"},
    {"RFC 9112 §2.3 no digit", "GET / HTTP/", "x.1\r\n"},
    {"HTTP/0.9 by name", "GET / HTTP/0.9\r", "\n\r\n", problem::http_version_not_supported},
    {"HTTP/3.0", "GET / HTTP/3.0\r", "\n\r\n", problem::http_version_not_supported},
    {"RFC 9113 §3.4 the preface of HTTP/2", "PRI * HTTP/2.0\r", "\n\r\nSM\r\n\r\n",
     problem::http_version_not_supported},
};

constexpr script fields[] = {
    {"RFC 9112 §2.2 white space before the first field", LINE, " Host: a\r\n\r\n"},
    {"RFC 9112 §2.2 tab before the first field", LINE, "\tHost: a\r\n\r\n"},
    {"RFC 9112 §5.2 a folded line", HEAD "X: a\r\n", " b\r\n\r\n"},
    {"RFC 9112 §5.2 a folded line with a tab", HEAD "X: a\r\n", "\tb\r\n\r\n"},
    {"RFC 9112 §5.2 a folded empty value", HEAD "X:\r\n", " Transfer-Encoding: chunked\r\n\r\n"},
    {"RFC 9112 §5.1 space before the colon", LINE "Host", " : a\r\n\r\n"},
    {"RFC 9112 §5.1 tab before the colon", HEAD "Content-Length", "\t: 5\r\n\r\n"},
    {"an empty field name", HEAD, ": a\r\n\r\n"},
    {"a line without a colon", HEAD "abc", "\r\n\r\n"},
    {"a space in a field name", HEAD "a", " b: c\r\n\r\n"},
    {"a bracket in a field name", HEAD "a", "[b: c\r\n\r\n"},
    {"obs-text in a field name", HEAD "a", "\x80: c\r\n\r\n"},
    {"NUL in a field name", HEAD "a", "\0: c\r\n\r\n"sv},
    {"NUL first in a field name", HEAD, "\0a: c\r\n\r\n"sv},
    {"NUL in a value", HEAD "X: a", "\0b\r\n\r\n"sv},
    {"NUL in a long value", HEAD "X: 0123456789abcdef\t0123456789\tx", "\0b\r\n\r\n"sv},
    {"a control character in a value", HEAD "X: a", "\x01\r\n\r\n"},
    {"vertical tab in a value", HEAD "X: a", "\v\r\n\r\n"},
    {"escape in a value", HEAD "X: 01234567", "\x1b[0m 0123456789\r\n\r\n"},
    {"DEL in a value", HEAD "X: a", "\x7f 0123456789\r\n\r\n"},
    {"CVE-2023-30589 a bare CR that begins a field", HEAD "X: \r",
     "Transfer-Encoding: chunked\r\n\r\n"},
    {"a bare CR within a value", HEAD "X: a\r", "b\r\n\r\n"},
    {"two CR", HEAD "X: a\r", "\r\n\r\n"},
    {"a bare LF ends a field", HEAD "X: a", "\nContent-Length: 5\r\n\r\n"},
    {"a bare LF ends an empty field", HEAD "X:", "\nContent-Length: 5\r\n\r\n"},
    {"a bare LF ends the head", HEAD, "\n"},
    {"CVE-2024-27982 CR and another byte end the head", HEAD "\r", "x"},
    {"two CR end the head", HEAD "\r", "\r\n"},
    {"a bare LF within a field name", HEAD "X", "\n: a\r\n\r\n"},
};

constexpr script hosts[] = {
    {"RFC 9112 §3.2 no Host on 1.1", LINE "X: a\r\n\r", "\n"},
    {"RFC 9112 §3.2 no fields on 1.1", LINE "\r", "\n"},
    {"RFC 9112 §3.2 no Host with an absolute form", "GET http://a/ HTTP/1.1\r\n\r", "\n"},
    {"RFC 9112 §3.2 Host repeated", HEAD "hOST: b\r", "\n\r\n"},
    {"RFC 9112 §3.2 the same Host repeated", HEAD "Host: a\r", "\n\r\n"},
    {"RFC 9112 §3.2 Host repeated on 1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r", "\n\r\n"},
    {"RFC 9112 §3.2 Host wrong on 1.0", "GET / HTTP/1.0\r\nHost: a b\r", "\n\r\n"},
    {"RFC 9110 §4.2.1 an empty Host", LINE "Host:\r", "\n\r\n"},
    {"RFC 9110 §4.2.1 a Host of white space", LINE "Host: \t\r", "\n\r\n"},
    {"RFC 9110 §4.2.1 a port without a host", LINE "Host: :80\r", "\n\r\n"},
    {"RFC 9110 §7.2 user information", LINE "Host: u@a\r", "\n\r\n"},
    {"RFC 9110 §7.2 a space", LINE "Host: a b\r", "\n\r\n"},
    {"RFC 9110 §7.2 a list", LINE "Host: a, b\r", "\n\r\n"},
    {"RFC 9110 §7.2 a path", LINE "Host: a/b\r", "\n\r\n"},
    {"RFC 9110 §7.2 a query", LINE "Host: a?b\r", "\n\r\n"},
    {"RFC 9110 §7.2 a fragment", LINE "Host: a#b\r", "\n\r\n"},
    {"RFC 9110 §7.2 a URI", LINE "Host: http://a\r", "\n\r\n"},
    {"RFC 9110 §7.2 obs-text", LINE "Host: caf\xc3\xa9\r", "\n\r\n"},
    {"RFC 3986 §2.1 half an escape", LINE "Host: a%2\r", "\n\r\n"},
    {"RFC 3986 §2.1 an escape that is none", LINE "Host: a%2xb\r", "\n\r\n"},
    {"RFC 3986 §3.2.3 a port that is none", LINE "Host: a:b\r", "\n\r\n"},
    {"RFC 3986 §3.2.3 two ports", LINE "Host: a:1:2\r", "\n\r\n"},
    {"RFC 3986 §3.2.3 a port too large", LINE "Host: a:65536\r", "\n\r\n"},
    {"RFC 3986 §3.2.2 an address without brackets", LINE "Host: ::1\r", "\n\r\n"},
    {"RFC 3986 §3.2.2 an address that does not end", LINE "Host: [::1\r", "\n\r\n"},
    {"RFC 3986 §3.2.2 an address and more", LINE "Host: [::1]a\r", "\n\r\n"},
    {"RFC 3986 §3.2.2 no address", LINE "Host: []\r", "\n\r\n"},
    {"RFC 3986 §3.2.2 an address of the future", LINE "Host: [v1.a]\r", "\n\r\n"},
    {"RFC 6874 a zone", LINE "Host: [fe80::1%25eth0]\r", "\n\r\n"},
};

constexpr script framings[] = {
    {"RFC 9112 §6.2 a sign", POST "Content-Length: +1\r", "\n\r\na"},
    {"RFC 9112 §6.2 negative", POST "Content-Length: -1\r", "\n\r\n"},
    {"RFC 9112 §6.2 empty", POST "Content-Length:\r", "\n\r\n"},
    {"RFC 9112 §6.2 hexadecimal", POST "Content-Length: 0x1\r", "\n\r\na"},
    {"RFC 9112 §6.2 two words", POST "Content-Length: 1 1\r", "\n\r\na"},
    {"RFC 9112 §6.2 a fraction", POST "Content-Length: 1.0\r", "\n\r\na"},
    {"RFC 9112 §6.2 obs-text", POST "Content-Length: \xb2\r", "\n\r\na"},
    {"RFC 9110 §8.6 a list", POST "Content-Length: 1, 1\r", "\n\r\na"},
    {"RFC 9112 §6.3 repeated and equal", POST "Content-Length: 1\r\ncontent-length: 1\r",
     "\n\r\na"},
    {"RFC 9112 §6.3 repeated", POST "Content-Length: 1\r\nContent-Length: 2\r", "\n\r\na"},
    {"RFC 9112 §6.3 zero and then another", POST "Content-Length: 0\r\nContent-Length: 2\r",
     "\n\r\na"},
    {"RFC 9110 §8.6 2^64", POST "Content-Length: 18446744073709551616\r", "\n\r\n"},
    {"RFC 9110 §8.6 2^64 + 5", POST "Content-Length: 18446744073709551621\r", "\n\r\nabcde"},
    {"RFC 9110 §8.6 far beyond", POST "Content-Length: 99999999999999999999999999\r", "\n\r\n"},
    {"RFC 9112 §6.1 both", POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r", "\n\r\n"},
    {"RFC 9112 §6.1 both, turned", POST "Transfer-Encoding: chunked\r\nContent-Length: 1\r",
     "\n\r\n"},
    {"RFC 9112 §6.1 both, zero", POST "Content-Length: 0\r\nTransfer-Encoding: chunked\r",
     "\n\r\n"},
    {"RFC 9112 §6.1 on 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r", "\n\r\n"},
    {"RFC 9112 §6.1 another coding", POST "Transfer-Encoding: gzip\r", "\n\r\n"},
    {"RFC 9112 §6.1 identity", POST "Transfer-Encoding: identity\r", "\n\r\n"},
    {"RFC 9112 §6.1 a list that ends in chunked", POST "Transfer-Encoding: gzip, chunked\r",
     "\n\r\n"},
    {"RFC 9112 §6.1 chunked twice", POST "Transfer-Encoding: chunked, chunked\r", "\n\r\n"},
    {"RFC 9112 §6.1 a list with nothing", POST "Transfer-Encoding: ,chunked\r", "\n\r\n"},
    {"RFC 9112 §6.1 a parameter", POST "Transfer-Encoding: chunked;q=1\r", "\n\r\n"},
    {"RFC 9112 §6.1 a quote", POST "Transfer-Encoding: \"chunked\"\r", "\n\r\n"},
    {"RFC 9112 §6.1 one letter more", POST "Transfer-Encoding: chunkedd\r", "\n\r\n"},
    {"RFC 9112 §6.1 one letter less", POST "Transfer-Encoding: chunke\r", "\n\r\n"},
    {"RFC 9112 §6.1 empty", POST "Transfer-Encoding:\r", "\n\r\n"},
    {"RFC 9112 §6.1 repeated", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r",
     "\n\r\n"},
    {"RFC 9112 §6.1 repeated with another",
     POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r", "\n\r\n"},
    // llhttp 8.1.0 does not treat the tab as white space here and would see no chunks.
    {"white space that llhttp reads otherwise", POST "Transfer-Encoding: chunked\t\r\n\r", "\n"},
    {"white space that llhttp refuses", POST "Content-Length: 1\t\r\n\r", "\na"},
    {"a body beyond the limit", POST "Content-Length: 33\r\n\r", "\n", problem::body_too_large},
    {"RFC 9110 §8.6 2^64 - 1", POST "Content-Length: 18446744073709551615\r\n\r", "\n",
     problem::body_too_large},
    {"a body beyond the limit and then another fault", POST "Content-Length: 33\r\nX: a",
     "\0\r\n\r\n"sv},
    {"the second of two pipelined requests", HEAD "\r\nGET /", "\r\n\r\n"},
};

template <std::size_t Count>
void expect_refusals(script const (&table)[Count]) {
    for (auto const& one : table) {
        SCOPED_TRACE(one.name);
        auto const bytes = std::string(one.valid_prefix).append(one.invalid_rest);
        auto const result = run_all_splits(bytes, small_limits);
        EXPECT_EQ(base::describe(result.problem).name, base::describe(one.expected).name)
            << result.detail;
        EXPECT_EQ(result.bytes_fed, one.valid_prefix.size() + 1) << "refused at another byte";
    }
}

TEST(refuse, request_lines) {
    expect_refusals(request_lines);
}
TEST(refuse, fields) {
    expect_refusals(fields);
}
TEST(refuse, hosts) {
    expect_refusals(hosts);
}
TEST(refuse, framings) {
    expect_refusals(framings);
}

// RFC 9110 §5.5, §5.6.2, RFC 3986: all 256 bytes in each element.
TEST(refuse, every_byte_in_every_element) {
    constexpr std::string_view alphanumeric =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (int value = 0; value < 256; ++value) {
        auto const byte = static_cast<char>(value);
        auto const is_in = [byte](std::string_view set) {
            return set.find(byte) != std::string_view::npos;
        };
        auto const name = std::string("GET / HTTP/1.1\r\nHost: a\r\nx") + byte + "y: z\r\n\r\n";
        EXPECT_EQ(run(name, {}, {}).refused(), !is_in(alphanumeric) && !is_in(":!#$%&'*+-.^_`|~"))
            << value;
        for (std::size_t place = 0; place < 20; ++place) {
            auto const text = std::string("GET / HTTP/1.1\r\nHost: a\r\nX: ") +
                              std::string(place, 'x') + byte + std::string(12, 'y') + "\r\n\r\n";
            EXPECT_EQ(run(text, {}, {}).refused(), (value < 32 && byte != '\t') || value == 127)
                << value << " at " << place;
        }
        auto const target = std::string("GET /x") + byte + "y HTTP/1.1\r\nHost: a\r\n\r\n";
        EXPECT_EQ(run(target, {}, {}).refused(),
                  !is_in(alphanumeric) && !is_in("-._~%:/?[]@!$&'()*+,;="))
            << value;
        auto const host = std::string("GET / HTTP/1.1\r\nHost: x") + byte + "1\r\n\r\n";
        EXPECT_EQ(run(host, {}, {}).refused(), !is_in(alphanumeric) && !is_in("-._~!$&'()*+,;=:"))
            << value;
    }
}

TEST(refuse, stays_refused) {
    size_limits const limits;
    parser subject(limits);
    request head;
    framing delivery;
    EXPECT_EQ(subject.read_head("GET /\r", head, delivery).state, step::progress::refused);
    auto const again = subject.read_head("GET /\r\n\r\n", head, delivery);
    EXPECT_EQ(again.state, step::progress::refused);
    EXPECT_EQ(again.problem, problem::malformed_request);
    subject.next();
    EXPECT_EQ(subject.read_head("GET / HTTP/1.0\r\n\r\n", head, delivery).state,
              step::progress::complete);
}

TEST(refuse, names_folded_lines_in_the_detail) {
    size_limits const limits;
    for (std::string const blank : {" ", "\t"}) {
        auto const text = "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n" + blank + "b\r\n\r\n";
        parser reader(limits);
        request head;
        framing delivery;
        auto const result = reader.read_head(text, head, delivery);
        EXPECT_EQ(result.problem, problem::malformed_request);
        EXPECT_NE(result.detail.find("folded"), std::string_view::npos) << result.detail;
    }
}

}  // namespace
}  // namespace latchkey::http
