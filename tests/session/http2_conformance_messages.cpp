// RFC 9113 §8.1, §8.3 and §8.5: requests, their lengths, trailers, pseudo-headers and targets.
#include "http2_conformance.hpp"

namespace latchkey::session::conformance {

using namespace script;

namespace {
std::vector<std::string> const malformed{"1: RST_STREAM PROTOCOL_ERROR"};
// RFC 9113 §8.1.1: a malformed request may be answered before its stream ends.
std::vector<std::string> const refusal{"1: RST_STREAM PROTOCOL_ERROR", "1: 400"};
}  // namespace

table message_cases(client const& one) {
    auto const request = [&](char const* method) {
        return headers(1, block(one.get_fields_but(":method", method)));
    };
    auto const large = literal("x", std::string(4000, 'x'), retention::in_table);
    auto const stranger = headers(1, block(one.get_fields_but("x-api-key", "no key")), whole_block);
    return {
        {"8.1", "GET is answered", request("GET"), {"1: 200"}},
        {"8.1",
         "HEAD is answered without content",
         request("HEAD"),
         {"1: 200"},
         {.contents = "1: 0"}},
        {"8.1", "OPTIONS is answered", request("OPTIONS"), {"1: 204"}, {.contents = "1: 0"}},
        {"8.1", "a method that is not allowed there is answered", request("PROPFIND"), {"1: 405"}},
        {"8.1", "a method that is not known is answered", request("BREW"), {"1: 405"}},
        {"8.1", "POST is answered", one.whole_post(1), {"1: 200"}},
        {"8.1",
         "POST without content is answered",
         headers(1, block(one.post_fields())),
         {"1: 400"}},
        {"8.1",
         "GET with content is answered",
         headers(1, block(one.get_fields()), whole_block) + data(1, "x", flag::end_stream),
         {"1: 200"}},
        {"8.1",
         "the rest of a request that was answered early is dropped",
         stranger + data(1, "some") + data(1, "content", flag::end_stream) + one.get(3),
         {"1: 401; 3: 200"}},
        {"8.1",
         "a request that was answered early ends once",
         stranger + data(1, "content", flag::end_stream) + data(1, "more"),
         {"1: 401; GOAWAY STREAM_CLOSED"}},
        {"8.1",
         "trailers end a request that was answered early",
         stranger + headers(1, block({{"x-trailer", "1"}}), last_block) + data(1, "more"),
         {"1: 401; GOAWAY STREAM_CLOSED"}},
        {"8.1",
         "a request that was answered early may be reset",
         stranger + reset(1, code::cancel) + one.get(3),
         {"1: 401; 3: 200"}},
        {"8.1",
         "requests side by side are answered in the order in which they end",
         one.post(1) + one.post(3) + one.get(5) + data(3, client::content, flag::end_stream) +
             data(1, client::content, flag::end_stream),
         {"5: 200; 3: 200; 1: 200"}},
        {"8.1",
         "content of several requests may alternate",
         one.post(1) + one.post(3) + data(1, client::content.substr(0, 4)) +
             data(3, client::content.substr(0, 4)) +
             data(1, client::content.substr(4), flag::end_stream) +
             data(3, client::content.substr(4), flag::end_stream),
         {"1: 200; 3: 200"}},
        {"8.1",
         "a client that expects 100 gets it",
         one.post(1, {{"expect", "100-continue"}}) + data(1, client::content, flag::end_stream),
         {"1: 100; 1: 200"}},
        {"8.1", "an empty block is a stream error", headers(1, ""), malformed},
        {"10.5.1",
         "a header list that is too large is answered",
         headers(1, block(one.get_fields()) + large + indexed(62) + indexed(62) + indexed(62) +
                        indexed(62)),
         {"1: 431"}},
    };
}

table length_cases(client const& one) {
    auto const post = [&](char const* length) { return one.post(1, {{"content-length", length}}); };
    auto const end = flag::end_stream;
    return {
        {"8.1.1",
         "content as long as it said is read",
         post("11") + data(1, client::content, end),
         {"1: 200"}},
        {"8.1.1",
         "padding is no part of the content",
         post("11") + data(1, padded(20, client::content), end | flag::padded),
         {"1: 200"}},
        {"8.1.1",
         "content in several frames as long as it said is read",
         post("11") + data(1, client::content.substr(0, 3)) + data(1, client::content.substr(3)) +
             data(1, "", end),
         {"1: 200"}},
        {"8.1.1", "content shorter than it said is a stream error",
         post("12") + data(1, client::content, end), malformed},
        {"8.1.1", "content longer than it said is a stream error",
         post("10") + data(1, client::content, end), malformed},
        {"8.1.1", "content in several frames shorter than it said is a stream error",
         post("12") + data(1, client::content.substr(0, 3)) +
             data(1, client::content.substr(3), end),
         malformed},
        {"8.1.1", "content in several frames longer than it said is a stream error",
         post("10") + data(1, client::content.substr(0, 3)) +
             data(1, client::content.substr(3), end),
         malformed},
        {"8.1.1", "content longer than it said is a stream error before it ends",
         post("1") + data(1, "{ "), malformed},
        {"8.1.1", "trailers behind content shorter than it said are a stream error",
         post("12") + data(1, client::content) + headers(1, literal("x", "y")), malformed},
        {"8.1.1",
         "trailers behind content as long as it said are read",
         post("11") + data(1, client::content) + headers(1, literal("x", "y")),
         {"1: 200"}},
        {"8.1.1", "a length without content is a stream error",
         headers(1, block(one.post_fields({{"content-length", "11"}}))), malformed},
        {"8.1.1", "a length of GET without content is a stream error",
         one.get(1, {{"content-length", "1"}}), malformed},
        {"8.1.1",
         "a length of 0 without content is read",
         one.get(1, {{"content-length", "0"}}),
         {"1: 200"}},
        {"8.1.1", "a length that is no number is malformed", one.get(1, {{"content-length", "1x"}}),
         refusal},
        {"8.1.1", "a length with a sign is malformed", one.get(1, {{"content-length", "+0"}}),
         refusal},
        {"8.1.1", "an empty length is malformed", one.get(1, {{"content-length", ""}}), refusal},
        {"8.1.1", "a length beyond 2^64 is malformed",
         one.get(1, {{"content-length", "18446744073709551616"}}), refusal},
        {"8.1.1",
         "two lengths that differ are malformed",
         one.post(1, {{"content-length", "11"}, {"content-length", "12"}}),
         {"1: RST_STREAM PROTOCOL_ERROR", "1: 400"}},
    };
}

table trailer_cases(client const& one) {
    auto const request = one.post(1) + data(1, client::content);
    auto const trailers = [&](std::string const& block, std::uint8_t flags = last_block) {
        return request + headers(1, block, flags);
    };
    return {
        {"8.1", "trailers end a request", trailers(literal("x-sum", "1")), {"1: 200"}},
        {"8.1", "empty trailers end a request", trailers(""), {"1: 200"}},
        {"8.1",
         "trailers in place of content end a request",
         one.post(1) + headers(1, literal("x-sum", "1")),
         {"1: 400"}},
        {"8.1", "trailers that do not end the stream are a stream error",
         trailers(literal("x-sum", "1"), whole_block), malformed},
        {"8.1", "a second request in place of trailers is a stream error", request + one.get(1),
         malformed},
        {"8.1",
         "DATA behind trailers is an error of its stream or of the connection",
         trailers(literal("x-sum", "1")) + data(1, "x"),
         {"1: 200; GOAWAY STREAM_CLOSED", "1: 200; 1: RST_STREAM STREAM_CLOSED"}},
        {"8.3", "a pseudo-header in trailers is a stream error", trailers(literal(":path", "/")),
         malformed},
        {"8.3", "a pseudo-header of responses in trailers is a stream error",
         trailers(literal(":status", "200")), malformed},
        {"8.2.1", "a field name in upper case in trailers is a stream error",
         trailers(literal("X-Sum", "1")), malformed},
        {"8.2.1", "a line feed in a value of trailers is a stream error",
         trailers(literal("x-sum", "1\n2")), malformed},
        {"8.2.2", "Connection in trailers is a stream error",
         trailers(literal("connection", "close")), malformed},
        {"8.2.2", "Keep-Alive in trailers is a stream error", trailers(literal("keep-alive", "1")),
         malformed},
        {"8.2.2", "Proxy-Connection in trailers is a stream error",
         trailers(literal("proxy-connection", "close")), malformed},
        {"8.2.2", "Transfer-Encoding in trailers is a stream error",
         trailers(literal("transfer-encoding", "chunked")), malformed},
        {"8.2.2", "Upgrade in trailers is a stream error", trailers(literal("upgrade", "h2c")),
         malformed},
        {"8.2.2", "TE of another value in trailers is a stream error",
         trailers(literal("te", "gzip")), malformed},
    };
}

// Whatever the answer was, and although it was sent before the request ended.
table early_answer_cases(client const& one) {
    struct {
        std::string status;
        std::string block;
    } const answers[] = {
        {"200", block(one.get_fields())},
        {"401", block(one.get_fields_but("x-api-key", "no key"))},
        {"404", block(one.get_fields_but(":path", "/nothing"))},
        {"405", block(one.get_fields_but(":method", "PROPFIND"))},
        {"413", block(one.post_fields()) + literal("content-length", "2000000")},
        {"431", block(one.get_fields()) + literal("x", std::string(16'384, 'x'))},
        {"501", block(one.get_fields_but(":method", "METHODS-OF-MORE-THAN-32-CHARACTERS"))},
    };
    auto const end = flag::end_stream;
    auto const length = literal("content-length", "5");
    table cases;
    for (auto const& [status, block] : answers) {
        std::string start =
            headers(1, block.substr(0, 16'000), 0) +
            continuation(1, block.substr(std::min(block.size(), std::size_t{16'000})));
        auto const add = [&, status = status](std::string const& name, std::string const& script,
                                              std::string const& end) {
            cases.push_back(
                {"8.1.1", name + " behind an early " + status, script, {"1: " + status + end}});
        };
        std::string const wrong = "; 1: RST_STREAM PROTOCOL_ERROR";
        add("trailers", start + data(1, "12345") + headers(1, literal("x-sum", "1")),
            status == "413" ? wrong : "");
        add("a pseudo-header in trailers", start + headers(1, literal(":path", "/")), wrong);
        add("a name in upper case in trailers", start + headers(1, literal("X-Sum", "1")), wrong);
        add("Connection in trailers", start + headers(1, literal("connection", "close")), wrong);
        add("a second header block", start + headers(1, literal("x-sum", "1"), whole_block), wrong);
        if (status == "413" || status == "431") continue;
        start = headers(1, block + length, whole_block);
        add("content as long as it said", start + data(1, "12345", end), "");
        add("content shorter than it said", start + data(1, "1234", end), wrong);
        add("content longer than it said", start + data(1, "123") + data(1, "456"), wrong);
        add("trailers and less content than it said",
            start + data(1, "1234") + headers(1, literal("x-sum", "1")), wrong);
    }
    cases.push_back({"6.9.1",
                     "DATA beyond the window of a request that was answered early",
                     headers(1, answers[2].block, whole_block) + data(1, "12345"),
                     {"1: 404; 1: RST_STREAM FLOW_CONTROL_ERROR"},
                     {.settings = {.window_bytes = 4}}});
    return cases;
}

table pseudo_header_cases(client const& one) {
    auto const request = [&](char const* name, char const* value) {
        return headers(1, block(one.get_fields_but(name, value)));
    };
    auto late = one.get_fields();
    std::swap(late[3], late[4]);
    auto const twice = [&](std::string const& name, std::string const& value) {
        auto list = one.get_fields();
        list.insert(list.begin(), {name, value});
        return headers(1, block(list));
    };
    return {
        {"8.3", "an unknown pseudo-header is a stream error", twice(":test", "ok"), malformed},
        {"8.3", "a pseudo-header of responses is a stream error", twice(":status", "200"),
         malformed},
        {"8.3", "a pseudo-header behind a field is a stream error", headers(1, block(late)),
         malformed},
        {"8.3", "a pseudo-header in upper case is a stream error",
         headers(1, literal(":Method", "GET") + block(one.get_fields_but(":method", nullptr))),
         malformed},
        {"8.3", "a pseudo-header without a name is a stream error", twice(":", "x"), malformed},
        {"8.3", "the protocol of an extended CONNECT is a stream error",
         twice(":protocol", "websocket"), malformed},
        {"8.3", "the method twice is a stream error", twice(":method", "GET"), malformed},
        {"8.3", "the scheme twice is a stream error", twice(":scheme", "https"), malformed},
        {"8.3", "the path twice is a stream error", twice(":path", "/api/v1/users/1"), malformed},
        {"8.3", "the authority twice is a stream error", twice(":authority", "a"), malformed},
        {"8.3.1", "no method is a stream error", request(":method", nullptr), malformed},
        {"8.3.1", "no scheme is a stream error", request(":scheme", nullptr), malformed},
        {"8.3.1", "no path is a stream error", request(":path", nullptr), malformed},
        {"8.3.1", "an empty method is malformed", request(":method", ""), refusal},
        {"8.3.1", "a method that is no token is malformed", request(":method", "G ET"), refusal},
        {"8.3.1", "a method with a delimiter is malformed", request(":method", "GET(1)"), refusal},
        {"8.3.1", "an empty scheme is malformed", request(":scheme", ""), refusal},
        {"8.3.1", "a scheme that is none is malformed", request(":scheme", "ht tp"), refusal},
        {"8.3.1", "an empty path is a stream error", request(":path", ""), malformed},
    };
}

table target_cases(client const& one) {
    auto const request = [&](char const* name, char const* value) {
        return headers(1, block(one.get_fields_but(name, value)));
    };
    auto const connect = [](fields const& more) {
        fields list{{":method", "CONNECT"}};
        list.insert(list.end(), more.begin(), more.end());
        return headers(1, block(list));
    };
    auto options = one.get_fields_but(":method", "OPTIONS");
    options[3].second = "*";
    auto no_authority = one.get_fields_but(":authority", nullptr);
    auto host_alone = no_authority;
    host_alone.emplace_back("host", "a");
    auto empty_host = no_authority;
    empty_host.emplace_back("host", "");
    return {
        {"8.3.1", "a path without its slash is malformed", request(":path", "api/v1/users/1"),
         refusal},
        {"8.3.1",
         "a path with a space is malformed",
         request(":path", "/api/v1/users/1 x"),
         {"1: 400"}},
        {"8.3.1",
         "a path with a quotation mark is malformed",
         request(":path", "/api/v1/users/1?to=\"a\""),
         {"1: 400"}},
        {"8.3.1", "an absolute target as a path is malformed",
         request(":path", "https://a/api/v1/users/1"), refusal},
        {"8.3.1", "an asterisk with GET is malformed", request(":path", "*"), refusal},
        {"8.3.1", "an asterisk with OPTIONS is answered", headers(1, block(options)), {"1: 204"}},
        {"8.3.1",
         "Host in place of the authority is answered",
         headers(1, block(host_alone)),
         {"1: 200"}},
        {"8.3.1", "neither Host nor authority is malformed", headers(1, block(no_authority)),
         refusal},
        {"8.3.1", "an empty authority is malformed", request(":authority", ""), refusal},
        {"8.3.1", "an empty Host is malformed", headers(1, block(empty_host)), refusal},
        {"8.3.1", "an authority with user information is malformed", request(":authority", "me@a"),
         refusal},
        {"8.3.1", "an authority with a path is malformed", request(":authority", "a/b"), refusal},
        {"8.3.1",
         "Host that is the authority is answered",
         one.get(1, {{"host", "a"}}),
         {"1: 200"}},
        {"8.3.1", "Host that is not the authority is malformed", one.get(1, {{"host", "b"}}),
         refusal},
        {"8.3.1", "Host twice is malformed", one.get(1, {{"host", "a"}, {"host", "a"}}), refusal},
        {"8.5",
         "CONNECT is answered, for there is no tunnel",
         connect({{":authority", "a:443"}}),
         {"1: 405"}},
        {"8.5", "CONNECT with a path is malformed",
         connect({{":authority", "a:443"}, {":path", "/"}}), refusal},
        {"8.5", "CONNECT with a scheme is malformed",
         connect({{":scheme", "https"}, {":authority", "a:443"}}), refusal},
        {"8.5", "CONNECT without an authority is malformed", connect({{"host", "a:443"}}), refusal},
        {"8.5", "CONNECT without a port is malformed", connect({{":authority", "a"}}), refusal},
    };
}

}  // namespace latchkey::session::conformance
