// RFC 9113 §3.4 and §4: the preface, the sizes of frames, header blocks; §5.4 and §5.5: what errors
// and extensions do to a connection.
#include "http2_conformance.hpp"

namespace latchkey::session::conformance {

using namespace script;

table preface_cases(client const& one) {
    std::string const preface(h2::preface);
    auto wrong_end = preface;
    wrong_end.back() = ' ';
    circumstances const start{.opening = opening::none};
    return {
        {"3.4",
         "a request right behind preface and SETTINGS is answered",
         preface + settings_of() + one.get(1),
         {"settings; ack; 1: 200"},
         start},
        {"3.4",
         "the first SETTINGS may have values",
         preface + settings_of({{setting::max_concurrent_streams, 100},
                                {setting::initial_window_size, 65'535}}),
         {"settings; ack"},
         start},
        {"3.4",
         "text in place of the preface is a connection error",
         "INVALID PREFACE\r\n\r\n",
         {"settings; GOAWAY PROTOCOL_ERROR"},
         start},
        {"3.4",
         "a request of HTTP 1.1 in place of the preface is a connection error",
         "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
         {"settings; GOAWAY PROTOCOL_ERROR"},
         start},
        {"3.4",
         "a preface whose last byte is wrong is a connection error",
         wrong_end,
         {"settings; GOAWAY PROTOCOL_ERROR"},
         start},
        {"3.4",
         "PING in front of SETTINGS is a connection error",
         preface + ping(),
         {"settings; GOAWAY PROTOCOL_ERROR"},
         start},
        {"3.4",
         "HEADERS in front of SETTINGS is a connection error",
         preface + one.get(1),
         {"settings; GOAWAY PROTOCOL_ERROR"},
         start},
        {"3.4",
         "the ACK of SETTINGS in front of SETTINGS is a connection error",
         preface + settings_ack(),
         {"settings; GOAWAY PROTOCOL_ERROR"},
         start},
        {"3.4",
         "an unknown frame in front of SETTINGS is a connection error",
         preface + frame(0xfau, 0, 0),
         {"settings; GOAWAY PROTOCOL_ERROR"},
         start},
        {"3.4",
         "first SETTINGS on a stream are a connection error",
         preface + frame(h2_type::settings, 0, 1),
         {"settings; GOAWAY PROTOCOL_ERROR"},
         start},
        {"3.4",
         "a second preface is a connection error",
         preface,
         {"GOAWAY FRAME_SIZE_ERROR", "GOAWAY PROTOCOL_ERROR"}},
    };
}

table framing_cases(client const& one) {
    std::string const large(16'384, ' '), too_large(16'385, ' ');
    auto const content = std::string(client::content) + large.substr(client::content.size());
    auto const start = block(one.get_fields());
    std::string const value(16'384 - start.size() - literal("x", "").size() - 2, 'x');
    return {
        {"4.1", "a frame of an unknown type is ignored", frame(0x7fu, 0xff, 0, "any"), {""}},
        {"4.1",
         "a frame of an unknown type on an idle stream is ignored",
         frame(0xfeu, 0, 0x7fff, "any") + one.get(1),
         {"1: 200"}},
        {"4.1", "flags without meaning are ignored", ping("8 octets", 0xfe), {"pong 8 octets"}},
        {"4.1",
         "flags without meaning on HEADERS are ignored",
         headers(1, block(one.get_fields()), last_block | 0xd2),
         {"1: 200"}},
        {"4.1",
         "the reserved bit of PING is ignored",
         with_reserved_bit(ping("8 octets")),
         {"pong 8 octets"}},
        {"4.1",
         "the reserved bit of HEADERS is ignored",
         with_reserved_bit(one.get(1)),
         {"1: 200"}},
        {"4.2",
         "DATA of 16384 bytes is taken",
         one.post(1) + data(1, content, flag::end_stream),
         {"1: 200"}},
        {"4.2", "an unknown frame of 16384 bytes is ignored", frame(0xfau, 0, 1, large), {""}},
        {"4.2",
         "HEADERS of 16384 bytes are answered",
         headers(1, start + literal("x", value)),
         {"1: 200", "1: 431"}},
        {"4.2",
         "DATA of 16385 bytes is an error of its stream or of the connection",
         one.post(1) + data(1, too_large),
         {"GOAWAY FRAME_SIZE_ERROR", "1: RST_STREAM FRAME_SIZE_ERROR"}},
        {"4.2",
         "HEADERS of 16385 bytes are a connection error",
         headers(1, too_large),
         {"GOAWAY FRAME_SIZE_ERROR"}},
        {"4.2",
         "CONTINUATION of 16385 bytes is a connection error",
         headers(1, "", flag::end_stream) + continuation(1, too_large),
         {"GOAWAY FRAME_SIZE_ERROR"}},
        {"4.2",
         "SETTINGS of 16386 bytes are a connection error",
         frame(h2_type::settings, 0, 0, std::string(16'386, '\xff')),
         {"GOAWAY FRAME_SIZE_ERROR"}},
        {"4.2",
         "PING of 16385 bytes is a connection error",
         ping(too_large),
         {"GOAWAY FRAME_SIZE_ERROR"}},
        {"4.2",
         "the announced length alone is a connection error",
         bytes({0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1}),
         {"GOAWAY FRAME_SIZE_ERROR"}},
    };
}

table block_cases(client const& one) {
    auto const whole = block(one.get_fields());
    auto const start = headers(1, whole.substr(0, 30), flag::end_stream);
    auto const rest = continuation(1, whole.substr(30));
    std::vector<std::string> const interrupted{"GOAWAY PROTOCOL_ERROR"};
    auto const marked = literal("x-mark", "m", retention::in_table);
    auto const next = headers(3, whole + indexed(62));
    return {
        {"4.3",
         "a block that cannot be decoded is a connection error",
         headers(1, "\xff\xff\xff\xff\xff\xff"),
         {"GOAWAY COMPRESSION_ERROR"}},
        {"4.3",
         "a block that ends within a literal is a connection error",
         headers(1, whole.substr(0, whole.size() - 1)),
         {"GOAWAY COMPRESSION_ERROR"}},
        {"4.3",
         "trailers that cannot be decoded are a connection error",
         one.post(1) + headers(1, "\x80"),
         {"GOAWAY COMPRESSION_ERROR"}},
        {"4.3", "PRIORITY within a block is a connection error", start + priority(1, 0) + rest,
         interrupted},
        {"4.3", "HEADERS of another stream within a block are a connection error",
         start + one.get(3) + rest, interrupted},
        {"4.3", "DATA within a block is a connection error", start + data(1, "x") + rest,
         interrupted},
        {"4.3", "PING within a block is a connection error", start + ping() + rest, interrupted},
        {"4.3", "SETTINGS within a block are a connection error", start + settings_of() + rest,
         interrupted},
        {"4.3", "WINDOW_UPDATE within a block is a connection error",
         start + window_update(0, 1) + rest, interrupted},
        {"4.3", "RST_STREAM within a block is a connection error", start + reset(1) + rest,
         interrupted},
        {"4.3", "GOAWAY within a block is a connection error", start + goaway(0) + rest,
         interrupted},
        {"4.3",
         "the block of a malformed request still counts in the table",
         headers(1, whole + literal("connection", "close") + marked) + next,
         {"1: RST_STREAM PROTOCOL_ERROR; 3: 200"}},
        {"4.3",
         "trailers of a request still count in the table",
         one.post(1) + headers(1, marked) + next,
         {"1: 400; 3: 200"}},
        {"4.3",
         "the block of a stream that was reset still counts in the table",
         one.post(1) + window_update(1, 0) + headers(1, marked) + next,
         {"1: RST_STREAM PROTOCOL_ERROR; 3: 200"}},
        {"4.3",
         "the block of a stream that was refused still counts in the table",
         one.post(1) + headers(3, whole + marked) + reset(1) + headers(5, whole + indexed(62)),
         {"3: RST_STREAM REFUSED_STREAM; 5: 200"},
         {.settings = {.streams_max = 1}}},
    };
}

table error_cases(client const& one) {
    return {
        {"5.4.1",
         "GOAWAY names the last stream that was opened",
         one.get(1) + one.get(3) + ping("short"),
         {"1: 200; 3: 200; GOAWAY FRAME_SIZE_ERROR"},
         {.last_stream = 3}},
        {"5.4.1",
         "GOAWAY names no stream if there was none",
         ping("short"),
         {"GOAWAY FRAME_SIZE_ERROR"},
         {.last_stream = 0}},
        {"5.4.1",
         "nothing is read behind a connection error",
         ping("short") + ping() + one.get(1),
         {"GOAWAY FRAME_SIZE_ERROR"},
         {.last_stream = 0}},
        {"5.4.1",
         "a connection error ends a request that waits for its content",
         one.post(1) + ping("short"),
         {"GOAWAY FRAME_SIZE_ERROR"},
         {.last_stream = 1}},
        {"5.4.2",
         "frames behind a stream error are ignored",
         one.post(1) + window_update(1, 0) + data(1, "x") + window_update(1, 0) + data(1, "x") +
             reset(1),
         {"1: RST_STREAM PROTOCOL_ERROR"}},
        {"5.4.2",
         "RST_STREAM is not answered with RST_STREAM",
         one.post(1) + reset(1, code::protocol_error),
         {""}},
        {"5.4.2",
         "a stream error leaves another stream as it was",
         one.post(1) + one.post(3) + window_update(3, 0) +
             data(1, client::content, flag::end_stream),
         {"3: RST_STREAM PROTOCOL_ERROR; 1: 200"}},
        {"7",
         "RST_STREAM of an unknown code is one like others",
         one.post(1) + reset(1, static_cast<code>(0xfff)),
         {""}},
    };
}

table extension_cases(client const& one) {
    auto const whole = block(one.get_fields());
    return {
        {"5.5",
         "an unknown frame is ignored",
         frame(0x16u, 0, 0, "12345678") + ping(),
         {"pong opaque-8"}},
        {"5.5",
         "an unknown frame on an open stream is ignored",
         one.post(1) + frame(0x16u, 0x1, 1, "12345678") +
             data(1, client::content, flag::end_stream),
         {"1: 200"}},
        {"5.5",
         "an unknown frame on a closed stream is ignored",
         one.get(1) + frame(0x16u, 0, 1, "12345678"),
         {"1: 200"}},
        {"5.5",
         "an unknown frame within a block is a connection error",
         headers(1, whole.substr(0, 30), flag::end_stream) + frame(0x16u, 0, 1, "1234") +
             continuation(1, whole.substr(30)),
         {"GOAWAY PROTOCOL_ERROR"}},
        {"5.5", "an unknown setting is ignored", settings_of({{0xf5, 7}, {0xff, 0}}), {"ack"}},
    };
}

}  // namespace latchkey::session::conformance
