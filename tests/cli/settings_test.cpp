#include "cli/settings.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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
    EXPECT_NE(load_error("\n[auth]\nallow_quer = true")
                  .find("there is no setting 'auth.allow_quer' (line 3)"),
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
    EXPECT_TRUE(server::validate(result->jwt));
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
    auto const refusal = [](server::jwt_settings entry) {
        auto const valid = server::validate({entry});
        return valid ? "" : valid.error().message;
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
    EXPECT_FALSE(server::validate({table, table}));
}

base::result<server::config> resolve(std::vector<std::string> arguments,
                                     std::string const& text = "") {
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
    int code = 0;
    return flags.resolve(code);
}

TEST(setting_flags, take_precedence_over_the_file) {
    auto const result = resolve({"--workers", "2", "--auth-allow-query", "true"},
                                "workers = 3\n[auth]\nallow_query = false\nallow_body = false");
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->workers, 2u);
    EXPECT_TRUE(result->auth_allow_query);
    EXPECT_FALSE(result->auth_allow_body);
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
