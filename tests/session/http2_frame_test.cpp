// RFC 9113 and 7541 section by section: what a client may send at all, and how what it may not send
// ends: the stream (RST_STREAM), the connection (GOAWAY), or with an answer. Each script runs whole
// and split at every byte.
#include <gtest/gtest.h>

#include "http2_conversation.hpp"
#include "wire/http2/hpack_encoder.hpp"

namespace latchkey::session {
namespace {

using h2::error_code;
using h2::frame_type;

std::string frame(frame_type type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload = {}) {
    std::string bytes;
    h2::put_frame_head({static_cast<std::uint32_t>(payload.size()), type, flags, stream}, bytes);
    return bytes.append(payload);
}
std::string number(std::uint32_t value) {
    return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
            static_cast<char>(value >> 8), static_cast<char>(value)};
}

using fields = std::vector<std::pair<std::string, std::string>>;
std::string block(fields const& list) {
    h2::hpack_encoder encoder;
    std::string bytes;
    for (auto const& [name, value] : list) encoder.add(name, value, h2::indexing::never, bytes);
    return bytes;
}

constexpr std::uint8_t end_stream = h2::flag::end_stream, end_headers = h2::flag::end_headers;

// What the server sent, as a person would tell it: "200", "reset 1", "goaway 1", "ack", "pong".
std::string told(std::string_view output) {
    std::string text;
    h2::hpack_decoder decoder(4096);
    h2::header_text memory(16'384);
    while (output.size() >= h2::frame_head_bytes) {
        auto const head = h2::read_frame_head(output.data());
        auto const payload = output.substr(h2::frame_head_bytes, head.length);
        output.remove_prefix(h2::frame_head_bytes + payload.size());
        std::string text_of_frame;
        switch (head.type) {
            case frame_type::headers:
                decoder.decode(payload, memory, [&](h2::header_field const& field) {
                    if (field.name == ":status") text_of_frame = field.value;
                });
                break;
            case frame_type::rst_stream:
                text_of_frame = "reset " + std::to_string(h2::read_uint32(payload.data()));
                break;
            case frame_type::goaway:
                text_of_frame = "goaway " + std::to_string(h2::read_uint32(payload.data() + 4));
                break;
            case frame_type::ping:
                text_of_frame = "pong";
                break;
            case frame_type::settings:
                if (head.has(h2::flag::ack)) text_of_frame = "ack";
                break;
            default:
                break;
        }
        if (!text_of_frame.empty()) text += (text.empty() ? "" : ", ") + text_of_frame;
    }
    return text;
}

class frames : public api::api_test {
  protected:
    frames() { service.add_user(); }

    std::string begun() const {
        return std::string(h2::preface) + frame(frame_type::settings, 0, 0) +
               frame(frame_type::settings, h2::flag::ack, 0);
    }
    fields get(fields more = {}) const {
        fields list{{":method", "GET"},
                    {":scheme", "https"},
                    {":authority", "a"},
                    {":path", "/api/v1/users/1"},
                    {"x-api-key", service.key}};
        list.insert(list.end(), more.begin(), more.end());
        return list;
    }
    fields put(fields more = {}) const {
        auto list = get({{"content-type", "application/json"}});
        list[0].second = "PUT";
        list.insert(list.end(), more.begin(), more.end());
        return list;
    }
    std::string headers(std::uint32_t stream, std::uint8_t flags, fields const& list) const {
        return frame(frame_type::headers, flags, stream, block(list));
    }
    std::string asked(std::uint32_t stream) const {
        return headers(stream, end_stream | end_headers, get());
    }

    // Behind SETTINGS and their ACK.
    std::string run(std::string const& script, std::size_t part = std::string::npos) {
        http2_conversation server(service);
        server.server.now = service.now;
        for (std::string_view rest = script; !rest.empty();
             rest.remove_prefix(std::min(part, rest.size())))
            server.receive(rest.substr(0, part));
        return told(server.take_output());
    }
    void expect(std::string const& script, std::string const& outcome, char const* section) {
        EXPECT_EQ(run(begun() + script), "ack" + (outcome.empty() ? "" : ", " + outcome))
            << section;
        EXPECT_EQ(run(begun() + script, 1), "ack" + (outcome.empty() ? "" : ", " + outcome))
            << section << ", byte by byte";
    }
};

TEST_F(frames, section_3_4_preface) {
    EXPECT_EQ(run("GET / HTTP/1.1\r\n"), "goaway 1");
    EXPECT_EQ(run(std::string(h2::preface) + frame(frame_type::ping, 0, 0, "12345678")), "goaway 1")
        << "not SETTINGS";
    EXPECT_EQ(run(std::string(h2::preface) + frame(frame_type::settings, h2::flag::ack, 0)),
              "goaway 1");
    EXPECT_EQ(run(std::string(h2::preface) + frame(frame_type::settings, 0, 0) + asked(1)),
              "ack, 200");
}

TEST_F(frames, section_4_frames) {
    expect(frame(static_cast<frame_type>(0x7f), 0xff, 0x7fff, "any") + asked(1), "200",
           "4.1: unknown types are ignored");
    expect(frame(frame_type::ping, 0xfe, 0, "12345678"), "pong", "4.1: unknown flags are ignored");
    auto reserved = frame(frame_type::ping, 0, 0, "12345678");
    reserved[5] = '\x80';
    expect(reserved, "pong", "4.1: the reserved bit is ignored");
    expect(headers(1, end_headers, put()) + frame(frame_type::data, 0, 1, std::string(16'385, ' ')),
           "goaway 6", "4.2: DATA of 16,385 bytes");
    expect(frame(frame_type::headers, end_headers | end_stream, 1, std::string(16'385, '\x82')),
           "goaway 6", "4.2: HEADERS of 16,385 bytes");
    expect(frame(frame_type::headers, end_headers | end_stream, 1, "\xff\xff\xff"), "goaway 9",
           "4.3: a block that cannot be decoded");
    expect(frame(frame_type::headers, end_stream, 1, block(get())) +
               frame(frame_type::priority, 0, 1, number(0) + "\x10"),
           "goaway 1", "4.3: PRIORITY within a header block");
    expect(frame(frame_type::headers, end_stream, 1, block(get())) + asked(3), "goaway 1",
           "4.3: HEADERS of another stream within one");
}

TEST_F(frames, section_5_1_streams) {
    expect(frame(frame_type::data, end_stream, 1, "x"), "goaway 1", "DATA on an idle stream");
    expect(frame(frame_type::rst_stream, 0, 1, number(8)), "goaway 1",
           "RST_STREAM on an idle stream");
    expect(frame(frame_type::window_update, 0, 1, number(100)), "goaway 1",
           "WINDOW_UPDATE on an idle stream");
    expect(frame(frame_type::continuation, end_headers, 1, block(get())), "goaway 1",
           "CONTINUATION on an idle stream");
    expect(asked(1) + frame(frame_type::data, end_stream, 1, "x"), "200, goaway 5",
           "DATA on a closed stream");
    expect(asked(1) + asked(1), "200, goaway 5", "HEADERS on a closed stream");
    expect(asked(1) + frame(frame_type::window_update, 0, 1, number(100)) +
               frame(frame_type::rst_stream, 0, 1, number(8)) +
               frame(frame_type::priority, 0, 1, number(0) + "\x10") + asked(3),
           "200, 200", "WINDOW_UPDATE, RST_STREAM and PRIORITY on a closed stream");
    expect(asked(1) + frame(frame_type::continuation, end_headers, 1, block(get())),
           "200, goaway 1", "CONTINUATION on a closed one");
    expect(
        headers(1, end_headers, put()) + frame(frame_type::rst_stream, 0, 1, number(8)) + asked(3),
        "200", "a stream that was reset");
    expect(headers(1, end_headers, put()) + frame(frame_type::rst_stream, 0, 1, number(8)) +
               frame(frame_type::data, 0, 1, "x"),
           "goaway 5", "DATA behind the client's own reset");
    expect(headers(2, end_headers | end_stream, get()), "goaway 1", "5.1.1: an even stream");
    expect(asked(5) + asked(3), "200, goaway 1", "5.1.1: a stream below an earlier one");
    expect(headers(0, end_headers | end_stream, get()), "goaway 1",
           "6.2: HEADERS on the connection");
}

TEST_F(frames, section_5_1_2_concurrency) {
    http2_conversation server(service, {.streams_max = 2});
    server.receive(begun() + headers(1, end_headers, put()) + headers(3, end_headers, put()) +
                   asked(5));
    EXPECT_EQ(told(server.take_output()), "ack, reset 7");
    server.receive(frame(frame_type::rst_stream, 0, 1, number(8)) + asked(7));
    EXPECT_EQ(told(server.take_output()), "200");
}

TEST_F(frames, section_5_3_1_dependency) {
    expect(frame(frame_type::headers, end_headers | end_stream | h2::flag::priority, 1,
                 number(1) + "\x10" + block(get())) +
               asked(3),
           "reset 1, 200", "HEADERS that depend on themselves");
    expect(headers(1, end_headers, put()) + frame(frame_type::priority, 0, 1, number(1) + "\x10"),
           "reset 1", "PRIORITY that does");
    expect(frame(frame_type::headers, end_headers | end_stream | h2::flag::priority, 1,
                 number(0x80000003) + "\x10" + block(get())),
           "200", "HEADERS with a priority");
}

TEST_F(frames, section_6_1_data) {
    expect(frame(frame_type::data, 0, 0, "x"), "goaway 1", "on the connection");
    expect(headers(1, end_headers, put()) +
               frame(frame_type::data, h2::flag::padded, 1, std::string("\x03") + "ab"),
           "goaway 1", "padding too long");
    std::string const body = R"({"name":"Bo","email":"bo@example.com"})";
    std::string padded(1, '\x05');
    padded += body + std::string(5, '\0');
    expect(headers(1, end_headers, put()) +
               frame(frame_type::data, h2::flag::padded | end_stream, 1, padded),
           "200", "padded");
    expect(headers(1, end_headers, put({{"content-length", "38"}})) +
               frame(frame_type::data, 0, 1, body.substr(0, 10)) + frame(frame_type::data, 0, 1) +
               frame(frame_type::data, end_stream, 1, body.substr(10)),
           "200", "in parts");
}

TEST_F(frames, section_6_2_headers) {
    std::string padded(1, '\x04');
    padded += block(get()) + std::string(4, '\0');
    expect(frame(frame_type::headers, end_headers | end_stream | h2::flag::padded, 1, padded),
           "200", "padded");
    expect(frame(frame_type::headers, end_headers | end_stream | h2::flag::padded, 1,
                 std::string(1, '\x7f') + "ab"),
           "goaway 1", "padding too long");
    expect(frame(frame_type::headers, end_headers | end_stream | h2::flag::padded, 1), "goaway 6",
           "no length of the padding");
    expect(frame(frame_type::headers, end_headers | h2::flag::priority, 1, "abc"), "goaway 6",
           "half a priority");
}

TEST_F(frames, section_6_3_priority) {
    expect(frame(frame_type::priority, 0, 0, number(0) + "\x10"), "goaway 1", "on the connection");
    expect(headers(1, end_headers, put()) + frame(frame_type::priority, 0, 1, "abcd"), "reset 6",
           "of four bytes");
    expect(frame(frame_type::priority, 0, 9, number(0) + "\x10") + asked(1), "200",
           "of an idle stream");
}

TEST_F(frames, section_6_4_rst_stream) {
    expect(frame(frame_type::rst_stream, 0, 0, number(8)), "goaway 1", "on the connection");
    expect(headers(1, end_headers, put()) + frame(frame_type::rst_stream, 0, 1, "abc"), "goaway 6",
           "of three bytes");
}

TEST_F(frames, section_6_5_settings) {
    expect(frame(frame_type::settings, h2::flag::ack, 0, "x"), "goaway 6", "an ACK with a payload");
    expect(frame(frame_type::settings, 0, 1), "goaway 1", "on a stream");
    expect(frame(frame_type::settings, 0, 0, "abc"), "goaway 6", "of three bytes");
    auto const setting = [](std::uint16_t name, std::uint32_t value) {
        return frame(
            frame_type::settings, 0, 0,
            std::string{static_cast<char>(name >> 8), static_cast<char>(name)} + number(value));
    };
    expect(setting(2, 2), "goaway 1", "ENABLE_PUSH 2");
    expect(setting(4, 0x80000000), "goaway 3", "INITIAL_WINDOW_SIZE 2^31");
    expect(setting(5, 16'383), "goaway 1", "MAX_FRAME_SIZE 16,383");
    expect(setting(5, 16'777'216), "goaway 1", "MAX_FRAME_SIZE 2^24");
    expect(setting(0x99, 7), "ack", "an unknown one");
    expect(setting(1, 0) + asked(1), "ack, 200", "HEADER_TABLE_SIZE 0");
}

TEST_F(frames, section_6_6_to_6_8) {
    expect(frame(frame_type::push_promise, end_headers, 1, number(2) + block(get())), "goaway 1",
           "6.6: a client pushes");
    expect(frame(frame_type::ping, 0, 0, "12345678"), "pong", "6.7");
    expect(frame(frame_type::ping, h2::flag::ack, 0, "12345678"), "",
           "6.7: an ACK is not answered");
    expect(frame(frame_type::ping, 0, 1, "12345678"), "goaway 1", "6.7: on a stream");
    expect(frame(frame_type::ping, 0, 0, "1234567"), "goaway 6", "6.7: of seven bytes");
    expect(frame(frame_type::goaway, 0, 1, number(0) + number(0)), "goaway 1", "6.8: on a stream");
    expect(frame(frame_type::goaway, 0, 0, number(0)), "goaway 6", "6.8: of four bytes");
    expect(asked(1) + frame(frame_type::goaway, 0, 0, number(0) + number(0)) + "behind", "200",
           "6.8: the client leaves");
}

TEST_F(frames, section_6_9_windows) {
    auto const window = [](std::uint32_t stream, std::uint32_t increment) {
        return frame(frame_type::window_update, 0, stream, number(increment));
    };
    expect(window(0, 0), "goaway 1", "by nothing");
    expect(headers(1, end_headers, put()) + window(1, 0) + asked(3), "reset 1, 200",
           "of a stream, by nothing");
    expect(frame(frame_type::window_update, 0, 0, "abc"), "goaway 6", "of three bytes");
    expect(window(0, 0x7fffffff), "goaway 3", "6.9.1: beyond 2^31-1");
    expect(headers(1, end_headers, put()) + window(1, 0x7fffffff) + asked(3), "reset 3, 200",
           "6.9.1: of a stream");
}

TEST_F(frames, section_6_9_a_client_beyond_its_window) {
    http2_conversation server(service, {.window_bytes = 65'535});
    server.grants_bodies = false;
    std::string script = begun() + headers(1, end_headers, put());
    for (int i = 0; i < 3; ++i) script += frame(frame_type::data, 0, 1, std::string(16'384, ' '));
    server.receive(script + frame(frame_type::data, 0, 1, std::string(16'383, ' ')));
    EXPECT_EQ(told(server.take_output()), "ack") << "just as much";
    server.receive(frame(frame_type::data, 0, 1, " ") + asked(3));
    EXPECT_EQ(told(server.take_output()), "reset 3, 200") << "a byte more";
}

TEST_F(frames, section_6_9_2_a_smaller_initial_window) {
    auto const window = [](std::uint32_t value) {
        return frame(frame_type::settings, 0, 0, std::string("\0\x04", 2) + number(value));
    };
    http2_conversation server(service);
    server.receive(begun() + window(0) + asked(1));
    auto const first = server.take_output();
    EXPECT_EQ(told(first), "ack, ack, 200");
    EXPECT_GT(server.held_bytes() + 64, 64u);
    server.receive(window(1));
    auto const one = server.take_output();
    EXPECT_NE(one.find(frame(frame_type::data, 0, 1, "{")), one.npos) << "one byte of content";
    server.receive(window(0) + window(65'535));
    auto const rest = server.take_output();
    EXPECT_FALSE(rest.empty());
    EXPECT_EQ(server.in_progress(), 0u);
}

TEST_F(frames, section_6_10_continuation) {
    auto const whole = block(get());
    auto const first = frame(frame_type::headers, end_stream, 1, whole.substr(0, 10));
    expect(first + frame(frame_type::continuation, 0, 1, whole.substr(10, 5)) +
               frame(frame_type::continuation, end_headers, 1, whole.substr(15)),
           "200", "a block in three frames");
    expect(first + frame(frame_type::continuation, end_headers, 3, whole.substr(10)), "goaway 1",
           "of another stream");
    expect(first + frame(frame_type::continuation, end_headers, 0, whole.substr(10)), "goaway 1",
           "on the connection");
    expect(asked(1) + frame(frame_type::data, 0, 1), "200, goaway 5",
           "DATA in its place, on a closed stream");
    expect(first + frame(frame_type::data, 0, 1), "goaway 1", "DATA in its place");
    std::string endless = first;
    for (int i = 0; i < 9; ++i) endless += frame(frame_type::continuation, 0, 1, "");
    expect(endless, "goaway 11", "more than eight");
    std::string large = first;
    for (int i = 0; i < 4; ++i)
        large += frame(frame_type::continuation, 0, 1, std::string(16'384, '\x82'));
    expect(large, "goaway 11", "far larger than a list may be");
}

TEST_F(frames, a_block_that_says_far_more_than_it_has) {
    auto const named = "\x40\x7f\xe1\x1e" + std::string(4064, 'n') + std::string(1, '\0');
    std::string referring;
    for (int i = 0; i < 8192; ++i) referring.append("\x7e\0", 2);
    auto const whole =
        frame(frame_type::headers, end_stream | end_headers, 1, block(get()) + named);
    for (std::uint32_t const stream : {1u, 3u})
        expect(whole + frame(frame_type::headers, end_stream | end_headers, stream, referring),
               "200, goaway 11", stream == 1 ? "on a closed stream" : "of a request");
    expect(headers(1, end_headers, put()) + frame(frame_type::headers, end_stream | end_headers, 1,
                                                  named + referring.substr(0, 8192)),
           "goaway 11", "as trailers");
}

TEST_F(frames, section_8_1_messages) {
    std::string const body = R"({"name":"Bo","email":"bo@example.com"})";
    expect(headers(1, end_headers, put()) + frame(frame_type::data, 0, 1, body) +
               headers(1, end_headers | end_stream, {{"x-trailer", "t"}}),
           "200", "trailers are dropped");
    expect(headers(1, end_headers, put()) + frame(frame_type::data, 0, 1, body) +
               headers(1, end_headers, {{"x-trailer", "t"}}),
           "reset 1", "trailers that do not end the stream");
    expect(headers(1, end_headers, put()) + headers(1, end_headers | end_stream, {{":path", "/"}}),
           "reset 1", "8.1: pseudo-headers in trailers");
    expect(headers(1, end_headers, put({{"content-length", "1"}})) +
               frame(frame_type::data, end_stream, 1, "{}"),
           "reset 1", "8.1.1: a longer body");
    expect(headers(1, end_headers, put({{"content-length", "3"}})) +
               frame(frame_type::data, end_stream, 1, "{}"),
           "reset 1", "8.1.1: a shorter body");
    expect(headers(1, end_headers | end_stream, put({{"content-length", "3"}})), "reset 1",
           "8.1.1: no body");
    expect(headers(1, end_headers, put({{"content-length", "1"}})) +
               frame(frame_type::data, 0, 1, "{") + headers(1, end_headers | end_stream, {}),
           "400", "8.1.1: as long as it said, with empty trailers");
    expect(headers(1, end_headers | end_stream, get({{"content-length", "x"}})), "reset 1",
           "8.1.1: a length that is none");
}

TEST_F(frames, section_8_2_fields) {
    for (auto const& each : fields{{"X-Upper", "a"},
                                   {"a b", "c"},
                                   {"x", "a\r\nb"},
                                   {"x", " a"},
                                   {"connection", "close"},
                                   {"keep-alive", "1"},
                                   {"proxy-connection", "a"},
                                   {"transfer-encoding", "chunked"},
                                   {"upgrade", "h2c"},
                                   {"te", "gzip"},
                                   {"te", "trailers, deflate"},
                                   {":unknown", "a"},
                                   {":status", "200"},
                                   {":path", "/again"}})
        expect(headers(1, end_headers | end_stream, get({each})) + asked(3), "reset 1, 200",
               each.first.c_str());
    expect(headers(1, end_headers | end_stream, get({{"te", "trailers"}})), "200", "te: trailers");
}

TEST_F(frames, section_8_3_pseudo_headers) {
    for (std::size_t missing = 0; missing < 4; ++missing) {
        auto list = get();
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(missing));
        expect(headers(1, end_headers | end_stream, list) + asked(3), "reset 1, 200",
               "one is missing");
    }
    auto list = get();
    list[2] = {"host", "a"};
    std::swap(list[2], list[3]);
    expect(headers(1, end_headers | end_stream, list), "200", "Host instead of :authority");
    list = get();
    std::swap(list[3], list[4]);
    expect(headers(1, end_headers | end_stream, list), "reset 1", "a pseudo-header behind a field");
    list = get();
    list[3].second = "";
    expect(headers(1, end_headers | end_stream, list), "reset 1", "an empty :path");
    list[3].second = "api";
    expect(headers(1, end_headers | end_stream, list), "reset 1", "a :path without its slash");
    list[3].second = "/a b";
    expect(headers(1, end_headers | end_stream, list), "400", "a :path that is none");
    expect(
        headers(
            1, end_headers | end_stream,
            {{":method", "CONNECT"}, {":authority", "a:1"}, {":path", "/"}, {":scheme", "https"}}),
        "reset 1", "8.5: CONNECT with a path");
}

TEST_F(frames, rfc_7541_tables) {
    auto const indexed = [&](std::string_view tail) {
        return frame(frame_type::headers, end_headers | end_stream, 1,
                     block(get()) + std::string(tail));
    };
    expect(indexed("\x80"), "goaway 9", "6.1: index 0");
    expect(indexed("\xff\x7f"), "goaway 9", "2.3.3: beyond the table");
    expect(indexed("\x20"), "goaway 9", "4.2: a size behind a field");
    expect(frame(frame_type::headers, end_headers | end_stream, 1, "\x3f\xe2\x1f" + block(get())),
           "goaway 9", "6.3: above the setting");
    expect(indexed(std::string("\0\x01"
                               "a\x81\xff",
                               5)),
           "goaway 9", "5.2: padding of eight bits");
}

// What a client can do without asking for anything, and without asking for an answer.
TEST_F(frames, floods_end_the_connection) {
    auto const flood = [&](std::string const& prologue, std::string const& one) {
        auto script = begun() + prologue;
        for (int i = 0; i < 500; ++i) script += one;
        auto const outcome = run(script);
        return outcome.substr(outcome.rfind(' ') + 1);
    };
    EXPECT_EQ(flood("", frame(frame_type::ping, 0, 0, "12345678")), "11");
    EXPECT_EQ(flood("", frame(frame_type::settings, 0, 0)), "11");
    EXPECT_EQ(flood("", frame(frame_type::priority, 0, 9, number(0) + "\x10")), "11");
    EXPECT_EQ(flood("", frame(static_cast<frame_type>(0x30), 0, 0)), "11");
    EXPECT_EQ(flood("", frame(frame_type::window_update, 0, 0, number(1))), "11");
    EXPECT_EQ(flood(headers(1, end_headers, put()), frame(frame_type::data, 0, 1)), "11");
    EXPECT_EQ(flood("", frame(frame_type::priority_update, 0, 0, number(9) + "u=1")), "11");
}

TEST_F(frames, rapid_resets_end_the_connection) {
    std::string own = begun(), made = begun();
    for (std::uint32_t id = 1; id < 1000; id += 2) {
        own += headers(id, end_headers, put()) + frame(frame_type::rst_stream, 0, id, number(8));
        made +=
            headers(id, end_headers, put()) + frame(frame_type::window_update, 0, id, number(0));
    }
    EXPECT_EQ(run(own), "ack, goaway 11");
    auto const outcome = run(made);
    EXPECT_EQ(outcome.substr(outcome.rfind(", ")), ", goaway 11");
}

TEST_F(frames, ten_thousand_requests_are_no_flood) {
    http2_conversation server(service);
    server.receive(begun());
    server.take_output();
    for (std::uint32_t id = 1; id < 20'000; id += 2) {
        server.receive(asked(id));
        auto const output = server.take_output();
        ASSERT_NE(output.find("\"name\":\"Ada\""), output.npos) << id;
        if (id % 64 == 1) server.receive(frame(frame_type::window_update, 0, 0, number(16'000)));
    }
    EXPECT_EQ(server.in_progress(), 0u);
}

}  // namespace
}  // namespace latchkey::session
