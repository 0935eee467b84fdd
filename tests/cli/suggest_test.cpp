// What is said of words that no command understands.
#include "cli/words/suggest.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cli/command_program.hpp"

namespace latchkey::cli {
namespace {

// The sentence about words that cannot be parsed.
std::string sentence_about(std::vector<std::string> words) {
    CLI::App program("", "latchkey");
    int code = done;
    add_commands(program, code);
    std::reverse(words.begin(), words.end());
    try {
        program.parse(words);
    } catch (CLI::ParseError const&) {
        return explain_unknown(program);
    }
    return "it was understood";
}

TEST(suggestions, are_near_or_absent) {
    using words = std::vector<std::string>;
    words const candidates{"create", "list", "--version", "--json", "--expires-in", "--expires-at"};
    EXPECT_EQ(near_words("crate", candidates), words{"create"});
    EXPECT_EQ(near_words("version", candidates), words{"--version"});
    EXPECT_EQ(near_words("--jsn", candidates), words{"--json"});
    EXPECT_EQ(near_words("--expires", candidates), (words{"--expires-in", "--expires-at"}));
    EXPECT_EQ(near_words("--bogus", candidates), words{});
    EXPECT_EQ(near_words("x", candidates), words{});
}

TEST(suggestions, name_the_word_and_what_is_near) {
    EXPECT_EQ(sentence_about({"serv"}),
              "latchkey does not understand 'serv': did you mean latchkey serve?");
    EXPECT_EQ(sentence_about({"version"}),
              "latchkey does not understand 'version': did you mean latchkey --version?");
    EXPECT_EQ(sentence_about({"keys", "revoke", "7"}),
              "latchkey keys does not understand 'revoke': did you mean latchkey keys deactivate?");
    EXPECT_EQ(sentence_about({"keys", "list", "--stat=active"}),
              "latchkey keys list does not understand '--stat': did you mean latchkey keys list "
              "--state?");
}

TEST(suggestions, list_what_there_is_where_nothing_is_near) {
    auto const sentence = sentence_about({"keys", "--bogus"});
    EXPECT_TRUE(
        sentence.starts_with("latchkey keys does not understand '--bogus'; it has the "
                             "commands create, list, show"))
        << sentence;
    EXPECT_TRUE(sentence_about({"keys"}).starts_with("latchkey keys needs a command: create, "));
    EXPECT_TRUE(sentence_about({}).starts_with("latchkey needs a command: serve, "));
    // Another error is left to CLI11.
    EXPECT_EQ(sentence_about({"keys", "show"}), "");
}

}  // namespace
}  // namespace latchkey::cli
