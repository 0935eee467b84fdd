// Valid scripts and the requests that they contain, for every split.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "wire.hpp"

namespace latchkey::http {
namespace {

struct script {
    std::string_view name;
    std::string_view bytes;
    std::string_view expected;
};

std::string_view constexpr get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

constexpr script scripts[] = {
    {"RFC 9112 §3 a request", "GET /a/b?c=d&e HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n\r\n",
     "GET /a/b?c=d&e @example.com 1.1 keep {Host=example.com;Accept=*/*} none\n"},
    {"RFC 9112 §2.2 empty lines before it", "\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
     "GET / @a 1.1 keep {Host=a} none\n"},
    {"RFC 9112 §2.2 only empty lines so far", "\r\n\r\n", "4 left\n"},
    {"RFC 9112 §2.1 incomplete", "GET / HTTP/1.1\r\nHost: a\r\n", "25 left\n"},
    {"RFC 9112 §5.1 no space behind the colon", "GET / HTTP/1.1\r\nHost:a\r\nX:y\r\n\r\n",
     "GET / @a 1.1 keep {Host=a;X=y} none\n"},
    {"RFC 9112 §5 white space around a value is not part of it",
     "GET / HTTP/1.1\r\nHost: \t a \t \r\nX: \t a \t b \t \r\nY:\r\nZ: \t \r\n\r\n",
     "GET / @a 1.1 keep {Host=a;X=a \t b;Y=;Z=} none\n"},
    {"RFC 9110 §5.5 obs-text in a value",
     "GET / HTTP/1.1\r\nHost: a\r\nX: \x80\xff gr\xc3\xbc\r\n\r\n",
     "GET / @a 1.1 keep {Host=a;X=\x80\xff gr\xc3\xbc} none\n"},
    {"RFC 9110 §5.6.2 every byte of a token in a name",
     "GET / HTTP/1.1\r\nHost: a\r\n!#$%&'*+-.^_`|~09azAZ: x\r\n\r\n",
     "GET / @a 1.1 keep {Host=a;!#$%&'*+-.^_`|~09azAZ=x} none\n"},
    {"RFC 9110 §5.3 repeats stay", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\nx: 2\r\nX: 1\r\n\r\n",
     "GET / @a 1.1 keep {Host=a;X=1;x=2;X=1} none\n"},
    {"RFC 9112 §3.2.1 every byte of a URI",
     "GET /-._~%41:/[]@!$&'()*+,;=?-._~%:/?[]@!$&'()*+,;= HTTP/1.1\r\nHost: a\r\n\r\n",
     "GET /-._~%41:/[]@!$&'()*+,;=?-._~%:/?[]@!$&'()*+,;= @a 1.1 keep {Host=a} none\n"},
    {"RFC 9112 §3.2.1 two slashes are a path", "GET //b/c HTTP/1.1\r\nHost: a\r\n\r\n",
     "GET //b/c @a 1.1 keep {Host=a} none\n"},
    {"RFC 9112 §3.2.1 an empty query", "GET /? HTTP/1.1\r\nHost: a\r\n\r\n",
     "GET / @a 1.1 keep {Host=a} none\n"},
    {"RFC 9112 §3.2.2 absolute form replaces Host",
     "GET http://example.com:8080/a?b HTTP/1.1\r\nHost: other\r\n\r\n",
     "GET /a?b @example.com:8080 1.1 keep {Host=other} none\n"},
    {"RFC 9112 §3.2.2 absolute form, https, any case",
     "GET HTTPS://EXAMPLE.com/ HTTP/1.1\r\nHost: a\r\n\r\n",
     "GET / @EXAMPLE.com 1.1 keep {Host=a} none\n"},
    {"RFC 9110 §4.2.3 absolute form without a path", "GET http://b HTTP/1.1\r\nHost: a\r\n\r\n",
     "GET / @b 1.1 keep {Host=a} none\n"},
    {"RFC 9110 §4.2.3 absolute form with only a query",
     "OPTIONS http://b?c/d HTTP/1.1\r\nHost: a\r\n\r\n",
     "OPTIONS /?c/d @b 1.1 keep {Host=a} none\n"},
    {"RFC 9112 §3.2.4 asterisk", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
     "OPTIONS * @a 1.1 keep {Host=a} none\n"},
    {"RFC 9112 §3.2.4 asterisk in absolute form", "OPTIONS http://b HTTP/1.1\r\nHost: a\r\n\r\n",
     "OPTIONS * @b 1.1 keep {Host=a} none\n"},
    {"RFC 9112 §3.2 Host with a port", "GET / HTTP/1.1\r\nhOST: a-b.c_d~e:65535\r\n\r\n",
     "GET / @a-b.c_d~e:65535 1.1 keep {hOST=a-b.c_d~e:65535} none\n"},
    {"RFC 3986 §3.2.3 Host with an empty port", "GET / HTTP/1.1\r\nHost: a:\r\n\r\n",
     "GET / @a: 1.1 keep {Host=a:} none\n"},
    {"RFC 3986 §3.2.2 Host as an address", "GET / HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n",
     "GET / @[2001:db8::1]:80 1.1 keep {Host=[2001:db8::1]:80} none\n"},
    {"RFC 3986 §3.2.2 Host with escapes", "GET / HTTP/1.1\r\nHost: a%2Db!$&'()*+,;=\r\n\r\n",
     "GET / @a%2Db!$&'()*+,;= 1.1 keep {Host=a%2Db!$&'()*+,;=} none\n"},
    {"RFC 9112 §2.3 HTTP/1.0 needs no Host", "GET / HTTP/1.0\r\n\r\n",
     "GET / @ 1.0 close {} none\n"},
    {"RFC 9112 §9.3 HTTP/1.0 keep-alive",
     "GET / HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
     "GET / @ 1.0 keep {Connection=x, Keep-Alive} none\nGET / @ 1.0 close {} none\n"},
    {"RFC 9112 §9.3 close beats keep-alive on 1.0",
     "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
     "GET / @ 1.0 close {Connection=keep-alive, close} none\n"},
    {"RFC 9112 §9.6 close", "GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n",
     "GET / @a 1.1 close {Host=a;Connection=Close} none\n"},
    {"RFC 9110 §7.6.1 close in the second of two lists",
     "GET / HTTP/1.1\r\nHost: a\r\nConnection: te\r\nConnection: ,x ,\tCLOSE\t,\r\n\r\n",
     "GET / @a 1.1 close {Host=a;Connection=te;Connection=,x ,\tCLOSE\t,} none\n"},
    {"RFC 9110 §7.6.1 an option that only begins with close",
     "GET / HTTP/1.1\r\nHost: a\r\nConnection: closed, close d\r\n\r\n",
     "GET / @a 1.1 keep {Host=a;Connection=closed, close d} none\n"},
    {"RFC 9110 §10.1.1 100-continue",
     "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-CONTINUE\r\n\r\nhi",
     "PUT / @a 1.1 keep continue {Host=a;Content-Length=2;Expect=100-CONTINUE} sized 'hi'\n"},
    {"RFC 9110 §10.1.1 ignored on 1.0",
     "PUT / HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi",
     "PUT / @ 1.0 close {Content-Length=2;Expect=100-continue} sized 'hi'\n"},
    {"RFC 9110 §10.1.1 another expectation",
     "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, more\r\n\r\n",
     "GET / @a 1.1 keep continue unknown-expectation {Host=a;Expect=100-continue, more} none\n"},
    {"RFC 9110 §7.8 an upgrade is not granted",
     "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
     "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
     "GET / @a 1.1 keep {Host=a;Connection=Upgrade;Upgrade=websocket} none\n"
     "GET /2 @a 1.1 keep {Host=a} none\n"},
    {"RFC 9110 §7.8 an upgrade with a chunked body",
     "POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n"
     "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
     "POST / @a 1.1 keep {Host=a;Connection=upgrade;Upgrade=h2c;Transfer-Encoding=chunked} chunked "
     "'x'\n"
     "GET /2 @a 1.1 keep {Host=a} none\n"},
    {"RFC 9110 §9.3.8 a method of others", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n",
     "TRACE(other) / @a 1.1 keep {Host=a} none\n"},
    {"RFC 4918 a method with a dash", "M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n",
     "M-SEARCH(other) / @a 1.1 keep {Host=a} none\n"},
    {"RFC 9112 §9.3.2 pipelined, with empty lines between",
     "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: "
     "3\r\n\r\nabc"
     "\r\n\r\nHEAD /3 HTTP/1.1\r\nHost: a\r\n\r\nDELETE /4 HT",
     "GET /1 @a 1.1 keep {Host=a} none\nPOST /2 @a 1.1 keep {Host=a;Content-Length=3} sized 'abc'\n"
     "HEAD /3 @a 1.1 keep {Host=a} none\n12 left\n"},
};

TEST(accept, every_script_in_every_split) {
    for (auto const& one : scripts) {
        SCOPED_TRACE(one.name);
        EXPECT_EQ(format_outcome(run_all_splits(one.bytes), one.bytes.size()), one.expected);
    }
}

TEST(accept, every_method_that_llhttp_knows) {
    for (auto const method : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
        auto const bytes = std::string(method) + " / HTTP/1.1\r\nHost: a\r\n\r\n";
        EXPECT_EQ(format_outcome(run(bytes, {}, {}), bytes.size()),
                  std::string(method) + " / @a 1.1 keep {Host=a} none\n");
    }
    for (auto const method :
         {"TRACE",      "COPY",       "LOCK",  "MKCOL",    "MOVE",   "PROPFIND",  "PROPPATCH",
          "SEARCH",     "UNLOCK",     "BIND",  "REBIND",   "UNBIND", "ACL",       "REPORT",
          "MKACTIVITY", "CHECKOUT",   "MERGE", "M-SEARCH", "NOTIFY", "SUBSCRIBE", "UNSUBSCRIBE",
          "PURGE",      "MKCALENDAR", "LINK",  "UNLINK",   "SOURCE"}) {
        auto const bytes = std::string(method) + " / HTTP/1.1\r\nHost: a\r\n\r\n";
        EXPECT_EQ(format_outcome(run(bytes, {}, {}), bytes.size()),
                  std::string(method) + "(other) / @a 1.1 keep {Host=a} none\n");
    }
}

TEST(accept, three_reads_split_at_any_offsets) {
    std::string const bytes =
        "\r\nPOST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
        "chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: u"
        "\r\n\r\n" +
        std::string(get);
    auto const whole = format_outcome(run(bytes, {}, {}), bytes.size());
    EXPECT_EQ(whole,
              "POST /a @a 1.1 keep {Host=a;Transfer-Encoding=chunked} chunked 'abc'\n"
              "GET / @a 1.1 keep {Host=a} none\n");
    for (std::size_t first = 1; first < bytes.size(); ++first)
        for (std::size_t second = first + 1; second < bytes.size(); ++second)
            ASSERT_EQ(format_outcome(run(bytes, {first, second}, {}), bytes.size()), whole)
                << first << ", " << second;
}

}  // namespace
}  // namespace latchkey::http
