// RFC 9113 §8.2: what names and values of fields may be made of, and which fields only a connection
// of HTTP/1.1 has.
#include "http2_conformance.hpp"

namespace latchkey::session::conformance {

using namespace script;

namespace {
std::vector<std::string> const malformed{"1: RST_STREAM PROTOCOL_ERROR"};
// What RFC 9110 §5 does not allow, and RFC 9113 §8.2.1 does not speak of.
std::vector<std::string> const either{"1: RST_STREAM PROTOCOL_ERROR", "1: 400", "1: 200"};
}  // namespace

table field_name_cases(client const& one) {
    auto const named = [&](std::string const& name) { return one.get(1, {{name, "v"}}); };
    return {
        {"8.2.1",
         "a name of all bytes of a token is taken",
         named("!#$%&'*+-.^_`|~09az"),
         {"1: 200"}},
        {"8.2.1", "a name in upper case is a stream error", named("X-TEST"), malformed},
        {"8.2.1", "a name with one letter in upper case is a stream error", named("x-tesT"),
         malformed},
        {"8.2.1", "a name in upper case that is known is a stream error", named("Accept"),
         malformed},
        {"8.2.1", "an empty name is a stream error", named(""), malformed},
        {"8.2.1", "a name with a space is a stream error", named("x y"), malformed},
        {"8.2.1", "a name with a space behind it is a stream error", named("x "), malformed},
        {"8.2.1", "a name with NUL is a stream error", named(std::string("x\0y", 3)), malformed},
        {"8.2.1", "a name with a carriage return is a stream error", named("x\ry"), malformed},
        {"8.2.1", "a name with a line feed is a stream error", named("x\ny"), malformed},
        {"8.2.1", "a name with a tab is a stream error", named("x\ty"), malformed},
        {"8.2.1", "a name with DEL is a stream error", named("x\x7f"), malformed},
        {"8.2.1", "a name with a byte above 0x7f is a stream error", named("x\xc3\xa4"), malformed},
        {"8.2.1", "a name with the byte 0xff is a stream error", named("\xff"), malformed},
        {"8.2.1", "a name with a colon in it is a stream error", named("x:y"), malformed},
        {"8.2.1", "a name with a colon behind it is a stream error", named("x:"), malformed},
        {"8.2.1", "a name with a byte that no token has", named("x(y)"), either},
    };
}

table field_value_cases(client const& one) {
    auto const valued = [&](std::string const& value) { return one.get(1, {{"x", value}}); };
    return {
        {"8.2.1", "an empty value is taken", valued(""), {"1: 200"}},
        {"8.2.1", "a value with spaces and tabs within is taken", valued("a \t b"), {"1: 200"}},
        {"8.2.1", "a value with bytes above 0x7f is taken", valued("\xc3\xa4\xff"), {"1: 200"}},
        {"8.2.1", "a value with NUL is a stream error", valued(std::string("a\0b", 3)), malformed},
        {"8.2.1", "a value with a carriage return is a stream error", valued("a\rb"), malformed},
        {"8.2.1", "a value with a line feed is a stream error", valued("a\nb"), malformed},
        {"8.2.1", "a value with a line of its own is a stream error", valued("a\r\nevil: b"),
         malformed},
        {"8.2.1", "a value with a space in front is a stream error", valued(" a"), malformed},
        {"8.2.1", "a value with a space behind is a stream error", valued("a "), malformed},
        {"8.2.1", "a value with a tab in front is a stream error", valued("\ta"), malformed},
        {"8.2.1", "a value with a tab behind is a stream error", valued("a\t"), malformed},
        {"8.2.1", "a value of one space is a stream error", valued(" "), malformed},
        {"8.2.1", "NUL behind a long value is a stream error", valued(std::string(67, 'a') + '\0'),
         malformed},
        {"8.2.1", "a path with NUL is a stream error",
         headers(1, literal(":path", std::string("/\0", 2)) +
                        block(one.get_fields_but(":path", nullptr))),
         malformed},
        {"8.2.1", "a value with another control byte",
         valued("a\x01"
                "b"),
         either},
        {"8.2.3",
         "cookies in several fields are taken",
         one.get(1, {{"cookie", "a=b"}, {"cookie", "c=d"}, {"cookie", "e=f"}}),
         {"1: 200"}},
    };
}

table connection_field_cases(client const& one) {
    return {
        {"8.2.2", "Connection is a stream error", one.get(1, {{"connection", "keep-alive"}}),
         malformed},
        {"8.2.2", "Connection that closes is a stream error", one.get(1, {{"connection", "close"}}),
         malformed},
        {"8.2.2", "Keep-Alive is a stream error", one.get(1, {{"keep-alive", "timeout=5"}}),
         malformed},
        {"8.2.2", "Proxy-Connection is a stream error",
         one.get(1, {{"proxy-connection", "keep-alive"}}), malformed},
        {"8.2.2", "Transfer-Encoding is a stream error",
         one.get(1, {{"transfer-encoding", "chunked"}}), malformed},
        {"8.2.2", "Transfer-Encoding in front of content is a stream error",
         one.post(1, {{"transfer-encoding", "chunked"}}) +
             data(1, client::content, flag::end_stream),
         malformed},
        {"8.2.2", "Upgrade is a stream error", one.get(1, {{"upgrade", "h2c"}}), malformed},
        {"8.2.2", "TE of trailers is taken", one.get(1, {{"te", "trailers"}}), {"1: 200"}},
        {"8.2.2", "TE of another value is a stream error", one.get(1, {{"te", "gzip"}}), malformed},
        {"8.2.2", "TE of trailers and another value is a stream error",
         one.get(1, {{"te", "trailers, deflate;q=0.5"}}), malformed},
        {"8.2.2", "an empty TE is malformed or nothing", one.get(1, {{"te", ""}}), either},
    };
}

}  // namespace latchkey::session::conformance
