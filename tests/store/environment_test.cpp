#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "../domain/support.hpp"
#include "store/checksum.hpp"
#include "store/environment_state.hpp"
#include "store/lmdb_value.hpp"
#include "store/transaction.hpp"

namespace latchkey::store {
using namespace domain;  // whose commands fill the store

namespace {

unsigned mode_of(std::string const& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

std::string content_of(std::string const& path) {
    std::ifstream from(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(from), {}};
}

TEST(environments, create_a_private_directory_with_private_files) {
    temporary_directory const outer;
    auto const directory = outer.path() + "/state/latchkey";
    auto const store = open_store(directory);
    ASSERT_TRUE(store);
    ASSERT_TRUE(store->claim_for_server());
    EXPECT_EQ(mode_of(directory), 0700u);
    for (auto const* file : {"/store.mdb", "/store.mdb-lock", "/master.key", "/server.lock"})
        EXPECT_EQ(mode_of(directory + file), 0600u) << file;
    EXPECT_EQ(content_of(directory + "/server.lock"), std::to_string(::getpid()) + "\n");
}

TEST(environments, create_a_private_directory_for_any_spelling_of_its_path) {
    temporary_directory const outer;
    auto const directory = outer.path() + "/latchkey";
    ASSERT_TRUE(open_store(directory + "//", (1 << 20) + 1));
    EXPECT_EQ(mode_of(directory), 0700u);
}

// A server requests huge pages for its map, which the kernel reports as "hg".
TEST(environments, of_a_server_are_mapped_in_huge_pages_if_available) {
    if (::access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0) GTEST_SKIP();
    temporary_directory const directory;
    auto const flags_of_the_map = [&] {
        std::ifstream maps("/proc/self/smaps");
        bool inside = false;
        for (std::string line; std::getline(maps, line);) {
            if (line.ends_with(directory.path() + "/store.mdb")) inside = true;
            if (inside && line.starts_with("VmFlags:")) return line + " ";
        }
        return std::string();
    };
    {
        auto const store = environment::open({.directory = directory.path()}).value();
        EXPECT_EQ(flags_of_the_map().find(" hg "), std::string::npos);
    }
    auto const store =
        environment::open({.directory = directory.path(), .for_server = true}).value();
    EXPECT_NE(flags_of_the_map().find(" hg "), std::string::npos) << flags_of_the_map();
}

// Without it, records would still be found by LMDB, only more slowly.
TEST(environments, know_where_their_file_is_mapped) {
    temporary_directory directory;
    auto const store = open_store(directory.path());
    ASSERT_NE(store, nullptr);
    auto const& native = store->native();
    ASSERT_GE(native.map.size(), native.map_bytes);
    EXPECT_EQ(native.map.substr(16, 4),
              std::string_view("\xde\xc0\xef\xbe"));  // LMDB's magic number
    auto const user = get_user(one(*store, new_user("Ann", "ann@example.org")));
    snapshot view(*store);
    view.renew();
    auto const status = view.user(user.id);
    ASSERT_TRUE(status);
    EXPECT_GE(status->name.data(), native.map.data());
    EXPECT_LT(status->name.data(), native.map.data() + native.map.size());
}

TEST(environments, keep_their_master_key) {
    temporary_directory const directory;
    std::string first;
    {
        auto const store = open_store(directory.path());
        first = store->master_key();
        EXPECT_EQ(first.size(), 32u);
        EXPECT_EQ(content_of(directory.path() + "/master.key"), first);
    }
    EXPECT_EQ(open_store(directory.path())->master_key(), first);
    ::unlink((directory.path() + "/master.key").c_str());
    EXPECT_NE(open_store(directory.path())->master_key(), first);
}

// A key that is kept elsewhere is never created, and a process that does not know of it creates
// none.
TEST(environments, take_a_master_key_from_elsewhere) {
    temporary_directory const directory;
    auto const file = directory.path() + "/secret", data = directory.path() + "/data";
    std::string const key(32, 'k');
    auto const open = [&](std::string const& key_file) {
        return environment::open(
            {.directory = data, .master_key_file = key_file, .map_bytes = 16 << 20, .sync = false});
    };
    EXPECT_NE(open(file).error().message.find("cannot open the master key " + file),
              std::string::npos);
    std::ofstream(file) << key;
    EXPECT_EQ(open(file).value()->master_key(), key);
    EXPECT_NE(::access((data + "/master.key").c_str(), F_OK), 0);
    EXPECT_NE(open("").error().message.find("is kept elsewhere"), std::string::npos);
    std::ofstream(data + "/master.key") << std::string(32, 'o');
    EXPECT_NE(open(file).error().message.find("are different keys"), std::string::npos);
    std::ofstream(data + "/master.key", std::ios::trunc) << key;
    EXPECT_EQ(open(file).value()->master_key(), key);
    EXPECT_EQ(open("").value()->master_key(), key);
    std::ofstream(file, std::ios::trunc) << "short";
    EXPECT_NE(open(file).error().message.find("exactly 32 bytes"), std::string::npos);
}

// Computed elsewhere: HKDF-SHA-256 of the bytes 0 to 31, no salt, the label as info.
TEST(environments, derive_keys_of_their_master_key) {
    temporary_directory const directory;
    std::string master(32, '\0');
    for (std::size_t i = 0; i < master.size(); ++i) master[i] = static_cast<char>(i);
    std::ofstream(directory.path() + "/master.key", std::ios::binary) << master;
    auto const hex_of = [](std::optional<std::array<char, 32>> const& key) {
        return key ? base::to_hex({key->data(), key->size()}) : "none";
    };
    auto const store = open_store(directory.path());
    EXPECT_EQ(hex_of(store->derived_key("cursors")),
              "467ad3ace7456ff5a4c983d35e7a11e55a852bb68cdc79039af2385c2c08c315");
    EXPECT_EQ(hex_of(store->derived_key("events")),
              "481be33c4329f41bdcfe6255306887c03808c8581f957b5fb41f075858a779cf");
}

TEST(environments, derive_nothing_without_a_master_key) {
    temporary_directory const directory;
    open_store(directory.path());
    ::unlink((directory.path() + "/master.key").c_str());
    auto const store = environment::open({.directory = directory.path(), .read_only = true});
    ASSERT_TRUE(store);
    EXPECT_FALSE((*store)->derived_key("cursors"));
}

TEST(environments, refuse_a_damaged_master_key) {
    temporary_directory const directory;
    open_store(directory.path());
    for (auto const size : {0, 31, 33}) {
        std::ofstream(directory.path() + "/master.key", std::ios::trunc)
            << std::string(size_t(size), 'k');
        auto const result = environment::open({.directory = directory.path(), .sync = false});
        ASSERT_FALSE(result);
        EXPECT_NE(result.error().message.find("master.key is damaged"), std::string::npos);
    }
}

TEST(environments, keep_their_records_across_restarts) {
    temporary_directory const directory;
    {
        get_user(one(*open_store(directory.path()), new_user("Ann", "ann@example.org")));
    }
    auto const store = open_store(directory.path());
    snapshot view(*store);
    view.renew();
    ASSERT_TRUE(view.user(1));
    EXPECT_EQ(view.user(1)->email, "ann@example.org");
    expect_sound(*store);
}

TEST(environments, find_the_same_records_by_id_tree_and_by_lmdb) {
    temporary_directory const directory;
    auto const store_with = [&](bool interpolates) {
        return environment::open({.directory = directory.path(),
                                  .map_bytes = 1u << 30,
                                  .sync = false,
                                  .interpolates = interpolates})
            .value();
    };
    constexpr model::id users = 500;
    {
        auto const store = store_with(true);
        for (model::id id = 1; id <= users; ++id)
            get_user(one(*store, new_user("u" + std::to_string(id),
                                          "u" + std::to_string(id) + "@example.org")));
    }
    for (bool const interpolates : {true, false}) {
        auto const store = store_with(interpolates);
        domain::snapshot snapshot(*store);
        snapshot.renew();
        std::vector<model::id> const ids{3, 400};
        snapshot.prefetch(resource::user, ids);
        for (model::id id = 1; id <= users; ++id) {
            auto const user = snapshot.user(id);
            ASSERT_TRUE(user) << id;
            EXPECT_EQ(user->name, "u" + std::to_string(id));
        }
        EXPECT_FALSE(snapshot.user(users + 1));
    }
}

TEST(environments, opened_read_only_change_nothing) {
    temporary_directory const directory;
    EXPECT_FALSE(environment::open({.directory = directory.path() + "/none", .read_only = true}));
    EXPECT_FALSE(environment::open({.directory = directory.path(), .read_only = true}));
    {
        get_user(one(*open_store(directory.path()), new_user("Ann", "ann@example.org")));
    }
    auto result = environment::open({.directory = directory.path(), .read_only = true});
    ASSERT_TRUE(result) << result.error().message;
    auto& store = *result.value();
    EXPECT_EQ(store.master_key().size(), 32u);
    snapshot view(store);
    view.renew();
    EXPECT_TRUE(view.user(1));
    EXPECT_FALSE(apply(store, {new_user("Bob", "bob@example.org")}));
    expect_sound(store);
}

TEST(environments, of_another_schema_are_refused_with_a_sentence) {
    temporary_directory const directory;
    {
        auto const store = open_store(directory.path());
        MDB_txn* txn = nullptr;
        ASSERT_EQ(::mdb_txn_begin(store->native().env, nullptr, 0, &txn), 0);
        std::string version(schema_magic);
        base::append(version, std::uint32_t{7});
        auto const name = key_bytes{tag::schema};
        auto key = val_of(name), value = val_of(version);
        ASSERT_EQ(::mdb_put(txn, store->native().dbi(table::index), &key, &value, 0), 0);
        ASSERT_EQ(::mdb_txn_commit(txn), 0);
    }
    auto const result = environment::open({.directory = directory.path(), .sync = false});
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("has schema version 7, this program knows version 5"),
              std::string::npos)
        << result.error().message;
}

TEST(environments, that_are_not_stores_are_refused) {
    temporary_directory const directory;
    std::ofstream(directory.path() + "/store.mdb") << std::string(16384, 'x');
    EXPECT_FALSE(environment::open({.directory = directory.path(), .sync = false}));
    EXPECT_FALSE(environment::open({.directory = "/dev/null/x", .sync = false}));
    EXPECT_FALSE(environment::open({.directory = directory.path() + "/store.mdb", .sync = false}));
}

TEST(environments, are_opened_once_in_a_process) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    EXPECT_DEATH(open_store(directory.path() + "/../" +
                            std::filesystem::path(directory.path()).filename().string()),
                 "open in this process already");
}

TEST(environments, are_claimed_more_than_once_by_their_own_server_only) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    EXPECT_TRUE(store->claim_for_server());
    EXPECT_TRUE(store->claim_for_server());
    store->clear_stale_readers();
}

TEST(transactions, erase_a_range_without_its_end) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    transaction txn(store->native());
    for (auto const* const key : {"\xf0x", "\xf0y", "\xf0z"}) txn.put(table::index, key, {});
    EXPECT_EQ(txn.erase_range("\xf0x", "\xf0z", 9), 2u);
    EXPECT_TRUE(txn.has(table::index, "\xf0z"));
    EXPECT_EQ(txn.erase_range("\xf0", "\xf1", 0), 0u);
    EXPECT_EQ(txn.erase_range("\xf0", "\xf1", 1), 1u);
}

}  // namespace
}  // namespace latchkey::store
