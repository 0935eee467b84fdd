#include "server/process/config.hpp"

#include <gtest/gtest.h>
#include <sys/un.h>

#include <algorithm>
#include <map>
#include <set>

namespace latchkey::server {
namespace {

std::string validation_error(config const& configuration) {
    auto const valid = validate(configuration);
    return valid ? "" : valid.error().message;
}

TEST(config, has_defaults_that_work) {
    EXPECT_EQ(validation_error({}), "");
}

TEST(config, describes_every_setting_once) {
    std::set<std::string_view> names;
    for (auto const& entry : setting_table()) {
        EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
        EXPECT_FALSE(entry.help.empty()) << entry.name;
        EXPECT_FALSE(to_toml({}, entry).empty()) << entry.name;
    }
    EXPECT_TRUE(names.contains("auth.allow_query"));
}

TEST(config, names_the_setting_that_is_wrong) {
    config configuration;
    configuration.http_idle_seconds = 0;
    EXPECT_EQ(validation_error(configuration), "http.idle_seconds must be from 1 to 86400");
    configuration = {};
    configuration.trusted_proxies = {"10.0.0.1/8"};
    EXPECT_NE(validation_error(configuration).find("trusted_proxies"), std::string::npos);
    configuration = {};
    configuration.tls_key = "key.pem";
    EXPECT_NE(validation_error(configuration).find("tls.certificate"), std::string::npos);
    configuration = {};
    configuration.keys_prefix = "lk_1";
    EXPECT_NE(validation_error(configuration).find("keys.prefix"), std::string::npos);
    configuration = {};
    configuration.base_url = "https://api.example.com/";
    EXPECT_NE(validation_error(configuration).find("base_url"), std::string::npos);
    configuration = {};
    configuration.management = "127.0.0.1:9464?proxy=v2";
    EXPECT_NE(validation_error(configuration).find("management"), std::string::npos);
    configuration = {};
    configuration.listen = {};
    EXPECT_NE(validation_error(configuration).find("listen"), std::string::npos);
}

TEST(config, finds_all_that_is_wrong) {
    config configuration;
    configuration.http_idle_seconds = 0;
    configuration.base_url = "ftp://x";
    configuration.log_format = "xml";
    configuration.listen = {};
    std::vector<std::string_view> settings;
    for (auto const& each : find_errors(configuration)) settings.push_back(each.setting);
    EXPECT_EQ(settings, (std::vector<std::string_view>{"http.idle_seconds", "log.format",
                                                       "base_url", "listen"}));
    EXPECT_EQ(
        validation_error(configuration),
        "http.idle_seconds must be from 1 to 86400; log.format must be text or json; base_url "
        "must begin with https:// (or http://); listen names no address");
}

TEST(config, names_variables_and_credentials_by_the_setting) {
    auto const entry = [](std::string_view name) {
        return *std::ranges::find(setting_table(), name, &setting::name);
    };
    EXPECT_EQ(variable_of(entry("store.map_mib")), "LATCHKEY_STORE_MAP_MIB");
    EXPECT_EQ(variable_of(entry("data")), "LATCHKEY_DATA");
    EXPECT_EQ(credential_of(entry("store.master_key_file")), "store.master_key");
    EXPECT_EQ(credential_of(entry("tls.key")), "tls.key");
    for (auto const& each : setting_table())
        if (each.credential)
            EXPECT_TRUE(std::holds_alternative<std::string config::*>(each.member)) << each.name;
}

TEST(config, bounds_the_lifetime_of_new_keys_on_both_sides) {
    for (auto const& [text, valid] : {std::pair{"", true},
                                      {"60s", true},
                                      {"59s", false},
                                      {"90", false},
                                      {"1825d", true},
                                      {"1826d", false}}) {
        config configuration;
        configuration.keys_default_ttl = text;
        EXPECT_EQ(validation_error(configuration).find("keys.default_ttl") == std::string::npos,
                  valid)
            << text;
    }
}

TEST(config, is_what_the_interface_follows) {
    auto const initial = interface_settings({});
    EXPECT_FALSE(initial.strict_transport_security) << "a certificate that we made is for trials";
    EXPECT_FALSE(initial.require_if_match);
    EXPECT_EQ(initial.body_bytes_max, config().http_body_bytes);
    config configuration;
    configuration.auth_allow_query = !configuration.auth_allow_query;
    configuration.auth_allow_body = !configuration.auth_allow_body;
    configuration.tls_certificate = "certificate.pem";
    configuration.store_require_if_match = true;
    configuration.http_body_bytes = 4096;
    auto const changes = interface_settings(configuration);
    EXPECT_EQ(changes.allow_query, configuration.auth_allow_query);
    EXPECT_EQ(changes.allow_body, configuration.auth_allow_body);
    EXPECT_TRUE(changes.strict_transport_security);
    EXPECT_TRUE(changes.require_if_match);
    EXPECT_EQ(changes.body_bytes_max, 4096u);
}

TEST(config, puts_the_access_log_beside_the_data_unless_it_is_told) {
    config configuration;
    configuration.data = "/var/lib/latchkey";
    EXPECT_EQ(access_log_path(configuration), "/var/lib/latchkey/access.log");
    configuration.access_log = "/var/log/latchkey.log";
    EXPECT_EQ(access_log_path(configuration), "/var/log/latchkey.log");
    configuration.access_log = "off";
    EXPECT_EQ(access_log_path(configuration), "");
}

TEST(config, takes_no_password_of_postgresql) {
    config configuration;
    configuration.data = "d";
    for (auto const* const text :
         {"host=db user=latchkey password=hidden", "password = 'hidden' host=db",
          "user=password password=hidden", "host=db sslpassword=hidden",
          "postgresql://latchkey:hidden@db/latchkey", "postgresql://latchkey:hid@den@db",
          "postgres://db/latchkey?password=hidden", "postgres://db?user=a&password=hidden"}) {
        configuration.cluster_postgres = text;
        auto const outcome = validate(configuration);
        ASSERT_FALSE(outcome.has_value()) << text;
        EXPECT_TRUE(outcome.error().message.starts_with("cluster.postgres must not contain"));
        EXPECT_EQ(outcome.error().message.find("hidden"), std::string::npos);
    }
    for (auto const* const text :
         {"host=db user=latchkey passfile=/etc/latchkey/pgpass", "passfile=/run/password host=db",
          "host=db passfile=/run/password", "postgresql://db1/latchkey?passfile=/run/password",
          "postgresql://db1:5432/latchkey?user=me@example", "postgresql://db1:5432?user=me@example",
          "postgresql://latchkey@db1:5432,db2:5432/latchkey?sslmode=verify-full"}) {
        configuration.cluster_postgres = text;
        EXPECT_TRUE(validate(configuration).has_value()) << text;
    }
}

// What the helper of a cluster takes in its messages (helpers/replicate/protocol/replicate_messages.hpp).
TEST(config, bounds_what_the_helper_of_a_cluster_is_told) {
    config configuration;
    configuration.cluster_name.assign(64, 'n');
    configuration.cluster_postgres = "host=" + std::string(16 * 1024 - 5, 'h');
    EXPECT_EQ(validation_error(configuration), "");
    configuration.cluster_postgres += 'h';
    EXPECT_EQ(validation_error(configuration), "cluster.postgres must be at most 16384 bytes");
    configuration.cluster_postgres.clear();
    for (auto const& name : {std::string(65, 'n'), std::string("a\nb"), std::string("\xff")}) {
        configuration.cluster_name = name;
        EXPECT_EQ(validation_error(configuration),
                  "cluster.name must be at most 64 bytes of visible text (UTF-8)");
    }
}

TEST(config, bounds_every_number_on_both_sides) {
    struct bounds {
        std::uint64_t least, most;
    };
    std::map<std::string_view, bounds> const expected = {
        {"workers", {0, 1024}},
        {"connections", {1, 1'000'000}},
        {"auth.failures_per_minute", {0, 8000}},
        {"events.retention_days", {1, 36'500}},
        {"changes.retention_days", {1, 36'500}},
        {"changes.max", {1'000, 10'000'000'000}},
        {"changes.max_mib", {0, 16ull << 20}},
        {"changes.streams", {0, 1'000'000}},
        {"changes.unused_days", {0, 3650}},
        {"http.request_line_bytes", {256, 32 * 1024}},
        {"http.header_bytes", {1024, 32 * 1024 - 1}},
        {"http.body_bytes", {1024, 64 * 1024 * 1024}},
        {"http.header_seconds", {1, 3600}},
        {"http.body_seconds", {1, 3600}},
        {"http.idle_seconds", {1, 86'400}},
        {"http.handshake_seconds", {1, 3600}},
        {"http.send_seconds", {1, 3600}},
        {"http.connections_per_address", {0, 1'000'000}},
        {"http.streams", {1, 1024}},
        {"http.window_bytes", {64 * 1024, 16 * 1024 * 1024}},
        {"http.header_table_bytes", {0, 64 * 1024}},
        {"overload.requests_in_flight", {1, 1'000'000}},
        {"overload.queued_mib", {1, 1024 * 1024}},
        {"store.map_mib", {16, 16 * 1024 * 1024}},
        {"cluster.lease_seconds", {3, 600}},
        {"stop.drain_delay_seconds", {0, 3600}},
        {"stop.grace_seconds", {1, 3600}},
    };
    std::size_t numbers = 0;
    for (auto const& entry : setting_table()) {
        auto const* const member = std::get_if<std::uint64_t config::*>(&entry.member);
        if (member == nullptr) continue;
        ++numbers;
        ASSERT_TRUE(expected.contains(entry.name)) << entry.name;
        auto const& [least, most] = expected.at(entry.name);
        auto const complaint = std::string(entry.name) + " must be from " + std::to_string(least) +
                               " to " + std::to_string(most);
        auto const error_with = [&](std::uint64_t value) {
            config configuration;
            configuration.** member = value;
            return validation_error(configuration);
        };
        EXPECT_EQ(error_with(least), "") << entry.name;
        EXPECT_EQ(error_with(most), "") << entry.name;
        EXPECT_EQ(error_with(most + 1), complaint);
        EXPECT_EQ(error_with(UINT64_MAX), complaint);
        if (least != 0) EXPECT_EQ(error_with(least - 1), complaint);
    }
    EXPECT_EQ(numbers, expected.size());
}

TEST(config, has_lists_of_numbers) {
    config configuration;
    EXPECT_EQ(key_time_rules(configuration).expiring_ms, store::key_time_rules().expiring_ms);
    EXPECT_EQ(key_time_rules(configuration).unused_ms, store::key_time_rules().unused_ms);
    configuration.changes_expiring_days = {7, 2};
    configuration.changes_unused_days = 0;
    auto constexpr day = store::key_time_rules::day_ms;
    EXPECT_EQ(key_time_rules(configuration).expiring_ms, (std::vector{7 * day, 2 * day}));
    EXPECT_EQ(key_time_rules(configuration).unused_ms, 0);
    auto const entry = std::ranges::find(setting_table(), "changes.expiring_days", &setting::name);
    EXPECT_EQ(to_toml(configuration, *entry), "[7, 2]");
    configuration.changes_expiring_days = {1, 3651};
    EXPECT_EQ(validation_error(configuration),
              "changes.expiring_days must be from 1 to 3650, not 3651");
    configuration.changes_expiring_days = {0};
    EXPECT_NE(validation_error(configuration), "");
    configuration.changes_expiring_days.assign(16, 1);
    EXPECT_EQ(validation_error(configuration), "");
    configuration.changes_expiring_days.push_back(1);
    EXPECT_EQ(validation_error(configuration), "changes.expiring_days must be at most 16 numbers");
}

TEST(config, allows_plain_http_only_where_keys_are_safe) {
    config configuration;
    configuration.listen = {"http://127.0.0.1:8080", "http://[::1]:8080",
                            "unix:/run/latchkey.sock"};
    EXPECT_EQ(validation_error(configuration), "");
    configuration.listen = {"http://0.0.0.0:8080"};
    EXPECT_NE(validation_error(configuration).find("without TLS"), std::string::npos);
    configuration.trusted_proxies = {"10.0.0.0/8"};
    EXPECT_EQ(validation_error(configuration), "");
}

TEST(config, requires_trusted_proxies_where_a_proxy_header_is_expected) {
    config configuration;
    configuration.listen = {"https://127.0.0.1:8443?proxy=v2"};
    EXPECT_NE(validation_error(configuration).find("trusted_proxies"), std::string::npos);
    configuration.listen = {"unix:/run/latchkey.sock?proxy=v2"};
    EXPECT_EQ(validation_error(configuration), "");
    configuration.listen = {"https://0.0.0.0:8443?proxy=v2", "http://0.0.0.0:8080?proxy=v2"};
    configuration.trusted_proxies = {"10.0.0.1"};
    EXPECT_EQ(validation_error(configuration), "");
}

TEST(listen_addresses, of_sockets_fit_into_the_kernels_structure) {
    auto const path_bytes_max = sizeof(sockaddr_un::sun_path) - 1;
    EXPECT_TRUE(parse_listen_address("unix:/" + std::string(path_bytes_max - 1, 'x')));
    EXPECT_FALSE(parse_listen_address("unix:/" + std::string(path_bytes_max, 'x')));
}

TEST(listen_addresses, are_read_and_written) {
    for (auto const* text :
         {"https://127.0.0.1:8443", "http://127.0.0.1:0", "https://[::1]:443", "https://[::]:1",
          "unix:/run/latchkey.sock", "https://127.0.0.1:8443?proxy=v2", "http://[::1]:0?proxy=v2",
          "unix:/run/latchkey.sock?proxy=v2"}) {
        auto const address = parse_listen_address(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->url(), text);
        EXPECT_EQ(address->proxy, address->url().ends_with("?proxy=v2"));
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
