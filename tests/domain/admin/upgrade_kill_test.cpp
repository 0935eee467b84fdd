// An upgrade that is killed at any moment, and processes that read the store while it is rewritten.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "schema_1.hpp"
#include "store/checksum.hpp"
#include "store/environment_state.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::domain {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// In a child process, with the durability of a server.
pid_t begin_upgrade(std::string const& directory) {
    pid_t const child = ::fork();
    if (child == 0) {
        auto const store = environment::open({.directory = directory, .for_server = true});
        ::_exit(store ? 0 : 1);
    }
    return child;
}

int wait_for(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
}

std::uint32_t version_of(raw_content const& content) {
    auto const entry = content.find({table::index, std::string(key_bytes{tag::schema})});
    if (entry == content.end() || entry->second.size() != schema_magic.size() + 4) return 0;
    return base::get<std::uint32_t>(entry->second.data() + schema_magic.size());
}

class killed_upgrades : public testing::Test {
  protected:
    temporary_directory directory_;
    raw_content content_before_;

    void SetUp() override {
        fill(*open_store(directory_.path()), 4000);
        content_before_ = as_schema_1(content_of_file(directory_.path()));
        replace_content(directory_.path(), content_before_);
    }
    void restore() { replace_content(directory_.path(), content_before_); }
};

TEST_F(killed_upgrades, are_done_or_have_done_nothing) {
    auto const start = steady::now();
    ASSERT_EQ(wait_for(begin_upgrade(directory_.path())), 0);
    auto duration = std::max<steady::duration>(steady::now() - start, 2ms);
    std::mt19937_64 random(1);
    std::size_t killed = 0;
    for (int round = 0; round < 40 || (killed <= 5 && round < 400); ++round) {
        restore();
        auto const child = begin_upgrade(directory_.path());
        std::this_thread::sleep_for(duration * static_cast<int>(random() % 1000) / 900);
        ::kill(child, SIGKILL);
        // The first upgrade may have been a slow one; none is killed by who waits longer than they take.
        if (WIFSIGNALED(wait_for(child)))
            ++killed;
        else
            duration = std::max<steady::duration>(duration * 9 / 10, 1ms);
        auto const content = content_of_file(directory_.path());
        auto const version = version_of(content);
        ASSERT_TRUE(version == 1 || version == schema_version) << version;
        ASSERT_TRUE((version == 1 ? content : as_schema_1(content)) == content_before_) << round;
    }
    EXPECT_GT(killed, 5u);
    // The next start completes it.
    restore();
    ASSERT_EQ(wait_for(begin_upgrade(directory_.path())), 0);
    auto const store = open_store(directory_.path());
    expect_sound(*store);
}

// From version 2 nothing is rewritten: the tables of changes come, and the version.
TEST(killed_upgrades_of_version_2, are_done_or_have_done_nothing) {
    temporary_directory const directory;
    fill(*open_store(directory.path()), 400);
    make_schema_2(directory.path());
    auto const content_before = content_of_file(directory.path());
    ASSERT_EQ(version_of(content_before), 2u);
    auto const start = steady::now();
    ASSERT_EQ(wait_for(begin_upgrade(directory.path())), 0);
    auto const duration = std::max<steady::duration>(steady::now() - start, 2ms);
    ASSERT_EQ(version_of(content_of_file(directory.path())), schema_version);
    std::mt19937_64 random(1);
    std::size_t killed = 0;
    // It is over within milliseconds, so many are killed too late.
    for (int round = 0; killed < 10 && round < 1000; ++round) {
        make_schema_2(directory.path());
        auto const child = begin_upgrade(directory.path());
        std::this_thread::sleep_for(duration * static_cast<int>(random() % 1000) / 1200);
        ::kill(child, SIGKILL);
        killed += WIFSIGNALED(wait_for(child)) ? 1u : 0u;
        auto const content = content_of_file(directory.path());
        auto const version = version_of(content);
        ASSERT_TRUE(version == 2 || version == schema_version) << version;
        ASSERT_TRUE(records_of_schema_2(content) == records_of_schema_2(content_before)) << round;
        if (version == 2) ASSERT_TRUE(content == content_before) << round;
    }
    EXPECT_EQ(killed, 10u);
    make_schema_2(directory.path());
    ASSERT_EQ(wait_for(begin_upgrade(directory.path())), 0);
    auto const store = open_store(directory.path());
    expect_sound(*store);
}

// A reader during the upgrade, such as a command of the older program, sees one state or the other.
TEST_F(killed_upgrades, are_seen_whole_or_not_at_all) {
    MDB_env* env = nullptr;
    MDB_txn* txn = nullptr;
    MDB_dbi users = 0, index = 0;
    ASSERT_EQ(::mdb_env_create(&env), 0);
    ::mdb_env_set_maxdbs(env, 16);
    ::mdb_env_set_mapsize(env, std::size_t{1} << 36);
    ASSERT_EQ(::mdb_env_open(env, (directory_.path() + "/store.mdb").c_str(),
                             MDB_NOSUBDIR | MDB_NOTLS | MDB_RDONLY, 0600),
              0);
    ASSERT_EQ(::mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn), 0);
    ASSERT_EQ(::mdb_dbi_open(txn, "users", 0, &users), 0);
    ASSERT_EQ(::mdb_dbi_open(txn, "index", 0, &index), 0);
    ASSERT_EQ(::mdb_txn_commit(txn), 0);  // the handles of the tables are valid from here on
    ASSERT_EQ(::mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn), 0);
    ::mdb_txn_reset(txn);
    auto const child = begin_upgrade(directory_.path());
    std::size_t reads_before = 0, reads_after = 0, mismatches = 0;
    bool has_exited = false;
    for (int status = 0; reads_after == 0;) {
        has_exited = ::waitpid(child, &status, WNOHANG) == child;
        ASSERT_TRUE(!has_exited || status == 0);
        ASSERT_EQ(::mdb_txn_renew(txn), 0);
        auto const name = key_bytes{tag::schema};
        auto key = val_of(name);
        MDB_val value;
        ASSERT_EQ(::mdb_get(txn, index, &key, &value), 0);
        bool const upgraded = view_of(value).back() == schema_version;
        (upgraded ? reads_after : reads_before) += 1;
        for (model::id id = 1; id <= 4000; id += 371) {
            auto const user = id_key(id);
            key = val_of(user);
            ASSERT_EQ(::mdb_get(txn, users, &key, &value), 0);
            auto const expected = content_before_.at({table::users, std::string(user)});
            auto const content = upgraded ? content_of(table::users, user, view_of(value))
                                          : std::optional(view_of(value));
            if (content != expected) ++mismatches;
        }
        ::mdb_txn_reset(txn);
        ASSERT_TRUE(!has_exited || reads_after != 0);
    }
    EXPECT_GT(reads_before, 1u);
    EXPECT_EQ(mismatches, 0u);
    ::mdb_txn_abort(txn);
    ::mdb_env_close(env);
    if (!has_exited) EXPECT_EQ(wait_for(child), 0);
}

}  // namespace
}  // namespace latchkey::domain
