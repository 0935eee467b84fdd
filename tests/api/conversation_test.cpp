// The answers to a byte string are the same however it is cut, whatever part of a request it ends
// in or goes wrong in.
#include "conversation.hpp"

namespace latchkey::api {
namespace {

class conversation_test : public api_test {
  protected:
    std::string answers_to(std::string_view bytes, std::size_t cut) {
        at.desk().random = 42;
        conversation with(at);
        with.receive(bytes.substr(0, cut));
        with.receive(bytes.substr(cut));
        return with.answers();
    }
    // Those to the bytes in one piece.
    std::string answers_every_way(std::string const& bytes) {
        auto const whole = answers_to(bytes, bytes.size());
        for (std::size_t cut = 0; cut < bytes.size(); ++cut)
            EXPECT_EQ(answers_to(bytes, cut), whole) << cut;
        return whole;
    }
    lines with_key() const { return {bearer(at.key)}; }
};

std::vector<int> statuses(std::string_view answers) {
    std::vector<int> all;
    constexpr std::string_view begin = "HTTP/1.1 ";
    for (auto i = answers.find(begin); i != answers.npos; i = answers.find(begin, i + 1))
        all.push_back(std::stoi(std::string(answers.substr(i + begin.size(), 3))));
    return all;
}

TEST_F(conversation_test, pipelined_requests) {
    auto const user = std::to_string(at.add_user());
    auto const bytes = request_text("GET /api/v1/users/" + user, with_key()) +
                       request_text("HEAD /api/v1/users/" + user, with_key()) +
                       request_text("POST /api/v1/keys/verify", with_key(), R"({"key":"0"})") +
                       in_chunks("POST /api/v1/keys/verify", with_key(), R"({"key":"0"})") +
                       request_text("DELETE /api/v1/users/0", with_key()) +
                       request_text("GET /healthz");
    EXPECT_EQ(statuses(answers_every_way(bytes)), (std::vector{200, 200, 200, 200, 404, 200}));
}

TEST_F(conversation_test, a_body_that_nobody_reads) {
    auto const bytes = request_text("POST /api/v1/users", {}, "GET / HTTP/1.1\r\n\r\n") +
                       in_chunks("PUT /api/v1/users/1", {}, "GET / HTTP/1.1\r\n\r\n") +
                       request_text("GET /healthz");
    EXPECT_EQ(statuses(answers_every_way(bytes)), (std::vector{401, 401, 200}));
}

TEST_F(conversation_test, nothing_is_answered_behind_the_end) {
    auto const next = request_text("GET /healthz");
    auto fields = with_key();
    fields.insert(fields.end(), {"Content-Type: application/json", "Transfer-Encoding: chunked"});
    struct {
        std::string bytes;
        int status;
    } const endings[] = {
        {request_text("GET /healthz", {"Connection: close"}), 200},
        {"GET /healthz HTTP/1.1\r\n\r\n", 400},
        {request_text("POST /api/v1/users", fields) + "0\n\n", 400},
        {request_text("PUT /healthz", {"Transfer-Encoding: chunked"}) + "0\n\n", 405},
    };
    for (auto const& one : endings)
        EXPECT_EQ(statuses(answers_every_way(one.bytes + next)), std::vector{one.status})
            << one.bytes;
}

// A body that is too long for what it is meant for, and then no body at all: which of both is said
// must not depend on how much of it came at once.
TEST_F(conversation_test, too_long_and_then_malformed) {
    std::string const line = "POST /api/v1/events/a_source";
    auto bytes = in_chunks(line, with_key(), std::string(base::limits::event_bytes_max + 1, ' '));
    bytes.replace(bytes.size() - 5, 5, "no chunk\r\n");
    auto const whole = answers_to(bytes, bytes.size());
    EXPECT_EQ(statuses(whole), std::vector{413});
    for (std::size_t back = 1; back < 9000; back += 7)
        ASSERT_EQ(answers_to(bytes, bytes.size() - back), whole) << back;
}

}  // namespace
}  // namespace latchkey::api
