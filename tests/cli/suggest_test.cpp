// What is said of words that no command understands.
#include "cli/frame/suggest.hpp"

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

TEST(suggestions, count_the_edits_between_words) {
    EXPECT_EQ(edit_distance("serve", "serve"), 0u);
    EXPECT_EQ(edit_distance("serv", "serve"), 1u);
    EXPECT_EQ(edit_distance("lsit", "list"), 1u);  // a swap is one
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(edit_distance("abc", ""), 3u);
}

TEST(suggestions, are_near_or_absent) {
    std::vector<std::string> const words{"create", "list", "--version", "--json"};
    EXPECT_EQ(nearest("crate", words), "create");
    EXPECT_EQ(nearest("version", words), "--version");
    EXPECT_EQ(nearest("--jsn", words), "--json");
    EXPECT_EQ(nearest("--bogus", words), "");
    EXPECT_EQ(nearest("x", words), "");
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
