// Keys in the exports of other systems: what is taken over, and what is said of the rest.
#include "cli/keys/foreign_keys.hpp"

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

// A row of the table `keys` with these columns beside its id and hash.
std::string row(std::string const& columns) {
    return R"({"id":"key_1","hash":")" + hex_of(plain) + "\"," + columns + "}";
}

TEST(keys_of_unkey, that_were_ended_stay_out_in_every_spelling_of_their_columns) {
    for (auto const* const columns :
         {R"("enabled":0)", R"("enabled":"0")", R"("enabled":false)", R"("enabled":"false")",
          R"("ENABLED":0)", R"("deleted_at":"2024-05-01 10:00:00.000")",
          R"("deletedAt":"2024-05-01T10:00:00.000Z")", R"("deleted_at_m":1714557600000)",
          R"("deletedAtM":1714557600000)", R"("deleted_at_m":0,"deleted_at":null)",
          R"("remaining_requests":0)", R"("remaining":0)", R"("credits":{"remaining":0})",
          R"("revoked_at":"2024-05-01 10:00:00")", R"("isDisabled":1)"}) {
        auto const result = read(foreign_system::unkey, row(columns));
        EXPECT_TRUE(result.keys.empty()) << columns;
        EXPECT_EQ(result.refusals, 1u) << columns;
        EXPECT_TRUE(says(result, "key key_1: it")) << columns;
    }
    for (auto const* const columns :
         {R"("enabled":1)", R"("enabled":"1")", R"("enabled":true,"deleted_at":null)",
          R"("deletedAtM":null,"remaining_requests":null)", R"("ratelimit_limit":null)"})
        EXPECT_EQ(read(foreign_system::unkey, row(columns)).keys.size(), 1u) << columns;
}

TEST(keys_of_unkey, come_with_the_expiry_and_the_limit_of_their_columns) {
    for (auto const* const expires :
         {R"("2030-01-01 00:00:00.000")", R"("2030-01-01T00:00:00.000Z")", R"("2030-01-01")",
          R"("2030-01-01T01:00:00+01:00")", R"("2030-01-01 00:00:00")", R"("1893456000000")",
          "1893456000000", "1.893456e12"}) {
        auto const result =
            read(foreign_system::unkey, row(R"("expires":)" + std::string(expires)));
        ASSERT_EQ(result.keys.size(), 1u) << expires;
        EXPECT_NE(result.keys[0].line.find(R"("expires_at":"2030-01-01T00:00:00.000Z")"),
                  std::string::npos)
            << result.keys[0].line;
    }
    for (auto const* const limit :
         {R"("ratelimit_async":0,"ratelimit_limit":10,"ratelimit_duration":60000)",
          R"("ratelimitLimit":"10","ratelimitDuration":"60000")",
          R"("ratelimit":{"type":"fast","limit":10,"refillRate":1,"refillInterval":60000})"}) {
        auto const result = read(foreign_system::unkey, row(limit));
        ASSERT_EQ(result.keys.size(), 1u) << limit;
        EXPECT_NE(result.keys[0].line.find(R"({"name":"requests","limit":10,"window_seconds":60})"),
                  std::string::npos)
            << result.keys[0].line;
    }
}

TEST(keys_of_unkey, of_unknown_forms_are_refused_with_their_line) {
    for (auto const* const columns : {R"("enabled":"")",
                                      R"("enabled":null)",
                                      R"("enabled":2)",
                                      R"("enabled":"no")",
                                      R"("expires":"soon")",
                                      R"("expires":"0000-00-00 00:00:00")",
                                      R"("expires":{})",
                                      R"("expires":1893456000000000)",
                                      R"("remaining_requests":"many")",
                                      R"("remaining":1.5)",
                                      R"("ratelimit_limit":10)",
                                      R"("ratelimit_duration":60000)",
                                      R"("ratelimit_limit":0,"ratelimit_duration":60000)",
                                      R"("ratelimit_limit":"ten","ratelimit_duration":60000)",
                                      R"("ratelimits":"[]")",
                                      R"("ratelimits":[5])",
                                      R"("ratelimits":[{"limit":5}])",
                                      R"("ratelimit":[])",
                                      R"("credits":5)",
                                      R"("enabled":1,"ENABLED":0)",
                                      R"("ratelimits":[{"limit":5,"duration":"1 minute"}])"}) {
        auto const result =
            read(foreign_system::unkey, row(R"("enabled":1)") + "\n\n" + row(columns));
        EXPECT_EQ(result.keys.size(), 1u) << columns;
        EXPECT_EQ(result.refusals, 1u) << columns;
        EXPECT_TRUE(says(result, "line 3")) << columns;
    }
    auto const list = read(foreign_system::unkey, "[5," + row(R"("enabled":1)") + "]");
    EXPECT_EQ(list.keys.size(), 1u);
    EXPECT_TRUE(says(list, "number 1: it is not a JSON object"));
}

TEST(keys_of_unkey, name_the_columns_that_are_left_out) {
    auto const result =
        read(foreign_system::unkey,
             row(R"("meta":"{\"plan\":\"pro\"}","owner_id":"o","refill_amount":5,"refill_day":null,
            "environment":"live","remaining_requests":5,"created_at":"2024-01-01 00:00:00.000")"));
    ASSERT_EQ(result.keys.size(), 1u);
    auto const& line = result.keys[0].line;
    EXPECT_NE(line.find(R"("external_id":"o")"), line.npos) << line;
    EXPECT_NE(line.find(R"("plan":"pro")"), line.npos) << line;
    EXPECT_TRUE(
        says(result, "left out, since it has no counterpart here: refill_amount, environment"));
    EXPECT_TRUE(says(result, "what remains of its credits"));
}

TEST(keys_of_unkey, in_a_hostile_file_are_read_in_time_that_grows_as_the_file) {
    // Each line has a remark of its own, and a window at the end of what a number holds.
    std::string lines;
    for (int i = 0; i < 20'000; ++i)
        lines += R"({"id":")" + std::to_string(i) + R"(","hash":")" + hex_of(plain) +
                 R"(","ratelimits":[{"name":"x","limit":1,"duration":9223372036854775807}]})"
                 "\n";
    auto const result = read(foreign_system::unkey, lines);
    EXPECT_EQ(result.keys.size(), 20'000u);
    EXPECT_EQ(result.remarks.size(), 20'000u);
    EXPECT_TRUE(read(foreign_system::unkey, std::string(100'000, '[')).keys.empty());
    EXPECT_EQ(read(foreign_system::unkey, "\xEF\xBB\xBF" + row(R"("enabled":1)")).keys.size(), 1u);
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

TEST(keys_of_kong, that_end_or_have_unknown_forms_are_refused) {
    auto const key = R"({"key":")" + std::string(plain) + "\"";
    auto const consumer = [&](std::string const& credential, std::string const& members) {
        return read(foreign_system::kong,
                    R"({"consumers":[{"username":"a","keyauth_credentials":[)" + key + credential +
                        "}]" + members + "}]}");
    };
    auto const plugin = [&](std::string const& name, std::string const& config) {
        return consumer("", R"(,"plugins":[{"name":")" + name + R"(","config":)" + config + "}]");
    };
    EXPECT_EQ(consumer(R"(,"ttl":0)", "").keys.size(), 1u);
    EXPECT_EQ(plugin("rate-limiting", R"({"minute":"60"})").keys.size(), 1u);
    for (auto const& result :
         {consumer(R"(,"ttl":3600)", ""), consumer(R"(,"ttl":"soon")", ""),
          consumer(R"(,"enabled":0)", ""), consumer("", R"(,"disabled":true)"),
          plugin("request-termination", "{}"), plugin("rate-limiting", R"({"minute":0.5})"),
          plugin("rate-limiting", R"({"minute":0})"), plugin("rate-limiting-advanced", "{}"),
          plugin("rate-limiting-advanced", R"({"limit":[5,6],"window_size":[1]})"),
          plugin("rate-limiting-advanced", R"({"limit":["x"],"window_size":[1]})")}) {
        EXPECT_TRUE(result.keys.empty());
        EXPECT_EQ(result.refusals, 1u);
        EXPECT_TRUE(says(result, "consumer a, key 1: "));
    }
}

TEST(keys_of_kong, of_many_consumers_are_found_by_their_names) {
    std::string consumers, credentials;
    for (int i = 0; i < 20'000; ++i) {
        auto const comma = i == 0 ? "" : ",";
        consumers += comma + (R"({"username":"u)" + std::to_string(i)) + R"(","custom_id":"u0"})";
        credentials += comma + (R"({"consumer":"u)" + std::to_string(i)) + R"(","key":")" +
                       std::string(plain) + std::to_string(i) + "\"}";
    }
    auto const result =
        read(foreign_system::kong, R"({"consumers":[)" + consumers +
                                       R"(,5],"keyauth_credentials":[)" + credentials + ",5]}");
    EXPECT_EQ(result.keys.size(), 20'000u);
    EXPECT_EQ(result.refusals, 2u);
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

TEST(keys_of_apisix, that_are_off_or_have_unknown_forms_are_refused) {
    auto const consumer = [&](std::string const& auth, std::string const& plugins,
                              std::string const& members) {
        return read(foreign_system::apisix,
                    R"({"consumers":[{"username":"a","plugins":{"key-auth":{"key":")" +
                        std::string(plain) + "\"" + auth + "}" + plugins + "}" + members + "}]}");
    };
    EXPECT_EQ(consumer(R"(,"_meta":{"disable":false})", "", "").keys.size(), 1u);
    EXPECT_EQ(consumer("", R"(,"limit-count":{"count":"5","time_window":"60"})", "").keys.size(),
              1u);
    for (auto const& result :
         {consumer(R"(,"_meta":{"disable":true})", "", ""),
          consumer(R"(,"_meta":{"disable":"yes"})", "", ""), consumer("", "", R"(,"enabled":"0")"),
          consumer("", R"(,"limit-count":{"count":"${n}","time_window":60})", ""),
          consumer("", R"(,"limit-count":{"rules":[]})", "")}) {
        EXPECT_TRUE(result.keys.empty());
        EXPECT_EQ(result.refusals, 1u);
    }
    auto const stray = read(foreign_system::apisix,
                            R"({"list":[5,{"key":"/apisix/consumers/a/credentials/one","value":
        {"plugins":{"key-auth":{"key":")" +
                                std::string(plain) + R"("}}}}]})");
    EXPECT_TRUE(stray.keys.empty());
    EXPECT_TRUE(says(stray, "consumer a: it is not in the file, but credential one of it"));
    EXPECT_TRUE(says(stray, "number 1: it is no JSON object"));
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
