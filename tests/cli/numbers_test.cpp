// Every option of every command that takes a number takes nothing else, and says what it takes; none
// takes an empty value for none.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cli/command_program.hpp"
#include "cli/frame/serve_settings.hpp"
#include "server/process/config.hpp"

namespace latchkey::cli {
namespace {

constexpr auto no_numbers = {"",    " ",   "-1",  "-0",  "+1",
                             " 1",  "1 ",  "1,0", "1.0", "1e3",
                             "0x1", "0b1", "010", "ten", "18446744073709551616"};

// The type is that which CLI11 names after the variable, or that of take_number().
bool takes_number(CLI::Option const& option) {
    auto const type = option.get_type_name();
    for (auto const* const each : {"UINT", "INT", "FLOAT", "NUMBER from "})
        if (type.starts_with(each)) return true;
    return false;
}

using named_options = std::vector<std::pair<std::string, CLI::Option*>>;

named_options find_options(CLI::App& command, bool (*is_sought)(CLI::Option const&)) {
    named_options all;
    for (auto* const option : command.get_options())
        if (is_sought(*option))
            all.emplace_back(command.get_name() + " " + option->get_name(), option);
    for (auto* const each : command.get_subcommands([](CLI::App*) { return true; }))
        for (auto const& entry : find_options(*each, is_sought)) all.push_back(entry);
    return all;
}

// What is said of the text; empty: it is taken.
std::string error_of(CLI::Option& option, std::string const& text) {
    option.clear();
    option.add_result(text);
    try {
        option.run_callback();
    } catch (CLI::ParseError const& error) {
        return error.what();
    }
    return {};
}

TEST(numbers, are_all_that_options_of_numbers_take) {
    CLI::App program("", "latchkey");
    int code = done;
    add_commands(program, code);
    auto const options = find_options(program, takes_number);
    EXPECT_GT(options.size(), 25u);
    for (auto const& [name, option] : options) {
        auto const type = option->get_type_name();
        auto const place = type.find(" to ");
        auto const begin = option->get_name() + ": must be a whole number from ";
        for (std::string const text : no_numbers)
            EXPECT_TRUE(error_of(*option, text).starts_with(begin)) << name << " '" << text << "'";
        ASSERT_NE(place, type.npos) << name << " has no range";
        auto const most = std::stoull(type.substr(place + 4));
        EXPECT_EQ(error_of(*option, "1"), "") << name;
        EXPECT_EQ(error_of(*option, std::to_string(most)), "") << name;
        if (most != UINT64_MAX) EXPECT_NE(error_of(*option, std::to_string(most + 1)), "") << name;
    }
}

TEST(options, take_no_empty_value_but_settings_and_descriptions) {
    CLI::App program("", "latchkey");
    int code = done;
    add_commands(program, code);
    auto const options = find_options(program, [](CLI::Option const& option) {
        auto const name = option.get_name();
        return option.get_items_expected_max() != 0 && !option.get_positional() &&
               name != "--description" && !is_setting_flag(name);
    });
    EXPECT_GT(options.size(), 80u);
    for (auto const& [name, option] : options)
        EXPECT_TRUE(error_of(*option, "").starts_with(option->get_name() + ": ")) << name;
    for (auto const& [name, option] : find_options(program, [](CLI::Option const& option) {
             return option.get_name() == "--description" || option.get_name() == "--access-log";
         }))
        EXPECT_EQ(error_of(*option, ""), "") << name;
}

TEST(numbers, are_all_that_settings_of_numbers_take) {
    for (auto const& entry : server::setting_table()) {
        server::config settings;
        auto const* const number = std::get_if<std::uint64_t server::config::*>(&entry.member);
        auto const* const list =
            std::get_if<std::vector<std::uint64_t> server::config::*>(&entry.member);
        if (number == nullptr && list == nullptr) continue;
        for (std::string const text : no_numbers) {
            auto const outcome = assign(settings, entry, {text});
            ASSERT_FALSE(outcome) << entry.name << " '" << text << "'";
            EXPECT_TRUE(outcome.error().message.starts_with(std::string(entry.name) + " must be"));
        }
        ASSERT_TRUE(assign(settings, entry, {std::to_string(UINT64_MAX)}));
        auto const errors = server::find_errors(settings);
        EXPECT_TRUE(std::ranges::any_of(
            errors, [&](auto const& each) { return each.setting == entry.name; }))
            << entry.name << " has no range";
    }
}

}  // namespace
}  // namespace latchkey::cli
