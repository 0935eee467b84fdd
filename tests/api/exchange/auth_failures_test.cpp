// The limit on failed authentications, over HTTP (api.md §2).
#include "../harness.hpp"

namespace latchkey::api {
namespace {

class failing : public api_test {
  protected:
    reply try_key(std::string_view key) {
        return service.request_anonymous("GET /api/v1/users", {}, {bearer(std::string(key))});
    }
    void fail_as_often_as_allowed() {
        for (std::uint32_t i = 0; i < api_fixture::failures_per_minute; ++i)
            ASSERT_EQ(try_key("wrong").status, 401) << i;
    }
};

TEST_F(failing, an_address_with_too_many_unknown_keys_is_told_to_wait) {
    fail_as_often_as_allowed();
    auto const refusal = try_key("wrong");
    EXPECT_EQ(refusal.status, 429);
    EXPECT_EQ(refusal.code(), "too_many_auth_failures");
    EXPECT_EQ(refusal.field("Retry-After"), "60");
    EXPECT_EQ(refusal.field("WWW-Authenticate"), "");
    EXPECT_EQ(try_key(service.key).status, 200) << "a valid key passes all the same";
    service.peer.client = model::address::parse("203.0.113.8");
    EXPECT_EQ(try_key("wrong").status, 401) << "another address is not concerned";
    service.peer.client = model::address::parse("203.0.113.7");
    service.advance(61'000);
    EXPECT_EQ(try_key("wrong").status, 401);
}

TEST_F(failing, an_address_that_continues_is_read_less_often_and_no_other) {
    fail_as_often_as_allowed();
    EXPECT_EQ(service.exchange.resume_reading_at(), 0) << "a 401 is no refusal";
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(try_key("wrong").status, 429);
        EXPECT_EQ(
            service.exchange.resume_reading_at(),
            service.now.mono + std::max(0, i - 64) * limit::auth_failure_limiter::refusal_gap);
    }
    EXPECT_EQ(try_key(service.key).status, 200);
    EXPECT_EQ(service.exchange.resume_reading_at(), 0);
}

TEST_F(failing, a_shared_connection_is_always_read) {
    fail_as_often_as_allowed();
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(service.request_anonymous("GET /auth", {}, {bearer("wrong")}).status, 429);
        EXPECT_EQ(service.exchange.resume_reading_at(), 0) << "a gateway's";
    }
    service.settings.trusted_proxies = {*model::cidr::parse("198.51.100.0/24")};
    service.peer.client = model::address::parse("198.51.100.1");
    for (int i = 0; i < 100; ++i) {
        auto const refusal = service.request_anonymous(
            "GET /api/v1/users", {},
            {bearer("wrong"), "X-Forwarded-For: 203.0.113.7", "X-Forwarded-Proto: https"});
        ASSERT_EQ(refusal.status, 429);
        EXPECT_EQ(service.exchange.resume_reading_at(), 0) << "a proxy's";
    }
}

TEST_F(failing, clients_without_an_address_share_a_count) {
    service.peer = {.tls = false, .local = true, .client = std::nullopt};  // of a Unix socket
    fail_as_often_as_allowed();
    auto const refusal = try_key("wrong");
    EXPECT_EQ(refusal.status, 429);
    EXPECT_EQ(refusal.code(), "too_many_auth_failures");
    EXPECT_EQ(refusal.field("Retry-After"), "60");
    EXPECT_EQ(service.exchange.resume_reading_at(), 0) << "others may be behind that connection";
    EXPECT_EQ(try_key(service.key).status, 200);
    for (auto const* const address : {"203.0.113.7", "::1", "::"}) {
        service.peer.client = model::address::parse(address);
        EXPECT_EQ(try_key("wrong").status, 401) << address;
    }
}

TEST_F(failing, failures_count_against_a_proxy_that_does_not_name_its_client) {
    service.settings.trusted_proxies = {*model::cidr::parse("198.51.100.0/24")};
    auto const from_proxy = [&](std::string_view proxy, std::string const& forwarded) {
        service.peer.client = model::address::parse(proxy);
        return service.request_anonymous("GET /api/v1/users", {},
                                         {bearer("wrong"), forwarded, "X-Forwarded-Proto: https"});
    };
    for (std::uint32_t i = 0; i < api_fixture::failures_per_minute; ++i)
        ASSERT_EQ(
            from_proxy("198.51.100.1", i % 2 == 0 ? "X-Note: none" : "X-Forwarded-For: unknown")
                .status,
            401);
    EXPECT_EQ(from_proxy("198.51.100.1", "X-Forwarded-For: _hidden").status, 429);
    EXPECT_EQ(from_proxy("198.51.100.1", "X-Forwarded-For: 203.0.113.9").status, 401);
    EXPECT_EQ(from_proxy("198.51.100.2", "X-Note: none").status, 401);
}

TEST_F(failing, only_unknown_keys_count) {
    for (std::uint32_t i = 0; i < 2 * api_fixture::failures_per_minute; ++i)
        ASSERT_EQ(service.request_anonymous("GET /api/v1/users").code(), "key_missing");
    EXPECT_EQ(try_key("wrong").code(), "key_invalid");
}

// A known key is no guess, even where it may not be used.
TEST_F(failing, known_keys_never_count) {
    auto const past = service.now.wall - 60'000, future = service.now.wall + 3'600'000;
    std::map<std::string, std::string> const keys = {
        {"key_expired", service.add_key({"*"}, {.expires_at = past})},
        {"key_not_yet_active", service.add_key({"*"}, {.not_before = future})},
        {"key_deactivated",
         service.add_key(
             {"*"}, {.deactivated_at = past, .deactivation_reason = model::deactivation::manual})},
        {"ip_not_allowed",
         service.add_key({"*"}, {.ip_allowlist = {*model::cidr::parse("198.51.100.0/24")}})},
    };
    for (auto const& [code, key] : keys)
        for (auto const& fields : {lines{bearer(key)}, lines{"X-API-Key: " + key}})
            EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, fields).code(), code);
    fail_as_often_as_allowed();
    EXPECT_EQ(try_key("wrong").status, 429);
    for (auto const& [code, key] : keys)
        EXPECT_EQ(try_key(key).code(), code) << "never told to wait";
}

}  // namespace
}  // namespace latchkey::api
