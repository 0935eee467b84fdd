// Load shedding (api.md §10): an overloaded worker refuses before it reads the key, except for
// health checks.
#include "../harness.hpp"
#include "api/frame/route.hpp"

namespace latchkey::api {
namespace {

class overload : public api_test {
  protected:
    // The response of turn_away; nullopt if it leaves the request to `begin`.
    std::optional<http::response> turn_away(std::string_view line, lines const& fields = {}) {
        bytes_ = request_text(line, fields);
        http::parser parser(service.http_limits);
        request_.clear();
        EXPECT_EQ(parser.read_head(bytes_, request_, framing_).state,
                  http::step::progress::complete);
        http::response answer;
        if (!service.exchange.turn_away(service.services(), request_, service.peer, answer))
            return std::nullopt;
        return answer;
    }

    std::string bytes_;
    http::request request_;
    http::framing framing_;
};

TEST_F(overload, is_answered_with_retry_after) {
    auto const answer =
        turn_away("GET /api/v1/users", {bearer(service.key), "X-Request-Id: mine-12345"});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 503);
    EXPECT_EQ(answer->code, base::problem::overloaded);
    EXPECT_EQ(answer->content_type, http::content::problem);
    EXPECT_EQ(answer->find("Retry-After"), "1");
    EXPECT_EQ(answer->find("X-Request-Id"), "mine-12345");
    EXPECT_EQ(answer->find("Cache-Control"), "no-store");
    EXPECT_NE(answer->body.find(R"("code":"overloaded")"), std::string::npos);
    EXPECT_FALSE(answer->close) << "the next one may fare better";
    EXPECT_EQ(service.exchange.request_id(), "mine-12345");
    EXPECT_EQ(service.exchange.route(), "/api/v1/users");
}

// For a request that was not parsed, with Retry-After too.
TEST_F(overload, is_answered_with_retry_after_when_nothing_was_read) {
    for (auto const problem : {base::problem::overloaded, base::problem::request_timeout,
                               base::problem::malformed_request}) {
        http::response answer;
        std::string id;
        refuse_unparsed(service.services(), service.peer, problem, "", answer, id);
        EXPECT_EQ(answer.code, problem);
        EXPECT_EQ(answer.find("Retry-After"), problem == base::problem::overloaded ? "1" : "");
        EXPECT_EQ(answer.find("X-Request-Id"), id);
        EXPECT_TRUE(answer.close);
    }
}

// A flood with a valid key must not be served, and the refusal must not tell valid keys from
// others.
TEST_F(overload, reads_no_key_and_charges_none) {
    auto const key = service.add_key({"*"}, {.rate_limits = {{"minute", 2, 60, 0}}});
    for (auto const& fields : {lines{bearer(key)}, lines{bearer("rubbish")}, lines{}}) {
        auto const answer = turn_away("POST /api/v1/users", fields);
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->status, 503);
        EXPECT_EQ(answer->find("RateLimit"), "");
        EXPECT_EQ(answer->find("WWW-Authenticate"), "");
        EXPECT_EQ(service.exchange.key_id(), 0);
    }
    EXPECT_TRUE(service.uses().empty());
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {bearer(key)}).field("RateLimit"),
              R"("minute";r=1;t=30)");
}

TEST_F(overload, wipes_the_key_nevertheless) {
    for (auto const& [line, fields] :
         {std::pair{"GET /api/v1/users", lines{bearer(service.key)}},
          std::pair{"GET /api/v1/users", lines{"X-API-Key: " + service.key}}}) {
        ASSERT_TRUE(turn_away(line, fields));
        EXPECT_EQ(bytes_.find(service.key), std::string::npos);
    }
    ASSERT_TRUE(turn_away("GET /api/v1/users?api_key=" + service.key));
    EXPECT_EQ(bytes_.find(service.key), std::string::npos);
}

// Unknown paths too: a client without a key must not learn which paths exist.
TEST_F(overload, refuses_everything_that_needs_a_key) {
    for (auto const* const line :
         {"GET /api/v1/users/1", "DELETE /api/v1/users/1", "OPTIONS /api/v1/users", "GET /users",
          "GET /nothing", "GET /auth", "POST /api/v1/keys/verify", "HEAD /api/v1/posts"}) {
        auto const answer = turn_away(line);
        ASSERT_TRUE(answer) << line;
        EXPECT_EQ(answer->status, 503) << line;
    }
}

TEST_F(overload, does_not_affect_public_paths) {
    for (auto const& each : routes()) {
        if (!std::holds_alternative<public_route>(each.run)) continue;
        auto const path = public_path(each.pattern);
        EXPECT_FALSE(turn_away("GET " + path)) << path;
        if (each.pattern.starts_with("/.well-known/")) continue;  // without issuers there is none
        // The same exchange serves it afterwards.
        EXPECT_LT(service.request_anonymous("GET " + path, {}, {"Accept: text/html,*/*"}).status,
                  400)
            << path;
    }
    EXPECT_FALSE(turn_away("GET /healthz", {bearer(service.key)}));
}

}  // namespace
}  // namespace latchkey::api
