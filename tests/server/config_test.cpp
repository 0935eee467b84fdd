#include "server/config.hpp"

#include <gtest/gtest.h>

#include <set>

namespace latchkey::server {
namespace {

std::string why_invalid(config const& of) {
    auto const valid = validate(of);
    return valid ? "" : valid.error().message;
}

TEST(config, has_defaults_that_work) {
    EXPECT_EQ(why_invalid({}), "");
}

TEST(config, describes_every_setting_once) {
    std::set<std::string_view> names;
    for (auto const& which : settings()) {
        EXPECT_TRUE(names.insert(which.name).second) << which.name;
        EXPECT_FALSE(which.help.empty()) << which.name;
        EXPECT_FALSE(shown({}, which).empty()) << which.name;
    }
    EXPECT_TRUE(names.contains("auth.allow_query"));
}

TEST(config, names_the_setting_that_is_wrong) {
    config of;
    of.http_idle_seconds = 0;
    EXPECT_EQ(why_invalid(of), "http.idle_seconds must be from 1 to 86400");
    of = {};
    of.trusted_proxies = {"10.0.0.1/8"};
    EXPECT_NE(why_invalid(of).find("trusted_proxies"), std::string::npos);
    of = {};
    of.tls_key = "key.pem";
    EXPECT_NE(why_invalid(of).find("tls.certificate"), std::string::npos);
    of = {};
    of.keys_prefix = "lk_1";
    EXPECT_NE(why_invalid(of).find("keys.prefix"), std::string::npos);
    of = {};
    of.base_url = "https://api.example.com/";
    EXPECT_NE(why_invalid(of).find("base_url"), std::string::npos);
    of = {};
    of.listen = {};
    EXPECT_NE(why_invalid(of).find("listen"), std::string::npos);
}

TEST(config, allows_plain_http_only_where_keys_are_safe) {
    config of;
    of.listen = {"http://127.0.0.1:8080", "http://[::1]:8080", "unix:/run/latchkey.sock"};
    EXPECT_EQ(why_invalid(of), "");
    of.listen = {"http://0.0.0.0:8080"};
    EXPECT_NE(why_invalid(of).find("without TLS"), std::string::npos);
    of.trusted_proxies = {"10.0.0.0/8"};
    EXPECT_EQ(why_invalid(of), "");
}

TEST(config, wants_to_know_the_proxy_that_is_to_be_believed) {
    config of;
    of.listen = {"https://127.0.0.1:8443?proxy=v2"};
    EXPECT_NE(why_invalid(of).find("trusted_proxies"), std::string::npos);
    of.listen = {"unix:/run/latchkey.sock?proxy=v2"};
    EXPECT_EQ(why_invalid(of), "");
    of.listen = {"https://0.0.0.0:8443?proxy=v2", "http://0.0.0.0:8080?proxy=v2"};
    of.trusted_proxies = {"10.0.0.1"};
    EXPECT_EQ(why_invalid(of), "");
}

TEST(listen_addresses, are_read_and_written) {
    for (auto const* text :
         {"https://127.0.0.1:8443", "http://127.0.0.1:0", "https://[::1]:443", "https://[::]:1",
          "unix:/run/latchkey.sock", "https://127.0.0.1:8443?proxy=v2", "http://[::1]:0?proxy=v2",
          "unix:/run/latchkey.sock?proxy=v2"}) {
        auto const where = parse_listen_address(text);
        ASSERT_TRUE(where) << text;
        EXPECT_EQ(where->url(), text);
        EXPECT_EQ(where->proxy, where->url().ends_with("?proxy=v2"));
    }
    EXPECT_EQ(parse_listen_address("https://localhost:1")->url(), "https://127.0.0.1:1");
    EXPECT_EQ(parse_listen_address("https://[::1]:1/?proxy=v2")->url(), "https://[::1]:1?proxy=v2");
    for (auto const* bad :
         {"https://127.0.0.1:1?proxy=v1", "https://127.0.0.1:1?proxy", "unix:/run/x?proxy=v1",
          "unix:?proxy=v2", "https://127.0.0.1:1?proxy=v2?proxy=v2", "", "127.0.0.1:8443",
          "https://127.0.0.1", "https://127.0.0.1:65536", "https://:1", "https://example.com:1",
          "https://127.0.0.1:1x", "ftp://127.0.0.1:1", "unix:"})
        EXPECT_FALSE(parse_listen_address(bad)) << bad;
}

}  // namespace
}  // namespace latchkey::server
