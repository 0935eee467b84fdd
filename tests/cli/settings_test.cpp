#include "cli/settings.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace latchkey::cli {
namespace {

struct file {
    std::filesystem::path path = std::filesystem::temp_directory_path() /
                                 ("settings-" + std::to_string(::getpid()) + ".toml");
    explicit file(std::string const& text) { std::ofstream(path) << text; }
    ~file() { std::filesystem::remove(path); }
};

std::string why_not(std::string const& text) {
    file const toml(text);
    auto const made = load_config(toml.path);
    return made ? "" : made.error().message;
}

TEST(settings_file, sets_what_it_names_and_leaves_the_rest) {
    file const toml(R"(
data = "/var/lib/latchkey"
listen = ["https://[::]:443", "unix:/run/latchkey.sock"]
workers = 3
[auth]
allow_query = false
)");
    auto const made = load_config(toml.path);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->data, "/var/lib/latchkey");
    EXPECT_EQ(made->listen.size(), 2u);
    EXPECT_EQ(made->workers, 3u);
    EXPECT_FALSE(made->auth_allow_query);
    EXPECT_TRUE(made->auth_allow_body);
}

TEST(settings_file, says_where_it_is_wrong) {
    EXPECT_NE(why_not("workers = \"two\"").find("workers must be a whole number (line 1)"),
              std::string::npos);
    EXPECT_NE(why_not("\n[auth]\nallow_quer = true")
                  .find("there is no setting 'auth.allow_quer' (line 3)"),
              std::string::npos);
    EXPECT_NE(why_not("workers = ").find("line 1"), std::string::npos);
    EXPECT_NE(why_not("workers = -1").find("workers"), std::string::npos);
    EXPECT_NE(why_not("listen = \"https://127.0.0.1:1\"").find("a list of texts"),
              std::string::npos);
    EXPECT_FALSE(load_config("/nowhere/latchkey.toml"));
    EXPECT_FALSE(load_config(std::filesystem::temp_directory_path()))
        << "what cannot be read is not empty";
}

base::result<server::config> resolve(std::vector<std::string> arguments,
                                     std::string const& text = "") {
    file const toml(text);
    CLI::App program;
    setting_flags flags;
    flags.add_to(program);
    if (!text.empty()) arguments.push_back("--config"), arguments.push_back(toml.path);
    std::reverse(arguments.begin(), arguments.end());
    program.parse(arguments);
    int code = 0;
    return flags.resolve(code);
}

TEST(setting_flags, win_over_the_file) {
    auto const made = resolve({"--workers", "2", "--auth-allow-query", "true"},
                              "workers = 3\n[auth]\nallow_query = false\nallow_body = false");
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->workers, 2u);
    EXPECT_TRUE(made->auth_allow_query);
    EXPECT_FALSE(made->auth_allow_body);
}

TEST(setting_flags, repeat_for_lists) {
    auto const made =
        resolve({"--listen", "https://127.0.0.1:1", "--listen", "http://127.0.0.1:2"});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->listen,
              (std::vector<std::string>{"https://127.0.0.1:1", "http://127.0.0.1:2"}));
}

TEST(setting_flags, say_which_of_them_is_wrong) {
    auto const made = resolve({"--workers", "many"});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, "--workers: workers must be a whole number");
    EXPECT_FALSE(resolve({"--listen", "http://0.0.0.0:80"}));
}

}  // namespace
}  // namespace latchkey::cli
