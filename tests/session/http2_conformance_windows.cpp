// RFC 9113 §6.5, §6.9 and §6.10: settings, windows and CONTINUATION.
#include "http2_conformance.hpp"

namespace latchkey::session::conformance {

using namespace script;

namespace {
constexpr std::uint32_t window_max = 0x7fffffff, default_window = 65'535;

std::string initial_window(std::uint32_t size) {
    return settings_of({{setting::initial_window_size, size}});
}
}  // namespace

table settings_cases(client const& one) {
    std::vector<std::string> const wrong{"GOAWAY PROTOCOL_ERROR"};
    return {
        {"6.5", "SETTINGS are acknowledged", settings_of(), {"ack"}},
        {"6.5",
         "SETTINGS are acknowledged while a request waits",
         one.post(1) + settings_of(),
         {"ack"}},
        {"6.5.3",
         "each of several SETTINGS is acknowledged",
         settings_of() + settings_of({{setting::max_concurrent_streams, 0}}) + settings_of(),
         {"ack; ack; ack"}},
        {"6.5", "an ACK is not acknowledged", settings_ack(), {""}},
        {"6.5",
         "an ACK with a payload is a connection error",
         frame(h2_type::settings, flag::ack, 0, std::string(6, '\0')),
         {"GOAWAY FRAME_SIZE_ERROR"}},
        {"6.5", "SETTINGS on a stream are a connection error", frame(h2_type::settings, 0, 1),
         wrong},
        {"6.5", "an ACK on a stream is a connection error", frame(h2_type::settings, flag::ack, 1),
         wrong},
        {"6.5",
         "SETTINGS of three bytes are a connection error",
         frame(h2_type::settings, 0, 0, "abc"),
         {"GOAWAY FRAME_SIZE_ERROR"}},
        {"6.5",
         "SETTINGS of seven bytes are a connection error",
         frame(h2_type::settings, 0, 0, std::string(7, '\0')),
         {"GOAWAY FRAME_SIZE_ERROR"}},
    };
}

table setting_value_cases(client const& one) {
    std::vector<std::string> const wrong{"GOAWAY PROTOCOL_ERROR"};
    return {
        {"6.5.2",
         "ENABLE_PUSH of 0 and of 1 is taken",
         settings_of({{setting::enable_push, 0}}) + settings_of({{setting::enable_push, 1}}),
         {"ack; ack"}},
        {"6.5.2", "ENABLE_PUSH of 2 is a connection error",
         settings_of({{setting::enable_push, 2}}), wrong},
        {"6.5.2",
         "INITIAL_WINDOW_SIZE of 2^31 is a connection error",
         initial_window(0x80000000),
         {"GOAWAY FLOW_CONTROL_ERROR"}},
        {"6.5.2",
         "the greatest INITIAL_WINDOW_SIZE is taken",
         initial_window(window_max) + one.get(1),
         {"ack; 1: 200"}},
        {"6.5.2", "MAX_FRAME_SIZE of 16383 is a connection error",
         settings_of({{setting::max_frame_size, 16'383}}), wrong},
        {"6.5.2", "MAX_FRAME_SIZE of 2^24 is a connection error",
         settings_of({{setting::max_frame_size, 16'777'216}}), wrong},
        {"6.5.2",
         "the least and the greatest MAX_FRAME_SIZE are taken",
         settings_of({{setting::max_frame_size, 16'384}}) +
             settings_of({{setting::max_frame_size, 16'777'215}}) + one.get(1),
         {"ack; ack; 1: 200"}},
        {"6.5.2",
         "settings that bind the server's requests change nothing",
         settings_of({{setting::max_concurrent_streams, 0}, {setting::max_header_list_size, 0}}) +
             one.get(1),
         {"ack; 1: 200"}},
        {"6.5.2",
         "an unknown setting is ignored beside one that is known",
         settings_of({{0xaa, 0xffffffff}, {setting::initial_window_size, 1}, {0, 0}}) + one.get(1),
         {"ack; 1: 200 unfinished"},
         {.contents = "1: 1"}},
        {"6.5.3",
         "of one setting in a frame the last counts",
         settings_of({{setting::initial_window_size, 100}, {setting::initial_window_size, 1}}) +
             one.get(1),
         {"ack; 1: 200 unfinished"},
         {.contents = "1: 1"}},
        {"6.5.3", "a wrong setting counts also if a right one comes behind it",
         settings_of({{setting::enable_push, 2}, {setting::enable_push, 0}}), wrong},
        {"2.1 (RFC 9218)",
         "NO_RFC7540_PRIORITIES of 0 and of 1 is taken",
         std::string(h2::preface) + settings_of({{setting::no_rfc7540_priorities, 1}}),
         {"settings; ack"},
         {.opening = opening::none}},
        {"2.1 (RFC 9218)",
         "NO_RFC7540_PRIORITIES of 2 is a connection error",
         std::string(h2::preface) + settings_of({{setting::no_rfc7540_priorities, 2}}),
         {"settings; GOAWAY PROTOCOL_ERROR"},
         {.opening = opening::none}},
    };
}

table window_cases(client const& one) {
    auto const open = one.post(1);
    auto const end = data(1, client::content, flag::end_stream);
    circumstances const small{.settings = {.window_bytes = 100}, .grants_bodies = false};
    std::vector<std::string> const beyond{"1: RST_STREAM FLOW_CONTROL_ERROR",
                                          "GOAWAY FLOW_CONTROL_ERROR"};
    return {
        {"6.9",
         "WINDOW_UPDATE of the connection is read",
         window_update(0, 1) + one.get(1),
         {"1: 200"}},
        {"6.9", "WINDOW_UPDATE of a stream is read", open + window_update(1, 1) + end, {"1: 200"}},
        {"6.9",
         "the reserved bit of an increment is ignored",
         open + frame(h2_type::window_update, 0, 1, number(0x80000001)) + end,
         {"1: 200"}},
        {"6.9",
         "WINDOW_UPDATE of the connection by nothing is a connection error",
         window_update(0, 0),
         {"GOAWAY PROTOCOL_ERROR"}},
        {"6.9",
         "WINDOW_UPDATE of a stream by nothing is a stream error",
         open + window_update(1, 0),
         {"1: RST_STREAM PROTOCOL_ERROR"}},
        {"6.9",
         "the reserved bit alone is nothing",
         open + frame(h2_type::window_update, 0, 1, number(0x80000000)),
         {"1: RST_STREAM PROTOCOL_ERROR"}},
        {"6.9",
         "WINDOW_UPDATE of three bytes is a connection error",
         frame(h2_type::window_update, 0, 0, "abc"),
         {"GOAWAY FRAME_SIZE_ERROR"}},
        {"6.9",
         "WINDOW_UPDATE of five bytes on a stream is a connection error",
         open + frame(h2_type::window_update, 0, 1, "abcde"),
         {"GOAWAY FRAME_SIZE_ERROR"}},
        {"6.9.1",
         "the connection's window may become 2^31-1",
         window_update(0, window_max - default_window) + one.get(1),
         {"1: 200"}},
        {"6.9.1",
         "the connection's window beyond 2^31-1 is a connection error",
         window_update(0, window_max - default_window) + window_update(0, 1),
         {"GOAWAY FLOW_CONTROL_ERROR"}},
        {"6.9.1",
         "the connection's window far beyond 2^31-1 is a connection error",
         window_update(0, window_max) + window_update(0, window_max),
         {"GOAWAY FLOW_CONTROL_ERROR"}},
        {"6.9.1",
         "a stream's window may become 2^31-1",
         open + window_update(1, window_max - default_window) + end,
         {"1: 200"}},
        {"6.9.1",
         "a stream's window beyond 2^31-1 is a stream error",
         open + window_update(1, window_max - default_window) + window_update(1, 1),
         {"1: RST_STREAM FLOW_CONTROL_ERROR"}},
        {"6.9.1",
         "content as long as its window is taken",
         open + data(1, std::string(100, ' ')),
         {""},
         small},
        {"6.9.1", "content beyond its window is an error", open + data(1, std::string(101, ' ')),
         beyond, small},
        {"6.9.1", "padding counts in the window",
         open + data(1, padded(50, std::string(50, ' ')), flag::padded), beyond, small},
        {"6.9.1",
         "padding within the window is taken",
         open + data(1, padded(50, std::string(49, ' ')), flag::padded),
         {""},
         small},
    };
}

table initial_window_cases(client const& one) {
    std::string const waits = "1: 200 unfinished";
    return {
        {"6.9.1",
         "a response keeps to a window of one byte",
         initial_window(1) + one.get(1),
         {"ack; " + waits},
         {.contents = "1: 1"}},
        {"6.9.1",
         "a response goes on as far as its window opens",
         initial_window(1) + one.get(1) + window_update(1, 1) + window_update(1, 3),
         {"ack; " + waits},
         {.contents = "1: 5"}},
        {"6.9.2",
         "each response has a window of its own",
         initial_window(2) + one.get(1) + one.get(3) + window_update(3, 5),
         {"ack; " + waits + "; 3: 200 unfinished"},
         {.contents = "1: 2; 3: 7"}},
        {"6.9.2",
         "a new initial window opens that of a response that waits",
         initial_window(0) + one.get(1) + initial_window(1),
         {"ack; " + waits + "; ack"},
         {.contents = "1: 1"}},
        {"6.9.2",
         "a new initial window of enough lets a response end",
         initial_window(0) + one.get(1) + initial_window(default_window),
         {"ack; 1: 200; ack"}},
        {"6.9.2",
         "a window may become negative, and opens from there",
         initial_window(3) + one.get(1) + initial_window(2) + window_update(1, 2),
         {"ack; " + waits + "; ack"},
         {.contents = "1: 4"}},
        {"6.9.2",
         "a negative window lets nothing through",
         initial_window(5) + one.get(1) + initial_window(0) + window_update(1, 5),
         {"ack; " + waits + "; ack"},
         {.contents = "1: 5"}},
        {"6.9.2",
         "a negative window opens by a new initial window",
         initial_window(5) + one.get(1) + initial_window(1) + initial_window(6),
         {"ack; " + waits + "; ack; ack"},
         {.contents = "1: 6"}},
        {"6.9.2",
         "an initial window takes a stream's window beyond 2^31-1: a connection error",
         one.post(1) + window_update(1, window_max - default_window) +
             initial_window(default_window + 1),
         {"GOAWAY FLOW_CONTROL_ERROR"}},
        {"6.9.2",
         "an initial window concerns no stream that was reset",
         one.post(1) + window_update(1, window_max - default_window) + reset(1) +
             initial_window(default_window + 1),
         {"ack"}},
        {"6.9.2",
         "an initial window concerns no reset stream whose work goes on",
         headers(1, block({{":method", "DELETE"},
                           {":scheme", "https"},
                           {":authority", "a"},
                           {":path", "/api/v1/users/1"},
                           {"x-api-key", std::string(one.key())}})) +
             window_update(1, window_max - default_window) + reset(1) +
             initial_window(default_window + 1),
         {"ack"},
         {.holds_commits = true}},
        {"6.9.2",
         "the response of HEAD needs no window",
         initial_window(0) + headers(1, block(one.get_fields_but(":method", "HEAD"))),
         {"ack; 1: 200"}},
    };
}

table continuation_cases(client const& one) {
    auto const whole = block(one.get_fields());
    auto const start = headers(1, whole.substr(0, 20), flag::end_stream);
    auto const rest = continuation(1, whole.substr(20));
    std::vector<std::string> const wrong{"GOAWAY PROTOCOL_ERROR"};
    std::string in_nine = headers(1, "", flag::end_stream);
    for (int i = 0; i < 7; ++i) in_nine += continuation(1, "", 0);
    return {
        {"6.10", "a block in two frames is answered", start + rest, {"1: 200"}},
        {"6.10",
         "a block in four frames is answered",
         start + continuation(1, whole.substr(20, 1), 0) +
             continuation(1, whole.substr(21, 30), 0) + continuation(1, whole.substr(51)),
         {"1: 200"}},
        {"6.10",
         "a block whose first frame is empty is answered",
         headers(1, "", flag::end_stream) + continuation(1, whole),
         {"1: 200"}},
        {"6.10",
         "a block whose last frame is empty is answered",
         headers(1, whole, flag::end_stream) + continuation(1, ""),
         {"1: 200"}},
        {"6.10",
         "a block in nine frames is answered",
         in_nine + continuation(1, whole),
         {"1: 200"}},
        {"6.10",
         "padding of HEADERS is no part of a block that goes on",
         headers(1, padded(6, whole.substr(0, 20)), flag::end_stream | flag::padded) + rest,
         {"1: 200"}},
        {"6.10",
         "flags without meaning on CONTINUATION are ignored",
         headers(1, block(one.post_fields()).substr(0, 20), 0) +
             continuation(1, block(one.post_fields()).substr(20), flag::end_headers | 0xfb) +
             data(1, client::content, flag::end_stream),
         {"1: 200"}},
        {"6.10",
         "trailers in two frames are read",
         one.post(1) + data(1, client::content) +
             headers(1, literal("x", "y").substr(0, 2), flag::end_stream) +
             continuation(1, literal("x", "y").substr(2)),
         {"1: 200"}},
        {"6.10", "CONTINUATION on the connection is a connection error",
         start + continuation(0, whole.substr(20)), wrong},
        {"6.10", "CONTINUATION of another stream is a connection error",
         start + continuation(3, whole.substr(20)), wrong},
        {"6.10",
         "CONTINUATION behind a whole block is a connection error",
         one.get(1) + continuation(1, whole),
         {"1: 200; GOAWAY PROTOCOL_ERROR"}},
        {"6.10",
         "CONTINUATION behind a block that went on is a connection error",
         start + rest + continuation(1, whole),
         {"1: 200; GOAWAY PROTOCOL_ERROR"}},
        {"6.10", "CONTINUATION behind DATA is a connection error",
         one.post(1) + data(1, "{") + continuation(1, whole), wrong},
        {"10.5",
         "a block that does not end is a connection error",
         in_nine + continuation(1, "", 0) + continuation(1, "", 0),
         {"GOAWAY ENHANCE_YOUR_CALM"}},
    };
}

}  // namespace latchkey::session::conformance
