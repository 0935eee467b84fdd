#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/frame/serve_settings.hpp"

namespace latchkey::cli {
namespace {

struct toml_file {
    std::filesystem::path path = std::filesystem::temp_directory_path() /
                                 ("settings-" + std::to_string(::getpid()) + ".toml");
    explicit toml_file(std::string const& text) { std::ofstream(path) << text; }
    ~toml_file() { std::filesystem::remove(path); }
};

std::string load_error(std::string const& text) {
    toml_file const toml(text);
    auto const result = load_config(toml.path);
    return result ? "" : result.error().message;
}

TEST(settings_file, sets_its_entries_and_keeps_other_defaults) {
    toml_file const toml(R"(
data = "/var/lib/latchkey"
listen = ["https://[::]:443", "unix:/run/latchkey.sock"]
workers = 3
[auth]
allow_query = false
[changes]
expiring_days = [30, 7]
)");
    auto const result = load_config(toml.path);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->data, "/var/lib/latchkey");
    EXPECT_EQ(result->listen.size(), 2u);
    EXPECT_EQ(result->workers, 3u);
    EXPECT_FALSE(result->auth_allow_query);
    EXPECT_TRUE(result->auth_allow_body);
    EXPECT_EQ(result->changes_expiring_days, (std::vector<std::uint64_t>{30, 7}));
}

TEST(settings_file, errors_name_line_and_setting) {
    EXPECT_NE(load_error("workers = \"two\"").find("workers must be a whole number (line 1)"),
              std::string::npos);
    EXPECT_NE(
        load_error("\n[auth]\nallow_quer = true")
            .find("there is no setting 'auth.allow_quer'; did you mean auth.allow_query? (line 3)"),
        std::string::npos);
    EXPECT_NE(load_error("workers = ").find("line 1"), std::string::npos);
    EXPECT_NE(load_error("workers = -1").find("workers"), std::string::npos);
    EXPECT_NE(load_error("listen = \"https://127.0.0.1:1\"").find("a list of strings"),
              std::string::npos);
    for (auto const* const text : {"7", "[\"7\"]", "[-7]", "[7.0]"})
        EXPECT_NE(load_error(std::string("changes.expiring_days = ") + text)
                      .find("a list of whole numbers"),
                  std::string::npos)
            << text;
    EXPECT_FALSE(load_config("/nowhere/latchkey.toml"));
    EXPECT_FALSE(load_config(std::filesystem::temp_directory_path()))
        << "an unreadable file is an error";
}

TEST(settings_file, has_a_table_for_each_issuer_of_tokens) {
    toml_file const toml(R"(
[[jwt]]
issuer = "https://a.example.com"
audience = "one"
jwks = "/etc/latchkey/a.jwks"
[[jwt]]
issuer = "https://b.example.com"
audience = ["one", "two"]
jwks = "/etc/latchkey/b.jwks"
algorithms = ["PS256"]
leeway_seconds = 0
subject = "azp"
scopes = ""
type = "at+jwt"
)");
    auto const result = load_config(toml.path);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->jwt.size(), 2u);
    EXPECT_EQ(result->jwt[0].audience, std::vector<std::string>{"one"});
    EXPECT_EQ(result->jwt[0].algorithms, (std::vector<std::string>{"RS256", "ES256", "EdDSA"}));
    EXPECT_EQ(result->jwt[0].leeway_seconds, 5u);
    EXPECT_EQ(result->jwt[0].subject + result->jwt[0].scopes, "subscope");
    EXPECT_EQ(result->jwt[1].audience, (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(result->jwt[1].subject + result->jwt[1].scopes + result->jwt[1].type, "azpat+jwt");
    EXPECT_TRUE(server::find_errors(result->jwt).empty());
    // What is shown can be read again.
    auto const text = server::to_toml(result->jwt);
    std::ofstream(toml.path) << text;
    EXPECT_EQ(load_config(toml.path)->jwt, result->jwt);
}

TEST(settings_file, says_what_is_wrong_with_an_issuer_of_tokens) {
    auto const error_of = [](std::string const& line) { return load_error("[[jwt]]\n" + line); };
    EXPECT_NE(error_of("leeway_seconds = \"5\"").find("must be a whole number (line 2)"),
              std::string::npos);
    EXPECT_NE(error_of("audience = 1").find("a string or a list of strings"), std::string::npos);
    EXPECT_NE(error_of("audience = [1]").find("a list of strings (line 2)"), std::string::npos);
    EXPECT_NE(error_of("key = \"x\"").find("there is no setting 'jwt.key' (line 2)"),
              std::string::npos);
    EXPECT_NE(load_error("jwt = 1").find("[[jwt]]"), std::string::npos);
    EXPECT_NE(load_error("jwt = [1]").find("[[jwt]]"), std::string::npos);
    server::jwt_settings table{.issuer = "https://a", .audience = {"a"}, .jwks = "/x"};
    auto const refusal = [](server::jwt_settings const& entry) {
        std::string text;
        for (auto const& each : server::find_errors({entry})) text += each.message + "\n";
        return text;
    };
    EXPECT_EQ(refusal(table), "");
    auto const error_after = [&](auto change) {
        auto entry = table;
        change(entry);
        return refusal(entry);
    };
    EXPECT_NE(error_after([](auto& entry) { entry.issuer = ""; }).find("issuer"),
              std::string::npos);
    EXPECT_NE(error_after([](auto& entry) { entry.audience = {}; }).find("audience"),
              std::string::npos);
    EXPECT_NE(error_after([](auto& entry) { entry.audience = {""}; }).find("audience"),
              std::string::npos);
    EXPECT_NE(error_after([](auto& entry) { entry.jwks = ""; }).find("jwks"), std::string::npos);
    EXPECT_NE(error_after([](auto& entry) { entry.algorithms = {"none"}; }).find("'none'"),
              std::string::npos);
    EXPECT_NE(error_after([](auto& entry) { entry.leeway_seconds = 61; }).find("0 to 60"),
              std::string::npos);
    EXPECT_NE(error_after([](auto& entry) { entry.subject = "email"; }).find("azp"),
              std::string::npos);
    EXPECT_EQ(server::find_errors({table, table}).size(), 1u);
}

setting_resolution examine(std::vector<std::string> arguments, std::string const& text = "") {
    toml_file const toml(text);
    CLI::App program;
    setting_flags flags;
    flags.add_to(program);
    if (!text.empty()) {
        arguments.push_back("--config");
        arguments.push_back(toml.path);
    }
    std::reverse(arguments.begin(), arguments.end());
    program.parse(arguments);
    return flags.examine(false);
}

base::result<server::config> resolve(std::vector<std::string> arguments,
                                     std::string const& text = "") {
    auto resolved = examine(std::move(arguments), text);
    if (!resolved.faults.empty()) return base::error{sentence_of(resolved.faults)};
    return std::move(resolved.values);
}

TEST(setting_flags, take_precedence_over_the_file) {
    auto const result = resolve({"--workers", "2", "--auth-allow-query", "true"},
                                "workers = 3\n[auth]\nallow_query = false\nallow_body = false");
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->workers, 2u);
    EXPECT_TRUE(result->auth_allow_query);
    EXPECT_FALSE(result->auth_allow_body);
}

// Sets a variable for one test.
struct variable {
    std::string name;
    variable(std::string variable_name, std::string const& value) : name(std::move(variable_name)) {
        ::setenv(name.c_str(), value.c_str(), 1);
    }
    ~variable() { ::unsetenv(name.c_str()); }
};

std::string resolve_error(std::vector<std::string> arguments, std::string const& text = "") {
    auto const result = resolve(std::move(arguments), text);
    return result ? "" : result.error().message;
}

TEST(setting_variables, are_named_by_one_rule_and_lie_between_file_and_flags) {
    variable const map("LATCHKEY_STORE_MAP_MIB", "128"), workers("LATCHKEY_WORKERS", "4"),
        query("LATCHKEY_AUTH_ALLOW_QUERY", "false"), empty("LATCHKEY_CONNECTIONS", "");
    auto const result = resolve({"--workers", "2"}, "workers = 3\n[store]\nmap_mib = 64");
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->store_map_mib, 128u);
    EXPECT_EQ(result->workers, 2u);
    EXPECT_FALSE(result->auth_allow_query);
    EXPECT_EQ(result->connections, server::config().connections) << "an empty one counts as none";
}

TEST(setting_variables, can_set_every_setting) {
    for (auto const& entry : server::setting_table()) {
        auto const name = server::variable_of(entry);
        EXPECT_EQ(name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_2"), std::string::npos)
            << name;
        variable const wrong(name, "\x01 [");
        bool const text =
            std::holds_alternative<std::string server::config::*>(entry.member) ||
            std::holds_alternative<std::vector<std::string> server::config::*>(entry.member);
        auto const result = resolve({});
        if (!text) EXPECT_TRUE(result.error().message.starts_with(name + ": ")) << name;
        if (text && result) EXPECT_NE(server::to_toml(*result, entry), server::to_toml({}, entry));
    }
}

TEST(setting_variables, have_lists_with_commas_or_in_toml) {
    variable const days("LATCHKEY_CHANGES_EXPIRING_DAYS", "30,7"),
        listen("LATCHKEY_LISTEN", "https://127.0.0.1:1,http://127.0.0.1:2"),
        proxies("LATCHKEY_TRUSTED_PROXIES", R"(["10.0.0.0/8", "::1"])");
    auto const result = resolve({});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->changes_expiring_days, (std::vector<std::uint64_t>{30, 7}));
    EXPECT_EQ(result->listen,
              (std::vector<std::string>{"https://127.0.0.1:1", "http://127.0.0.1:2"}));
    EXPECT_EQ(result->trusted_proxies, (std::vector<std::string>{"10.0.0.0/8", "::1"}));
    variable const broken("LATCHKEY_TRUSTED_PROXIES", "[\"10.0.0.0/8\"");
    EXPECT_TRUE(resolve_error({}).starts_with(
        "LATCHKEY_TRUSTED_PROXIES: trusted_proxies is not a list of TOML: "));
}

TEST(setting_variables, have_lists_with_spaces_too) {
    variable const days("LATCHKEY_CHANGES_EXPIRING_DAYS", " 30 ,\t7"),
        proxies("LATCHKEY_TRUSTED_PROXIES", "10.0.0.0/8, 192.168.0.0/16 ");
    auto const result = resolve({});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->changes_expiring_days, (std::vector<std::uint64_t>{30, 7}));
    EXPECT_EQ(result->trusted_proxies, (std::vector<std::string>{"10.0.0.0/8", "192.168.0.0/16"}));
}

TEST(setting_variables, that_no_setting_has_are_named) {
    auto const own_count = unknown_variables().size();  // of who runs the tests
    variable const known("LATCHKEY_WORKERS", "2"), file("LATCHKEY_CONFIG", ""),
        url("LATCHKEY_URL", "x"), host("LATCHKEY_SERVICE_HOST", "10.0.0.1"),
        port("LATCHKEY_PORT_8443_TCP_ADDR", "10.0.0.1"),
        management("LATCHKEY_MANAGEMENT_PORT", "tcp://10.0.0.1:9464");
    EXPECT_EQ(unknown_variables().size(), own_count);
    variable const wrong("LATCHKEY_WORKER", "2"), far("LATCHKEY_QQQQQQQQQQQQQQ", "1");
    auto const sentences = unknown_variables();
    auto const says = [&](std::string const& sentence) {
        return std::ranges::find(sentences, sentence) != sentences.end();
    };
    EXPECT_TRUE(
        says("the variable LATCHKEY_WORKER belongs to no setting and has no effect; did "
             "you mean LATCHKEY_WORKERS?"));
    EXPECT_TRUE(
        says("the variable LATCHKEY_QQQQQQQQQQQQQQ belongs to no setting and has no effect"));
}

TEST(setting_variables, name_the_file_too) {
    auto const path = toml_file("").path.string() + ".of-variable";
    std::ofstream(path) << "workers = 7";
    variable const file("LATCHKEY_CONFIG", path);
    EXPECT_EQ(resolve({})->workers, 7u);
    std::filesystem::remove(path);
}

TEST(settings, report_all_that_is_wrong_at_once_by_place) {
    variable const map("LATCHKEY_STORE_MAP_MIB", "1"), idle("LATCHKEY_HTTP_IDLE_SECONDS", "soon");
    auto const resolved = examine({"--http-body-bytes", "1"},
                                  "workers = \"two\"\n[auth]\nallow_quer = true\n"
                                  "[http]\nheader_seconds = 0\n[log]\nlevel = \"loud\"\n"
                                  "[webhooks]\nallow_private = [\n\"10.0.0.0/8\",\n\"x\",\n\"y\"]");
    auto const file = toml_file("").path.string();
    std::vector<std::string> const sentences{
        file + ": workers must be a whole number (line 1)",
        file + ": there is no setting 'auth.allow_quer'; did you mean auth.allow_query? (line 3)",
        file + ": http.header_seconds must be from 1 to 3600 (line 5)",
        file + ": log.level must be info, warning or error (line 7)",
        file + ": webhooks.allow_private: 'x' is not a network such as 10.0.0.0/8 or ::1 (line 11)",
        file + ": webhooks.allow_private: 'y' is not a network such as 10.0.0.0/8 or ::1 (line 12)",
    };
    ASSERT_EQ(resolved.faults.size(), sentences.size() + 3) << sentence_of(resolved.faults);
    for (std::size_t i = 0; i < sentences.size(); ++i)
        EXPECT_EQ(sentence_of(resolved.faults[i]), sentences[i]);
    auto const all = sentence_of(resolved.faults);
    for (std::string const part :
         {"LATCHKEY_HTTP_IDLE_SECONDS: http.idle_seconds must be a whole number",
          "--http-body-bytes: http.body_bytes must be from 1024",
          "LATCHKEY_STORE_MAP_MIB: store.map_mib must be from 16"})
        EXPECT_NE(all.find(part), std::string::npos) << part << " in " << all;
    EXPECT_TRUE(json_of(resolved.faults)
                    .starts_with("[{\"file\":\"" + file +
                                 "\",\"line\":1,\"source\":null,\"setting\":\"workers\","
                                 "\"message\":\"workers must be a whole number"))
        << json_of(resolved.faults);
}

TEST(credentials, stand_below_all_other_sources) {
    auto const folder =
        std::filesystem::temp_directory_path() / ("credentials-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    for (auto const* const name : {"tls.certificate", "tls.key", "cluster.password", "data"})
        std::ofstream(folder / name) << "x";
    variable const directory("CREDENTIALS_DIRECTORY", folder);
    auto const settings = resolve({});
    ASSERT_TRUE(settings) << settings.error().message;
    EXPECT_EQ(settings->tls_certificate, folder / "tls.certificate");
    EXPECT_EQ(settings->tls_key, folder / "tls.key");
    EXPECT_EQ(settings->cluster_password_file, folder / "cluster.password");
    EXPECT_EQ(settings->store_master_key_file, "") << "it was not passed in";
    EXPECT_EQ(settings->data, default_data_directory()) << "no secret";
    EXPECT_EQ(resolve({}, "[tls]\ncertificate = \"c.pem\"\nkey = \"k.pem\"")->tls_key, "k.pem");
    std::filesystem::remove_all(folder);
}

TEST(setting_flags, repeat_for_lists) {
    auto const result =
        resolve({"--listen", "https://127.0.0.1:1", "--listen", "http://127.0.0.1:2"});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->listen,
              (std::vector<std::string>{"https://127.0.0.1:1", "http://127.0.0.1:2"}));
    auto const days = resolve({"--changes-expiring-days", "30", "--changes-expiring-days", "7"},
                              "changes.expiring_days = [5]");
    ASSERT_TRUE(days) << days.error().message;
    EXPECT_EQ(days->changes_expiring_days, (std::vector<std::uint64_t>{30, 7}));
    EXPECT_FALSE(resolve({"--changes-expiring-days", "7d"}));
}

TEST(setting_flags, errors_name_the_flag) {
    auto const result = resolve({"--workers", "many"});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "--workers: workers must be a whole number");
    EXPECT_FALSE(resolve({"--listen", "http://0.0.0.0:80"}));
}

}  // namespace
}  // namespace latchkey::cli
