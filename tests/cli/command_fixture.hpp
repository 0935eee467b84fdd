// Commands of `latchkey` in this process, over a store in a temporary directory.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_program.hpp"
#include "cli/frame/standard_output.hpp"
#include "domain/snapshot.hpp"
#include "domain/writer.hpp"

namespace latchkey::cli {

struct command_result {
    int code = done;
    std::string output;    // of programs
    std::string messages;  // for people
};

class command_test : public testing::Test {
  protected:
    command_test() {
        auto name = (std::filesystem::temp_directory_path() / "cli-test-XXXXXX").string();
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    ~command_test() override { std::filesystem::remove_all(folder_); }

    std::string data() const { return folder_ + "/data"; }
    // Writes a file and returns its path.
    std::string file(std::string const& name, std::string const& text) const {
        auto const path = folder_ + "/" + name;
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }

    // As main() does, with `--data` added.
    int execute(std::vector<std::string> words) const {
        words.insert(words.end(), {"--data", data()});
        return execute_as_given(words);
    }
    static int execute_as_given(std::vector<std::string> const& words) {
        CLI::App program;
        int code = done;
        add_commands(program, code);
        try {
            parse_words(program, words);
        } catch (CLI::ParseError const& error) {
            return end_output(program.exit(error) == 0 ? done : usage_error);
        }
        return end_output(code);
    }
    command_result run(std::vector<std::string> words) const {
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        command_result result{.code = execute(std::move(words)), .output = {}, .messages = {}};
        result.output = testing::internal::GetCapturedStdout();
        result.messages = testing::internal::GetCapturedStderr();
        return result;
    }

    std::unique_ptr<store::environment> open(std::uint64_t changes_max = 0) const {
        return store::environment::open({.directory = data(),
                                         .map_bytes = 64u << 20,
                                         .sync = false,
                                         .records_changes = true,
                                         .changes_max = changes_max})
            .value();
    }
    // Some changes: users with these names.
    void add_users(std::vector<std::string> const& names) const {
        auto const store = open();
        constexpr std::size_t group_max = 64;  // of domain::apply
        std::vector<domain::command> commands;
        auto const apply = [&] {
            for (auto const& each : domain::apply(*store, std::exchange(commands, {})).value())
                EXPECT_EQ(each.problem, base::problem::none);
        };
        for (auto const& name : names) {
            commands.push_back({.action = domain::create_user{name, name + "@example.com"}});
            if (commands.size() == group_max) apply();
        }
        apply();
    }

    std::string folder_;
};

inline bool has(std::string_view text, std::string_view part) {
    return text.find(part) != text.npos;
}

}  // namespace latchkey::cli
