// Keys in the exports of other systems: what is taken over, and what is said of the rest.
#include "cli/foreign_keys.hpp"

#include <gtest/gtest.h>

#include "auth/key_form.hpp"
#include "base/bytes.hpp"

namespace latchkey::cli {
namespace {

constexpr std::string_view plain = "0123456789abcdefABCDEF0123456789";

std::string hex_of(std::string_view key) {
    auto const digest = auth::digest_of(key);
    return base::to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()});
}

foreign_export read(foreign_system system, std::string const& text,
                    foreign_choice const& choice = {}) {
    auto result = read_foreign_keys(system, text, choice);
    return result ? std::move(*result) : foreign_export{{}, {result.error().message}, 0};
}

bool says(foreign_export const& result, std::string_view part) {
    for (auto const& each : result.remarks)
        if (each.find(part) != each.npos) return true;
    return false;
}

TEST(keys_of_unkey, come_by_their_hashes) {
    // SHA-256 of "" in base64 and in hexadecimal digits.
    auto const rows =
        R"([{"id":"key_1","name":"shop","hash":"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "expires":1893456000000,"meta":{"plan":"pro","seats":3},"ratelimits":
        [{"name":"Per Minute","limit":100,"duration":60000},{"name":"x","limit":5,"duration":1500}],
        "permissions":["a.b"],"credits":{"remaining":5}}])";
    auto const result = read(foreign_system::unkey, rows);
    ASSERT_EQ(result.keys.size(), 1u);
    auto const& line = result.keys[0].line;
    EXPECT_NE(
        line.find(
            "\"sha256\":\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\""),
        line.npos)
        << line;
    EXPECT_NE(line.find("\"expires_at\":\"2030-01-01T00:00:00.000Z\""), line.npos) << line;
    EXPECT_NE(line.find(R"({"name":"per-minute","limit":100,"window_seconds":60})"), line.npos);
    EXPECT_NE(line.find(R"({"name":"x","limit":5,"window_seconds":2})"), line.npos);
    EXPECT_NE(line.find(R"("plan":"pro")"), line.npos);
    EXPECT_TRUE(says(result, "seats"));
    EXPECT_TRUE(says(result, "permissions"));
    EXPECT_TRUE(says(result, "credits"));
    EXPECT_TRUE(says(result, "rounded up"));
}

TEST(keys_of_unkey, come_in_every_form_of_its_exports) {
    auto const hash = hex_of(plain);
    for (auto const& text :
         {R"({"hash":{"value":")" + hash + R"(","variant":"sha256_hex"}})",
          R"({"keys":[{"id":"a","plaintext":")" + std::string(plain) + R"("}],"total":1})",
          R"({"meta":{},"data":[{"keyId":"a","key":")" + std::string(plain) + R"("}]})",
          R"({"id":"a","hash":")" + hash + "\"}\n\n" + R"({"id":"b","enabled":false})"}) {
        auto const result = read(foreign_system::unkey, text);
        ASSERT_EQ(result.keys.size(), 1u) << text;
        EXPECT_NE(result.keys[0].line.find(hash), std::string::npos) << text;
        EXPECT_EQ(result.keys[0].line.find(plain), std::string::npos);
    }
}

TEST(keys_of_unkey, without_a_hash_are_named) {
    auto const result =
        read(foreign_system::unkey,
             R"([{"id":"key_1"},{"id":"key_2","hash":"short"},{"id":"key_3","enabled":false},
        {"id":"key_4","hash":{"value":"x","variant":"bcrypt"}}])");
    EXPECT_TRUE(result.keys.empty());
    EXPECT_EQ(result.refusals, 4u);
    for (auto const* const part : {"key_1: it has neither", "key_2: its hash is not",
                                   "key_3: it is disabled", "key_4: its hash is of the variant"})
        EXPECT_TRUE(says(result, part)) << part;
}

TEST(keys_of_kong, come_with_the_limits_of_their_consumer) {
    auto const text = R"({"_format_version":"3.0","consumers":[
        {"username":"shop","custom_id":"7","keyauth_credentials":[{"key":")" +
                      std::string(plain) +
                      R"("},{"key":"short"}],
         "plugins":[{"name":"rate-limiting","config":{"minute":60,"hour":null,"policy":"local"}},
                    {"name":"cors","config":{}}],"jwt_secrets":[{"key":"k"}]},
        {"username":"flat"}],
        "keyauth_credentials":[{"consumer":"flat","key":"ffffffffffffffffffffffffffffffff"}],
        "plugins":[{"name":"rate-limiting-advanced","consumer":{"username":"flat"},
                    "config":{"limit":[10],"window_size":[30]}},
                   {"name":"rate-limiting","config":{"second":5}}]})";
    auto const result = read(foreign_system::kong, text,
                             {.scopes = {"users:*"}, .project = "k", .environment = {}});
    ASSERT_EQ(result.keys.size(), 2u);
    auto const& shop = result.keys[0].line;
    EXPECT_NE(shop.find(hex_of(plain)), shop.npos);
    EXPECT_NE(shop.find(R"("rate_limits":[{"name":"minute","limit":60,"window_seconds":60}])"),
              shop.npos)
        << shop;
    EXPECT_NE(shop.find(R"("scopes":["users:*"],"project":"k")"), shop.npos) << shop;
    EXPECT_NE(shop.find(R"("kong_custom_id":"7")"), shop.npos);
    EXPECT_NE(result.keys[1].line.find(R"({"name":"window-30","limit":10,"window_seconds":30})"),
              std::string::npos);
    EXPECT_EQ(result.refusals, 1u);
    for (auto const* const part :
         {"has 5 characters", "plugin cors", "jwt_secrets", "belongs to no consumer"})
        EXPECT_TRUE(says(result, part)) << part;
}

TEST(keys_of_kong, without_their_consumer_are_named) {
    auto const key = std::string(plain);
    auto const result = read(foreign_system::kong,
                             R"({"consumers":[{"username":"shop"}],"keyauth_credentials":[
        {"key":")" + key + R"(","consumer":"shop"},{"id":"c2","key":")" +
                                 key + R"(","consumer":{"id":"gone"}},{"key":")" + key + "\"}]}");
    EXPECT_EQ(result.keys.size(), 1u);
    EXPECT_EQ(result.refusals, 2u);
    EXPECT_TRUE(says(result, "keyauth_credentials c2: its consumer gone is not in the file"));
    EXPECT_TRUE(says(result, "keyauth_credentials number 3: it names no consumer"));
}

TEST(keys_of_kong, are_read_from_json_alone) {
    EXPECT_TRUE(says(read(foreign_system::kong, "_format_version: \"3.0\"\n"), "--format json"));
}

TEST(keys_of_apisix, come_from_each_form_of_its_lists) {
    auto const consumer = R"({"username":"jack","plugins":{"key-auth":{"key":")" +
                          std::string(plain) +
                          R"("},"limit-count":{"count":200,"time_window":60,"rejected_code":503},
        "limit-req":{"rate":1,"burst":2}},"labels":{"team":"a"},"group_id":"g"})";
    for (auto const& text :
         {R"({"total":1,"list":[{"key":"/apisix/consumers/jack","value":)" + consumer + "}]}",
          R"({"node":{"nodes":[{"key":"/apisix/consumers/jack","value":)" + consumer + "}]}}",
          R"({"consumers":[)" + consumer + "]}"}) {
        auto const result = read(foreign_system::apisix, text);
        ASSERT_EQ(result.keys.size(), 1u) << text;
        auto const& line = result.keys[0].line;
        EXPECT_NE(line.find(hex_of(plain)), line.npos);
        EXPECT_NE(line.find(R"({"name":"count","limit":200,"window_seconds":60})"), line.npos);
        EXPECT_NE(line.find(R"("metadata":{"team":"a"})"), line.npos);
        EXPECT_TRUE(says(result, "limit-req"));
        EXPECT_TRUE(says(result, "group"));
    }
}

TEST(keys_of_apisix, may_be_credentials_of_a_consumer) {
    auto const result = read(foreign_system::apisix,
                             R"({"list":[{"key":"/apisix/consumers/jack","value":{"username":"jack",
        "plugins":{"limit-count":{"count":5,"time_window":1}}}},
        {"key":"/apisix/consumers/jack/credentials/one","value":{"plugins":{"key-auth":{"key":")" +
                                 std::string(plain) + R"("}}}},
        {"key":"/apisix/consumers/jack/credentials/two","value":{"plugins":{"basic-auth":{}}}},
        {"key":"/apisix/consumers/eve","value":{"username":"eve","plugins":{"key-auth":{"key":"$secret://v"}}}}]})");
    ASSERT_EQ(result.keys.size(), 1u);
    EXPECT_NE(result.keys[0].line.find("\"name\":\"jack one\""), std::string::npos);
    EXPECT_NE(result.keys[0].line.find("\"limit\":5"), std::string::npos);
    EXPECT_TRUE(says(result, "credential two"));
    EXPECT_TRUE(says(result, "vault"));
}

}  // namespace
}  // namespace latchkey::cli
