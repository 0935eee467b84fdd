// The limit on failed authentications as a client meets it (API §2).
#include "harness.hpp"

namespace latchkey::api {
namespace {

class failing : public api_test {
  protected:
    reply try_key(std::string_view key) {
        return at.ask_bare("GET /api/v1/users", {}, {bearer(std::string(key))});
    }
    void fail_as_often_as_allowed() {
        for (std::uint32_t i = 0; i < station::failures_per_minute; ++i)
            ASSERT_EQ(try_key("wrong").status, 401) << i;
    }
};

TEST_F(failing, an_address_that_tries_too_many_keys_is_told_to_wait) {
    fail_as_often_as_allowed();
    auto const refused = try_key("wrong");
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(refused.code(), "too_many_auth_failures");
    EXPECT_EQ(refused.field("Retry-After"), "60");
    EXPECT_EQ(refused.field("WWW-Authenticate"), "");
    EXPECT_EQ(try_key(at.key).status, 200) << "a valid key passes all the same";
    at.from.client = model::address::parse("203.0.113.8");
    EXPECT_EQ(try_key("wrong").status, 401) << "another address is not concerned";
    at.from.client = model::address::parse("203.0.113.7");
    at.advance(61'000);
    EXPECT_EQ(try_key("wrong").status, 401);
}

TEST_F(failing, who_goes_on_is_heard_less_and_nobody_else) {
    fail_as_often_as_allowed();
    EXPECT_EQ(at.exchange.heard_again(), 0) << "a 401 is no refusal";
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(try_key("wrong").status, 429);
        EXPECT_EQ(at.exchange.heard_again(),
                  at.now.mono + std::max(0, i - 64) * limit::failures::refusal_gap);
    }
    EXPECT_EQ(try_key(at.key).status, 200);
    EXPECT_EQ(at.exchange.heard_again(), 0);
}

TEST_F(failing, a_connection_that_carries_others_too_is_always_heard) {
    fail_as_often_as_allowed();
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(at.ask_bare("GET /auth", {}, {bearer("wrong")}).status, 429);
        EXPECT_EQ(at.exchange.heard_again(), 0) << "a gateway's";
    }
    at.rules.trusted_proxies = {*model::cidr::parse("198.51.100.0/24")};
    at.from.client = model::address::parse("198.51.100.1");
    for (int i = 0; i < 100; ++i) {
        auto const refused = at.ask_bare("GET /api/v1/users", {},
                                         {bearer("wrong"), "X-Forwarded-For: 203.0.113.7",
                                          "X-Forwarded-Proto: https"});
        ASSERT_EQ(refused.status, 429);
        EXPECT_EQ(at.exchange.heard_again(), 0) << "a proxy's";
    }
}

TEST_F(failing, only_unknown_keys_count) {
    for (std::uint32_t i = 0; i < 2 * station::failures_per_minute; ++i)
        ASSERT_EQ(at.ask_bare("GET /api/v1/users").code(), "key_missing");
    EXPECT_EQ(try_key("wrong").code(), "key_invalid");
}

}  // namespace
}  // namespace latchkey::api
