// What a worker that has too much in hand says instead of serving (API §10): at once, before it
// looks at the key, and never to those that only ask whether the service lives.
#include "api/route.hpp"
#include "harness.hpp"

namespace latchkey::api {
namespace {

class overload : public api_test {
  protected:
    // The answer of turn_away, or nothing where it leaves the request to `begin`.
    std::optional<http::response> turn_away(std::string_view line, lines const& fields = {}) {
        bytes_ = request_text(line, fields);
        http::parser parser(at.http_limits);
        request_.clear();
        EXPECT_EQ(parser.read_head(bytes_, request_, framing_).state, http::step::state::complete);
        http::response answer;
        if (!at.exchange.turn_away(at.desk(), request_, at.from, answer)) return std::nullopt;
        return answer;
    }

    std::string bytes_;
    http::request request_;
    http::framing framing_;
};

TEST_F(overload, is_said_with_the_time_to_wait) {
    auto const answer =
        turn_away("GET /api/v1/users", {bearer(at.key), "X-Request-Id: mine-12345"});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 503);
    EXPECT_EQ(answer->code, base::problem::overloaded);
    EXPECT_EQ(answer->content_type, http::content::problem);
    EXPECT_EQ(answer->find("Retry-After"), "1");
    EXPECT_EQ(answer->find("X-Request-Id"), "mine-12345");
    EXPECT_EQ(answer->find("Cache-Control"), "no-store");
    EXPECT_NE(answer->body.find(R"("code":"overloaded")"), std::string::npos);
    EXPECT_FALSE(answer->close) << "the next one may fare better";
    EXPECT_EQ(at.exchange.request_id(), "mine-12345");
    EXPECT_EQ(at.exchange.route(), "/api/v1/users");
}

// A flood must not be cheaper to send with a good key, nor tell good keys from bad.
TEST_F(overload, looks_at_no_key_and_charges_none) {
    auto const key = at.add_key({"*"}, {.rate_limits = {{"minute", 2, 60, 0}}});
    for (auto const& fields : {lines{bearer(key)}, lines{bearer("rubbish")}, lines{}}) {
        auto const answer = turn_away("POST /api/v1/users", fields);
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->status, 503);
        EXPECT_EQ(answer->find("RateLimit"), "");
        EXPECT_EQ(answer->find("WWW-Authenticate"), "");
        EXPECT_EQ(at.exchange.key_id(), 0);
    }
    EXPECT_TRUE(at.uses().empty());
    EXPECT_EQ(at.ask_bare("GET /api/v1/users", {}, {bearer(key)}).field("RateLimit"),
              R"("minute";r=1;t=30)");
}

TEST_F(overload, wipes_the_key_all_the_same) {
    for (auto const& [line, fields] :
         {std::pair{"GET /api/v1/users", lines{bearer(at.key)}},
          std::pair{"GET /api/v1/users", lines{"X-API-Key: " + at.key}}}) {
        ASSERT_TRUE(turn_away(line, fields));
        EXPECT_EQ(bytes_.find(at.key), std::string::npos);
    }
    ASSERT_TRUE(turn_away("GET /api/v1/users?api_key=" + at.key));
    EXPECT_EQ(bytes_.find(at.key), std::string::npos);
}

// Unknown paths too: who has no key learns nothing.
TEST_F(overload, refuses_everything_that_needs_a_key) {
    for (auto const* const line :
         {"GET /api/v1/users/1", "DELETE /api/v1/users/1", "OPTIONS /api/v1/users", "GET /users",
          "GET /nothing", "GET /auth", "POST /api/v1/keys/verify", "HEAD /api/v1/posts"}) {
        auto const answer = turn_away(line);
        ASSERT_TRUE(answer) << line;
        EXPECT_EQ(answer->status, 503) << line;
    }
}

TEST_F(overload, leaves_the_open_paths_alone) {
    for (auto const& each : routes()) {
        if (!std::holds_alternative<open>(each.run)) continue;
        auto path = std::string(each.pattern);
        if (auto const i = path.find("{code}"); i != path.npos) path.replace(i, 6, "overloaded");
        EXPECT_FALSE(turn_away("GET " + path)) << path;
        // The same exchange then serves it.
        EXPECT_EQ(at.ask_bare("GET " + path).status, 200) << path;
    }
    EXPECT_FALSE(turn_away("GET /healthz", {bearer(at.key)}));
}

}  // namespace
}  // namespace latchkey::api
