// Which store a command works on: the one that was meant, and no new one in silence.
#include "cli/frame/store_command.hpp"

#include <unistd.h>

#include "command_fixture.hpp"

namespace latchkey::cli {
namespace {

struct store_commands : command_test {
    // Words in their order, `--data` among them.
    command_result run_as_given(std::vector<std::string> words) {
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        command_result result{
            .code = execute_as_given(std::move(words)), .output = {}, .messages = {}};
        result.output = testing::internal::GetCapturedStdout();
        result.messages = testing::internal::GetCapturedStderr();
        return result;
    }
};

TEST_F(store_commands, take_no_empty_value_for_none) {
    for (std::string const option : {"--expires-in", "--expires-at", "--not-before", "--project"})
        for (auto const& words :
             std::vector<std::vector<std::string>>{{option, ""}, {option + '='}}) {
            std::vector<std::string> all{"keys", "create", "--name", "a", "--data", data()};
            all.insert(all.end(), words.begin(), words.end());
            auto const refusal = run_as_given(all);
            EXPECT_EQ(refusal.code, usage_error) << option;
            EXPECT_TRUE(has(refusal.messages, option + ": must not be empty")) << refusal.messages;
        }
    EXPECT_FALSE(std::filesystem::exists(data()));
}

TEST_F(store_commands, leave_the_word_behind_an_empty_value_alone) {
    auto const refusal = run_as_given({"seed", "--data", data(), "--users=", "5"});
    EXPECT_EQ(refusal.code, usage_error);
    EXPECT_TRUE(has(refusal.messages, "--users: must be a whole number")) << refusal.messages;
    EXPECT_EQ(run_as_given({"seed", "--data", data(), "--quiet=", "--users=1", "--posts=1"}).code,
              usage_error)
        << "a flag has no value";
    EXPECT_FALSE(std::filesystem::exists(data()));
    EXPECT_EQ(run_as_given({"seed", "--data", data(), "--users=1", "--posts=1"}).code, done);
}

TEST_F(store_commands, leave_the_words_behind_an_option_alone) {
    EXPECT_EQ(run_as_given({"keys", "create", "--data", data(), "--name", "first"}).code, done);
    auto const rotated = run_as_given({"keys", "rotate", "--data", data(), "1"});
    EXPECT_EQ(rotated.code, done) << rotated.messages;
    auto const stray = file("stray", "");
    auto const created =
        run_as_given({"keys", "create", "--name", "second", "--data", data(), stray});
    EXPECT_EQ(created.code, usage_error) << created.messages;
    EXPECT_EQ(run_as_given({"keys", "show", "--data", data(), "3"}).code, failed)
        << "and nothing was made";
    EXPECT_EQ(run_as_given({"keys", "create", "--name", "third", "--scope", "users:read",
                            "posts:read", "--data", data()})
                  .code,
              usage_error);
    EXPECT_EQ(run_as_given({"webhooks", "create", "--type", "user.*", "--type", "post.*", "--data",
                            data(), "https://hooks.example.com/in"})
                  .code,
              done);
}

TEST_F(store_commands, refuse_names_that_nothing_can_have) {
    for (auto const& name : {std::string(), std::string(65, 'x'), std::string("a\x1b[2J")}) {
        auto const leave = run({"cluster", "leave", name});
        EXPECT_EQ(leave.code, usage_error) << leave.messages;
        EXPECT_TRUE(has(leave.messages, "1 to 64 bytes of visible text")) << leave.messages;
    }
    EXPECT_EQ(run({"cluster", "leave", std::string(64, 'x')}).code, failed) << "there is no store";
    auto const list = run({"keys", "list", "--project", "No Project"});
    EXPECT_EQ(list.code, usage_error) << list.messages;
    EXPECT_TRUE(has(list.messages, "--project must be 1 to 64")) << list.messages;
}

TEST_F(store_commands, make_no_new_store_in_silence) {
    for (auto const& words :
         std::vector<std::vector<std::string>>{{"keys", "rotate", "1"},
                                               {"keys", "deactivate", "1"},
                                               {"keys", "update", "1", "--name", "other"},
                                               {"keys", "list"},
                                               {"webhooks", "disable", "1"},
                                               {"events", "secret", "delete", "shop"},
                                               {"reset-time"}}) {
        auto const result = run(words);
        EXPECT_EQ(result.code, failed) << words.back();
        EXPECT_FALSE(std::filesystem::exists(data())) << words.back();
    }
    EXPECT_TRUE(has(run({"keys", "rotate", "1"}).messages, "there is no store in " + data()));
    for (bool const is_first : {true, false}) {
        auto const created = run({"keys", "create", "--name", "first"});
        EXPECT_EQ(created.code, done);
        EXPECT_EQ(has(created.messages, "a new one is made"), is_first);
    }
}

TEST_F(store_commands, of_root_make_no_files_for_another_user) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make them";
    std::filesystem::create_directory(data());
    ASSERT_EQ(::chown(data().c_str(), 4711, 4711), 0);
    for (auto const& words :
         std::vector<std::vector<std::string>>{{"keys", "create", "--name", "first"},
                                               {"seed", "--users", "1"},
                                               {"cluster", "init"}}) {
        auto const result = run(words);
        EXPECT_EQ(result.code, failed) << words.front();
        EXPECT_TRUE(has(result.messages, "belongs to another user")) << result.messages;
    }
    EXPECT_TRUE(std::filesystem::is_empty(data()));
    // One that is whole may be used: what is written goes into files that are there.
    ASSERT_EQ(::chown(data().c_str(), 0, 0), 0);
    EXPECT_EQ(run({"keys", "create", "--name", "first"}).code, done);
    ASSERT_EQ(::chown(data().c_str(), 4711, 4711), 0);
    EXPECT_EQ(run({"keys", "create", "--name", "second"}).code, done);
    std::filesystem::remove(data() + "/store.mdb-lock");
    for (auto const& words : std::vector<std::vector<std::string>>{{"check"}, {"keys", "list"}})
        EXPECT_EQ(run(words).code, failed);
    EXPECT_FALSE(std::filesystem::exists(data() + "/store.mdb-lock"));
}

TEST_F(store_commands, check_the_master_key_and_name_what_it_does_not_open) {
    EXPECT_EQ(run({"events", "secret", "set", "shop"}).code, done);
    EXPECT_EQ(run({"webhooks", "create", "https://hooks.example.com/in"}).code, done);
    auto const key = data() + "/master.key", kept = folder_ + "/kept.key";
    EXPECT_EQ(run({"check"}).code, done);
    auto const expect_locked = [&](std::vector<std::string> const& words, std::string const& path) {
        auto const result = run(words);
        EXPECT_EQ(result.code, failed);
        for (auto const* const subject :
             {"the secret of the source shop", "the secret of webhook 1"})
            EXPECT_TRUE(has(result.messages, std::string(subject) +
                                                 " was encrypted under another "
                                                 "master key than " +
                                                 path))
                << result.messages;
        EXPECT_TRUE(has(result.messages, "what to do: put the master.key of this store"));
        EXPECT_FALSE(has(result.messages, "failing disk")) << result.messages;
    };
    // As after a restore without it, which makes a new one.
    std::filesystem::rename(key, kept);
    auto const keyless = run({"check"});
    EXPECT_EQ(keyless.code, failed);
    EXPECT_TRUE(has(keyless.messages, "without its master key, " + key)) << keyless.messages;
    file("data/master.key", std::string(32, 'k'));
    expect_locked({"check"}, key);
    std::filesystem::remove(key);
    auto const wrong = file("wrong.key", std::string(32, 'w'));
    expect_locked({"check", "--store-master-key-file", wrong}, wrong);
    EXPECT_EQ(run({"check", "--store-master-key-file", kept}).code, done);
    auto const missing = run({"check", "--store-master-key-file", folder_ + "/nowhere"});
    EXPECT_NE(missing.code, done);
    EXPECT_TRUE(has(missing.messages, "nowhere")) << missing.messages;
    auto const report = run({"check", "--json", "--store-master-key-file", wrong});
    EXPECT_TRUE(has(report.output, R"("valid":false)")) << report.output;
    EXPECT_TRUE(has(report.output, "put the master.key of this store")) << report.output;
}

}  // namespace
}  // namespace latchkey::cli
