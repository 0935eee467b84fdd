// RFC 9113 §5.1: what each state of a stream allows, the numbers of streams, and how many there may
// be at once.
#include "http2_conformance.hpp"

namespace latchkey::session::conformance {

using namespace script;

namespace {
std::vector<std::string> const closed_stream{"GOAWAY STREAM_CLOSED", "1: RST_STREAM STREAM_CLOSED"};
}

table idle_stream_cases(client const& one) {
    std::vector<std::string> const wrong{"GOAWAY PROTOCOL_ERROR"},
        wrong_later{"3: 200; GOAWAY PROTOCOL_ERROR"};
    return {
        {"5.1", "DATA on an idle stream is a connection error", data(1, "x", flag::end_stream),
         wrong},
        {"5.1", "RST_STREAM on an idle stream is a connection error", reset(1), wrong},
        {"5.1", "WINDOW_UPDATE on an idle stream is a connection error", window_update(1, 100),
         wrong},
        {"5.1", "CONTINUATION on an idle stream is a connection error",
         continuation(1, block(one.get_fields())), wrong},
        {"5.1",
         "PRIORITY on an idle stream is nothing wrong",
         priority(1, 0) + one.get(1),
         {"1: 200"}},
        {"5.1", "DATA on an idle stream above an open one is a connection error",
         one.get(3) + data(5, "x"), wrong_later},
        {"5.1", "DATA on a stream of the server is a connection error", one.get(3) + data(2, "x"),
         wrong_later},
        {"5.1", "RST_STREAM on a stream of the server is a connection error", one.get(3) + reset(2),
         wrong_later},
        {"5.1", "WINDOW_UPDATE on a stream of the server is a connection error",
         one.get(3) + window_update(2, 1), wrong_later},
        {"5.1",
         "PRIORITY on a stream of the server is nothing wrong",
         one.get(3) + priority(2, 0),
         {"3: 200"}},
        {"5.1",
         "PRIORITY of a wrong size on a stream of the server is a connection error",
         one.get(3) + frame(h2_type::priority, 0, 2, "abcd"),
         {"3: 200; GOAWAY FRAME_SIZE_ERROR"}},
    };
}

// The client has sent all, and the response waits for its window.
table half_closed_stream_cases(client const& one) {
    auto const waiting = settings_of({{setting::initial_window_size, 0}}) + one.get(1);
    std::string const response = "ack; 1: 200", reset_later = "; 1: RST_STREAM STREAM_CLOSED";
    return {
        {"5.1",
         "a stream whose client has sent all waits for its window",
         waiting,
         {"ack; 1: 200 unfinished"},
         {.contents = "1: 0"}},
        {"5.1",
         "DATA on a half closed stream is a stream error",
         waiting + data(1, "x", flag::end_stream),
         {response + reset_later}},
        {"5.1",
         "HEADERS on a half closed stream are a stream error",
         waiting + one.get(1),
         {response + reset_later}},
        {"5.1",
         "CONTINUATION on a half closed stream is a connection error",
         waiting + continuation(1, block(one.get_fields())),
         {"ack; 1: 200 unfinished; GOAWAY PROTOCOL_ERROR"}},
        {"5.1",
         "WINDOW_UPDATE on a half closed stream opens its window",
         waiting + window_update(1, 10'000),
         {"ack; 1: 200"}},
        {"5.1",
         "PRIORITY on a half closed stream is nothing wrong",
         waiting + priority(1, 0) + window_update(1, 10'000),
         {"ack; 1: 200"}},
        {"5.1",
         "RST_STREAM on a half closed stream ends it",
         waiting + reset(1) + window_update(1, 10'000),
         {"ack; 1: 200 unfinished"},
         {.contents = "1: 0"}},
        {"5.1",
         "a request under way takes no further DATA",
         headers(1,
                 block({{":method", "PUT"},
                        {":scheme", "https"},
                        {":authority", "a"},
                        {":path", "/api/v1/users/1"},
                        {"content-type", "application/json"},
                        {"x-api-key", std::string(one.key())}}),
                 whole_block) +
             data(1, R"({"name":"Ada","email":"ada@example.com"})", flag::end_stream) +
             data(1, "x"),
         {"1: RST_STREAM STREAM_CLOSED"},
         {.holds_commits = true}},
    };
}

table closed_stream_cases(client const& one) {
    auto const answered = one.get(1), abandoned = one.post(1) + reset(1);
    auto const refusal = one.post(1) + window_update(1, 0);
    auto const further = block(one.get_fields());
    std::vector<std::string> const after_answer{"1: 200; GOAWAY STREAM_CLOSED",
                                                "1: 200; 1: RST_STREAM STREAM_CLOSED"};
    return {
        {"5.1", "DATA on a stream that has ended is an error",
         answered + data(1, "x", flag::end_stream), after_answer},
        {"5.1",
         "HEADERS on a stream that has ended are a connection error",
         answered + one.get(1),
         {"1: 200; GOAWAY STREAM_CLOSED"}},
        {"5.1",
         "CONTINUATION on a stream that has ended is a connection error",
         answered + continuation(1, further),
         {"1: 200; GOAWAY PROTOCOL_ERROR", "1: 200; GOAWAY STREAM_CLOSED"}},
        {"5.1",
         "PRIORITY on a stream that has ended is nothing wrong",
         answered + priority(1, 0),
         {"1: 200"}},
        {"5.1",
         "WINDOW_UPDATE on a stream that has ended is nothing wrong",
         answered + window_update(1, 100),
         {"1: 200"}},
        {"5.1",
         "RST_STREAM on a stream that has ended is nothing wrong",
         answered + reset(1),
         {"1: 200"}},
        {"5.1", "DATA on a stream that its client reset is an error",
         abandoned + data(1, "x", flag::end_stream), closed_stream},
        {"5.1", "HEADERS on a stream that its client reset are an error", abandoned + one.get(1),
         closed_stream},
        {"5.1",
         "CONTINUATION on a stream that its client reset is a connection error",
         abandoned + continuation(1, further),
         {"GOAWAY PROTOCOL_ERROR", "GOAWAY STREAM_CLOSED"}},
        {"5.1",
         "PRIORITY on a stream that its client reset is nothing wrong",
         abandoned + priority(1, 0),
         {""}},
        {"5.1",
         "DATA on a stream that the server reset is ignored",
         refusal + data(1, "x", flag::end_stream),
         {"1: RST_STREAM PROTOCOL_ERROR"}},
        {"5.1",
         "trailers on a stream that the server reset are ignored",
         refusal + headers(1, literal("x", "y")),
         {"1: RST_STREAM PROTOCOL_ERROR"}},
        {"5.1",
         "WINDOW_UPDATE on a stream that the server reset is ignored",
         refusal + window_update(1, 100),
         {"1: RST_STREAM PROTOCOL_ERROR"}},
        {"5.1",
         "RST_STREAM on a stream that the server reset is ignored",
         refusal + reset(1),
         {"1: RST_STREAM PROTOCOL_ERROR"}},
        {"5.1",
         "PRIORITY on a stream that the server reset is ignored",
         refusal + priority(1, 0),
         {"1: RST_STREAM PROTOCOL_ERROR"}},
    };
}

table stream_number_cases(client const& one) {
    std::vector<std::string> const wrong{"GOAWAY PROTOCOL_ERROR"};
    return {
        {"5.1.1", "a request on an even stream is a connection error", one.get(2), wrong},
        {"5.1.1", "a request on stream 0 is a connection error", one.get(0), wrong},
        {"5.1.1",
         "a request below an earlier one is a connection error",
         one.get(5) + one.get(3),
         {"5: 200; GOAWAY PROTOCOL_ERROR"}},
        {"5.1.1",
         "a request far below an earlier one is a connection error",
         one.get(1001) + one.get(901),
         {"1001: 200; GOAWAY PROTOCOL_ERROR"}},
        {"5.1.1", "a request below an open stream is a connection error",
         one.post(1) + one.post(7) + one.get(5), wrong},
        {"5.1.1",
         "the same stream twice is a connection error",
         one.get(1) + one.get(3) + one.get(1),
         {"1: 200; 3: 200; GOAWAY STREAM_CLOSED"}},
        {"5.1.1",
         "numbers may be left out",
         one.get(1) + one.get(41) + one.get(97),
         {"1: 200; 41: 200; 97: 200"}},
        {"5.1.1",
         "the last number of all serves a request",
         one.get(0x7fffffff),
         {"2147483647: 200"},
         {.next_stream = 0}},
        {"5.1.1",
         "a number that was left out cannot be written to",
         one.get(5) + data(3, "x"),
         {"5: 200; GOAWAY STREAM_CLOSED", "5: 200; GOAWAY PROTOCOL_ERROR"}},
    };
}

table concurrency_cases(client const& one) {
    std::vector<std::string> const third{"5: RST_STREAM REFUSED_STREAM",
                                         "5: RST_STREAM PROTOCOL_ERROR"};
    circumstances const two{.next_stream = 0, .settings = {.streams_max = 2}};
    auto const end = [](std::uint32_t stream) {
        return data(stream, client::content, flag::end_stream);
    };
    return {
        {"5.1.2", "a stream beyond the limit is a stream error",
         one.post(1) + one.post(3) + one.get(5), third, two},
        {"5.1.2",
         "a refused stream leaves the others as they were",
         one.post(1) + one.post(3) + one.post(5) + end(5) + end(3) + end(1),
         {"5: RST_STREAM REFUSED_STREAM; 3: 200; 1: 200"},
         {.settings = {.streams_max = 2}}},
        {"5.1.2",
         "a stream that ends makes room",
         one.post(1) + one.post(3) + end(1) + one.whole_post(5) + end(3),
         {"1: 200; 5: 200; 3: 200"},
         {.settings = {.streams_max = 2}}},
        {"5.1.2",
         "a stream that its client resets makes room",
         one.post(1) + one.post(3) + reset(1) + one.get(5),
         {"5: 200"},
         {.settings = {.streams_max = 2}}},
        {"5.1.2",
         "as many as the limit are served",
         one.post(1) + one.post(3) + end(1) + end(3),
         {"1: 200; 3: 200"},
         {.settings = {.streams_max = 2}}},
        {"5.1.2",
         "idle streams with a priority do not count",
         priority(1, 0) + priority(3, 0) + priority(5, 0) + one.get(7),
         {"7: 200"},
         {.settings = {.streams_max = 1}}},
    };
}

}  // namespace latchkey::session::conformance
