#include "store/backup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "store/inspect.hpp"
#include "support.hpp"

namespace latchkey::store {
namespace {

std::string copied(environment& store, std::string const& path, bool compact = false) {
    int const to = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT_TRUE(copy_to(store, to, compact));
    ::close(to);
    return path;
}

// A store with some users, closed again, and a copy of it.
std::string made(std::string const& directory, std::string const& copy, int users) {
    auto const store = open_store(directory);
    for (int i = 0; i < users; ++i)
        made_user(one(*store, new_user("u", "u" + std::to_string(i) + "@example.org")));
    return copied(*store, copy);
}

TEST(backups, take_the_place_of_nothing_and_of_a_store) {
    temporary_directory const outer;
    auto const file = made(outer.path() + "/a", outer.path() + "/copy", 5);
    auto const fresh = outer.path() + "/deep/b";
    auto const first = replace(fresh, file, false);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_FALSE(first->kept_before);
    auto const seen = inspect(fresh);
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(seen->users, 5u);
    EXPECT_TRUE(seen->wrong.empty());

    EXPECT_FALSE(replace(fresh, file, false));
    auto const second = replace(fresh, made(outer.path() + "/c", outer.path() + "/copy2", 7), true);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_TRUE(second->kept_before);
    auto const store = open_store(fresh);
    expect_whole(*store);
    EXPECT_EQ(made_user(one(*store, new_user("x", "x@example.org"))).id, 8);
}

TEST(backups, do_not_replace_what_is_open) {
    temporary_directory const outer;
    auto const file = made(outer.path() + "/a", outer.path() + "/copy", 1);
    auto const store = open_store(outer.path() + "/b");
    // In a process of its own, since LMDB's lock is the process'.
    auto const attempt = [&] {
        auto const result = replace(outer.path() + "/b", file, true);
        std::fprintf(stderr, "%s\n", result ? "replaced" : result.error().message.c_str());
        ::_exit(0);
    };
    testing::GTEST_FLAG(death_test_style) = "fast";
    EXPECT_EXIT(attempt(), testing::ExitedWithCode(0), "has the store in .* open");
    ASSERT_TRUE(store->claim_for_server());
    EXPECT_EXIT(attempt(), testing::ExitedWithCode(0), "serves .*: stop it first");
}

TEST(backups, that_are_not_whole_replace_nothing) {
    temporary_directory const outer;
    auto const there = outer.path() + "/b";
    made(there, outer.path() + "/other", 3);
    auto const file = made(outer.path() + "/a", outer.path() + "/copy", 2000);
    ASSERT_EQ(::truncate(file.c_str(), 40960), 0);
    auto const put = replace(there, file, true);
    ASSERT_FALSE(put);
    auto const seen = inspect(there);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->users, 3u);
    EXPECT_FALSE(std::filesystem::exists(there + "/restore.part"));
    EXPECT_FALSE(replace(there, outer.path() + "/none", true));
}

TEST(backups, have_no_master_key) {
    temporary_directory const outer;
    auto const file = made(outer.path() + "/a", outer.path() + "/copy", 3);
    std::ifstream key(outer.path() + "/a/master.key", std::ios::binary);
    std::ifstream copy(file, std::ios::binary);
    std::string const secret{std::istreambuf_iterator<char>(key), {}};
    std::string const bytes{std::istreambuf_iterator<char>(copy), {}};
    ASSERT_EQ(secret.size(), 32u);
    EXPECT_EQ(bytes.find(secret), bytes.npos);
}

}  // namespace
}  // namespace latchkey::store
