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

TEST_F(failing, only_unknown_keys_count) {
    for (std::uint32_t i = 0; i < 2 * station::failures_per_minute; ++i)
        ASSERT_EQ(at.ask_bare("GET /api/v1/users").code(), "key_missing");
    EXPECT_EQ(try_key("wrong").code(), "key_invalid");
}

}  // namespace
}  // namespace latchkey::api
