// Whole connections: which responses a byte string gets and whether the connection goes on, which
// must not depend on how the bytes are cut, whatever part of a request a piece ends in.
#include "conversation.hpp"

#include <ostream>
#include <vector>

namespace latchkey::session {
namespace {

using api::in_chunks;
using api::lines;
using api::request_text;

// The responses as "STATUS code connection", without what is absent, and whether the end followed.
struct course {
    std::vector<std::string> responses;
    bool closed = false;

    bool operator==(course const&) const = default;
};

std::ostream& operator<<(std::ostream& output, course const& value) {
    for (auto const& response : value.responses) output << "\n  " << response;
    return output << (value.closed ? "\n  and the end" : "\n  and goes on");
}

std::string text_between(std::string_view text, std::string_view mark, char end) {
    auto const position = text.find(mark);
    if (position == text.npos) return {};
    auto const begin = position + mark.size();
    return std::string(text.substr(begin, text.find(end, begin) - begin));
}

std::vector<std::string> responses_in(std::string_view output) {
    constexpr std::string_view mark = "HTTP/1.1 ";
    std::vector<std::string> all;
    for (auto begin = output.find(mark); begin != output.npos;) {
        auto const next = output.find(mark, begin + 1);
        auto const one = output.substr(begin, next == output.npos ? next : next - begin);
        begin = next;
        all.emplace_back(one.substr(mark.size(), 3));
        for (auto const& part :
             {text_between(one, "\"code\":\"", '"'), text_between(one, "\r\nConnection: ", '\r')})
            if (!part.empty()) all.back() += ' ' + part;
    }
    return all;
}

course goes_on(std::vector<std::string> responses) {
    return {std::move(responses), false};
}
course ends(std::vector<std::string> responses) {
    return {std::move(responses), true};
}

class conversation_test : public api::api_test {
  protected:
    struct result {
        std::string output;
        bool closed;

        bool operator==(result const&) const = default;
    };
    result receive(std::string_view bytes, std::size_t cut) {
        service.services().random = 42;
        conversation client(service);
        client.receive(bytes.substr(0, cut));
        client.receive(bytes.substr(cut));
        return {client.output(), client.closed()};
    }
    // The same wherever the bytes are cut in two.
    course outcome(std::string const& bytes) {
        auto const whole = receive(bytes, bytes.size());
        for (std::size_t cut = 0; cut < bytes.size(); ++cut)
            EXPECT_EQ(receive(bytes, cut).output, whole.output) << cut;
        return {responses_in(whole.output), whole.closed};
    }
    // Cut where it matters, with one more request behind, which is served, dropped, or taken for a
    // part of the first. `{key}` stands for the key.
    void expect(std::string text, course const& expected) {
        auto bytes = text + request_text("GET /healthz");
        for (std::size_t i; (i = bytes.find("{key}")) != bytes.npos;)
            bytes.replace(i, 5, service.key);
        auto const head = bytes.find("\r\n\r\n");
        auto const whole = receive(bytes, bytes.size());
        EXPECT_EQ((course{responses_in(whole.output), whole.closed}), expected)
            << text.substr(0, 300);
        for (std::size_t const cut : {std::size_t{0}, head + 4, bytes.size() - 30, head - 1})
            if (cut < bytes.size())
                EXPECT_EQ(receive(bytes, cut), whole)
                    << "cut at " << cut << ": " << text.substr(0, 300);
    }
    lines with_key() const { return {api::bearer(service.key)}; }
};

lines const key{"X-API-Key: {key}"};

lines key_and(std::string field) {
    return {key[0], std::move(field)};
}

TEST_F(conversation_test, pipelined_requests) {
    auto const user = std::to_string(service.add_user());
    auto const bytes = request_text("GET /api/v1/users/" + user, with_key()) +
                       request_text("HEAD /api/v1/users/" + user, with_key()) +
                       request_text("POST /api/v1/keys/verify", with_key(), R"({"key":"0"})") +
                       in_chunks("POST /api/v1/keys/verify", with_key(), R"({"key":"0"})") +
                       request_text("DELETE /api/v1/users/0", with_key()) +
                       request_text("GET /healthz");
    auto const all = outcome(bytes);
    ASSERT_EQ(all.responses.size(), 6u);
    EXPECT_EQ(all.responses[4], "404 not_found");
    for (std::size_t const i : {0u, 1u, 2u, 3u, 5u})
        EXPECT_TRUE(all.responses[i].starts_with("200")) << all.responses[i];
}

TEST_F(conversation_test, a_body_that_is_not_read) {
    auto const bytes = request_text("POST /api/v1/users", {}, "GET / HTTP/1.1\r\n\r\n") +
                       in_chunks("PUT /api/v1/users/1", {}, "GET / HTTP/1.1\r\n\r\n") +
                       request_text("GET /healthz");
    EXPECT_EQ(outcome(bytes), goes_on({"401 key_missing", "401 key_missing", "200"}));
}

TEST_F(conversation_test, nothing_is_answered_behind_the_end) {
    auto const next = request_text("GET /healthz");
    auto fields = with_key();
    fields.insert(fields.end(), {"Content-Type: application/json", "Transfer-Encoding: chunked"});
    struct {
        std::string bytes;
        std::string response;
    } const endings[] = {
        {request_text("GET /healthz", {"Connection: close"}), "200 close"},
        {"GET /healthz HTTP/1.1\r\n\r\n", "400 malformed_request close"},
        {request_text("POST /api/v1/users", fields) + "0\n\n", "400 malformed_request close"},
        {request_text("PUT /healthz", {"Transfer-Encoding: chunked"}) + "0\n\n",
         "405 method_not_allowed"},
    };
    for (auto const& one : endings)
        EXPECT_EQ(outcome(one.bytes + next), ends({one.response})) << one.bytes;
}

// A body that is too long for its route, and then no body at all: which of both is answered must
// not depend on how much of it arrived at once.
TEST_F(conversation_test, too_long_and_then_malformed) {
    std::string const line = "POST /api/v1/events/a_source";
    auto bytes = in_chunks(line, with_key(), std::string(base::limits::event_bytes_max + 1, ' '));
    bytes.replace(bytes.size() - 5, 5, "no chunk\r\n");
    auto const whole = receive(bytes, bytes.size());
    EXPECT_EQ(responses_in(whole.output), std::vector<std::string>{"413 body_too_large close"});
    for (std::size_t back = 1; back < 9000; back += 7)
        ASSERT_EQ(receive(bytes, bytes.size() - back), whole) << back;
}

TEST_F(conversation_test, requests_without_a_body) {
    service.add_user("Ada Lovelace", "ada@example.com");
    struct {
        char const* line;
        char const* response;
    } const requests[] = {
        {"GET /api/v1/users/1", "200"},
        {"HEAD /api/v1/users/1", "200"},
        {"GET /api/v1/users/9", "404 not_found"},
        {"GET /nothing", "404 route_not_found"},
        {"OPTIONS *", "204"},
    };
    for (auto const& each : requests) {
        std::string const response = each.response;
        expect(request_text(each.line, key), goes_on({response, "200"}));
        expect(request_text(each.line, key_and("Connection: close")), ends({response + " close"}));
    }
    for (auto const& fields : {key, key_and("Connection: close")})
        expect(request_text(std::string(33, 'M') + " /healthz", fields),
               ends({"501 method_not_implemented close"}));
    for (auto const* const method : {"QUERY", "BREW", "get"})
        expect(request_text(std::string(method) + " /healthz"),
               goes_on({"405 method_not_allowed", "200"}));
    expect("GET /healthz HTTP/1.0\r\n\r\n", ends({"200 close"}));
    expect("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
           goes_on({"200 keep-alive", "200"}));
    expect("GET /healthz HTTP/1.1\r\n\r\n", ends({"400 malformed_request close"}));
    expect("HEAD /healthz HTTP/1.1\r\n\r\n", ends({"400 close"}));
    expect("\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", goes_on({"200", "200"}));
    expect("hello\r\n\r\n", ends({"400 malformed_request close"}));
    expect(request_text("GET /" + std::string(9000, 'x')), ends({"414 uri_too_long close"}));
    expect(request_text("GET /healthz", {"X: " + std::string(17000, 'x')}),
           ends({"431 headers_too_large close"}));
}

TEST_F(conversation_test, bodies_that_are_read) {
    service.add_user("Ada Lovelace", "ada@example.com");
    auto const user =
        service.request("POST /api/v1/users", R"({"name":"Bob","email":"bob@example.com"})");
    ASSERT_EQ(user.status, 201);
    std::string const body = R"({"name":"Bob","email":"bob@example.com"})";
    std::string const conflict = "409 email_taken";
    auto const path = "POST /api/v1/users";
    expect(request_text(path, key, body), goes_on({conflict, "200"}));
    expect(request_text(path, key, body) +
               request_text("GET /api/v1/users/" + std::to_string(user.id()), key),
           goes_on({conflict, "200", "200"}));
    expect(in_chunks(path, key, body), goes_on({conflict, "200"}));
    expect(request_text(path, key, "no json"), goes_on({"400 invalid_json", "200"}));
    expect(request_text(path, key_and("Connection: close"), body), ends({conflict + " close"}));
    expect(request_text(path, key_and("Expect: 100-continue"), body), goes_on({conflict, "200"}));
    expect(request_text(path, key_and("Expect: a miracle"), body),
           ends({"417 expectation_failed close"}));
    expect(request_text(path, key_and("Content-Type: text/plain"), body),
           goes_on({"415 unsupported_media_type", "200"}));
    // Its first byte decides, whatever comes behind it.
    for (auto const* const rest : {"0\r\n\r\n", "200000\r\n", "ZZ\r\n"})
        expect(request_text(path, key_and("Transfer-Encoding: chunked\r\n"
                                          "Content-Type: text/plain")) +
                   "5\r\nabcde\r\n" + rest,
               ends({"415 unsupported_media_type close"}));
    auto const chunked = key_and("Transfer-Encoding: chunked\r\nContent-Type: application/json");
    std::string const malformed = "400 malformed_request close";
    struct {
        char const* body;
        course expected;
    } const bodies[] = {
        {"0\n\n", ends({malformed})},
        {"zz\r\n", ends({malformed})},
        {"2\r\n{}x", ends({malformed})},
        {"2\r\n{}\r\n0\r\nTrailer: x\r\n\r\n", goes_on({"422 validation_failed", "200"})},
        {"2;a=b\r\n{}\r\n0\r\n\r\n", goes_on({"422 validation_failed", "200"})},
        {"ffffffff\r\n", ends({"413 body_too_large close"})},
    };
    for (auto const& each : bodies) expect(request_text(path, chunked) + each.body, each.expected);
}

TEST_F(conversation_test, a_write_is_committed_once_and_answered) {
    auto const text = request_text("POST /api/v1/users", with_key(),
                                   R"({"name":"Eve","email":"eve@example.com"})") +
                      request_text("GET /healthz");
    conversation client(service);
    client.receive(text);
    EXPECT_EQ(responses_in(client.output()), (std::vector<std::string>{"201", "200"}));
    EXPECT_TRUE(client.committed());
}

TEST_F(conversation_test, bodies_that_are_too_long) {
    auto const path = "POST /api/v1/events/a_source";
    std::string const body(base::limits::event_bytes_max + 1, ' ');
    auto const refusal = ends({"413 body_too_large close"});
    expect(request_text(path, key, body), refusal);
    expect(in_chunks(path, key, body), refusal);
    expect(request_text(path, key_and("Expect: 100-continue"), body), refusal);
    expect(request_text("POST /api/v1/users", key, std::string(1100 * 1024, ' ')), refusal);
    expect(request_text("POST /api/v1/users", key_and("Content-Length: 9999999")), refusal);
}

TEST_F(conversation_test, bodies_that_are_answered_without_being_read) {
    auto const hidden = request_text("GET /api/v1/users/1");
    struct {
        char const* line;
        std::string response;
    } const requests[] = {{"PUT /api/v1/users/1", "401 key_missing"},
                          {"PUT /healthz", "405 method_not_allowed"},
                          {"POST /nothing", "401 key_missing"}};
    for (auto const& each : requests) {
        // A credential may be in the body of a POST, which is read for that.
        bool const is_read = std::string_view(each.line).starts_with("POST");
        expect(request_text(each.line, {}, hidden), goes_on({each.response, "200"}));
        expect(in_chunks(each.line, {}, hidden), goes_on({each.response, "200"}));
        expect(request_text(each.line, {"Expect: 100-continue"}, hidden),
               is_read ? goes_on({each.response, "200"}) : ends({each.response + " close"}));
        expect(request_text(each.line, {"Transfer-Encoding: chunked"}) + "no chunk\r\n",
               ends({is_read ? "400 malformed_request close" : each.response}));
        expect(request_text(each.line, {"Connection: close"}, hidden),
               ends({each.response + " close"}));
    }
    constexpr auto most = base::limits::skipped_body_bytes_max;
    std::string const response = "405 method_not_allowed";
    for (bool const chunked : {false, true}) {
        auto const text = chunked ? in_chunks : request_text;
        auto const line = "PUT /healthz";
        expect(text(line, {}, std::string(most, ' ')), goes_on({response, "200"}));
        expect(text(line, {}, std::string(most + 1, ' ')),
               ends({chunked ? response : response + " close"}));
    }
}

// A gateway passes on what its client said of a body, and often nothing of the body.
TEST_F(conversation_test, what_a_gateway_asks_has_no_body) {
    auto const next = request_text("GET /auth", with_key());
    for (auto const* const line : {"GET /auth", "POST /auth", "QUERY /auth", "DELETE /auth/-/x"})
        for (auto const* const announced :
             {"Content-Length: 5", "Content-Length: 9999999", "Transfer-Encoding: chunked"}) {
            conversation client(service);
            client.receive(request_text(line, {with_key()[0], announced}));
            EXPECT_EQ(responses_in(client.output()), std::vector<std::string>{"200 close"})
                << line << announced;
            EXPECT_TRUE(client.closed());
        }
    conversation client(service);
    client.receive(request_text("POST /auth", with_key(), "{}") + next + next);
    EXPECT_EQ(responses_in(client.output()), (std::vector<std::string>{"200", "200", "200"}));
}

TEST_F(conversation_test, empty_lines_are_no_request) {
    for (auto const* const lines : {"\r", "\r\n", "\r\n\r\n"}) {
        conversation client(service);
        client.receive(request_text("GET /healthz") + lines);
        client.wake();
        EXPECT_EQ(responses_in(client.output()), std::vector<std::string>{"200"});
        EXPECT_TRUE(client.closed());
        conversation idle(service);
        idle.receive(lines);
        idle.wake();
        EXPECT_EQ(idle.output(), "");
        EXPECT_TRUE(idle.closed());
    }
    conversation client(service);
    client.receive(request_text("GET /healthz") + "\r\nG");
    client.wake();
    EXPECT_EQ(responses_in(client.output()),
              (std::vector<std::string>{"200", "408 request_timeout close"}));
}

}  // namespace
}  // namespace latchkey::session
