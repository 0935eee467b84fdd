// The search in LMDB's pages compared with LMDB's own, in tables of many shapes and with damaged
// pages.
#include "store/pages/id_tree.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../../domain/support.hpp"
#include "store/environment_state.hpp"
#include "store/lmdb_value.hpp"
#include "store/pages/map.hpp"

namespace latchkey::store {
using namespace domain;  // whose commands fill the store

namespace {

class database {
  public:
    explicit database(std::string const& path) {
        check(::mdb_env_create(&env));
        ::mdb_env_set_maxdbs(env, 4);
        ::mdb_env_set_mapsize(env, 1ull << 30);
        check(::mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOTLS, 0600));
        auto* const txn = begin(0);
        check(::mdb_dbi_open(txn, nullptr, 0, &main));
        check(::mdb_dbi_open(txn, "other", MDB_CREATE, &other));
        check(::mdb_dbi_open(txn, "table", MDB_CREATE, &table));
        check(::mdb_txn_commit(txn));
    }
    ~database() { ::mdb_env_close(env); }
    database(database const&) = delete;
    database& operator=(database const&) = delete;

    static void check(int code) { ASSERT_EQ(code, 0) << ::mdb_strerror(code); }
    MDB_txn* begin(unsigned flags) const {
        MDB_txn* txn = nullptr;
        check(::mdb_txn_begin(env, nullptr, flags, &txn));
        return txn;
    }

    MDB_env* env = nullptr;
    MDB_dbi main = 0, table = 0, other = 0;
};

std::string value_for(model::id id, std::size_t size) {
    std::string value(size, 'x');
    value.replace(0, std::min<std::size_t>(size, 16), std::to_string(id).substr(0, size));
    return value;
}

void put(database const& db, MDB_txn* txn, model::id id, std::string_view bytes) {
    auto const key = id_key(id);
    auto name = val_of(key), value = val_of(bytes);
    database::check(::mdb_put(txn, db.table, &name, &value, 0));
}

std::optional<std::string_view> ask_lmdb(database const& db, MDB_txn* txn, model::id id) {
    auto const key = id_key(id);
    MDB_val name = val_of(key), value;
    if (::mdb_get(txn, db.table, &name, &value) != 0) return std::nullopt;
    return view_of(value);
}

class id_tree_test : public testing::Test {
  protected:
    std::string path() const { return directory_.path() + "/data"; }

    temporary_directory directory_;
};

// If a record was found, it is the one that LMDB finds, at the same address.
bool matches(std::optional<std::string_view> actual, std::optional<std::string_view> expected,
             model::id id) {
    if (!actual) return false;
    EXPECT_TRUE(expected) << id;
    EXPECT_EQ(actual->data(), expected->data()) << id;
    EXPECT_EQ(actual->size(), expected->size()) << id;
    return true;
}

// Group prefetching of any size does not change what is found.
void expect_found_after_prefetch(database const& db, MDB_txn* txn,
                                 std::vector<model::id> const& ids, std::size_t expected) {
    for (std::size_t const together : {1, 2, 63, 64, 65, 1000}) {
        id_tree tree;
        tree.attach(txn, db.main, "table", map_of(db.env));
        std::size_t count = 0;
        for (auto rest = std::span(ids); !rest.empty();) {
            auto const some = rest.first(std::min(together, rest.size()));
            rest = rest.subspan(some.size());
            tree.prefetch(some);
            for (auto const id : some) count += matches(tree.find(id), ask_lmdb(db, txn, id), id);
        }
        EXPECT_EQ(count, expected) << together;
    }
}

// Returns how many ids were found without LMDB; each is the record that LMDB finds, at its address.
std::size_t compare(database const& db, std::vector<model::id> const& ids) {
    auto* const txn = db.begin(MDB_RDONLY);
    id_tree tree;
    tree.attach(txn, db.main, "table", map_of(db.env));
    std::size_t count = 0;
    for (auto const id : ids) {
        auto const expected = ask_lmdb(db, txn, id);
        for (int stage = 0; stage < 3; ++stage) {  // without a prefetch, and after one and two
            count += matches(tree.find(id), expected, id) && stage == 0;
            stage == 0 ? tree.prefetch_page(id) : tree.prefetch_record(id);
        }
    }
    expect_found_after_prefetch(db, txn, ids, count);
    ::mdb_txn_abort(txn);
    return count;
}

std::vector<model::id> up_to(model::id last) {
    std::vector<model::id> ids;
    for (model::id id = 0; id <= last + 3; ++id) ids.push_back(id);
    for (auto const id : {last * 2, model::id{1} << 53, INT64_MAX}) ids.push_back(id);
    return ids;
}

TEST_F(id_tree_test, an_empty_table_and_a_missing_one) {
    database db(path());
    EXPECT_EQ(compare(db, up_to(3)), 0u);
    auto* const txn = db.begin(MDB_RDONLY);
    id_tree tree;
    EXPECT_FALSE(tree.find(1));
    tree.prefetch_page(1);
    tree.attach(txn, db.main, "no such table", map_of(db.env));
    tree.prefetch_page(1);
    EXPECT_FALSE(tree.find(1));
    EXPECT_FALSE(map_of(db.env).empty());
    tree.attach(txn, db.main, "table", {});
    tree.prefetch_page(1);
    tree.prefetch(std::vector<model::id>{1, 2});
    EXPECT_FALSE(tree.find(1));
    ::mdb_txn_abort(txn);
}

TEST_F(id_tree_test, dense_ids_of_every_depth_are_all_found) {
    for (model::id const count : {1, 2, 20, 40, 2'000, 40'000}) {
        std::filesystem::remove(path());
        database db(path());
        auto* const txn = db.begin(0);
        for (model::id id = 1; id <= count; ++id)
            put(db, txn, id, value_for(id, 80 + static_cast<std::size_t>(id * 7919 % 61)));
        database::check(::mdb_txn_commit(txn));
        EXPECT_EQ(compare(db, up_to(count)), static_cast<std::size_t>(count));
    }
}

TEST_F(id_tree_test, sparse_clustered_and_enormous_ids_are_all_found) {
    database db(path());
    std::mt19937_64 random(1);
    std::set<model::id> there;
    auto* const txn = db.begin(0);
    for (int i = 0; i < 5'000; ++i) there.insert(static_cast<model::id>(random() >> 11));
    for (model::id id = 1'000'000; id < 1'002'000; ++id) there.insert(id * id);
    for (model::id id = 1; id < 3'000; ++id) there.insert((model::id{1} << 52) + id);
    for (auto const id : there) put(db, txn, id, value_for(id, 60));
    database::check(::mdb_txn_commit(txn));
    std::vector<model::id> ids;
    for (auto const id : there) ids.insert(ids.end(), {id - 1, id, id + 1});
    std::set<model::id> const asked(ids.begin(), ids.end());
    EXPECT_EQ(compare(db, {asked.begin(), asked.end()}), there.size());
}

TEST_F(id_tree_test, records_on_overflow_pages_are_left_to_lmdb) {
    database db(path());
    auto* const txn = db.begin(0);
    for (model::id id = 1; id <= 300; ++id)
        put(db, txn, id, value_for(id, id % 3 == 0 ? 5'000 : 1'500));
    put(db, txn, 301, "");
    database::check(::mdb_txn_commit(txn));
    EXPECT_EQ(compare(db, up_to(301)), 201u);
}

// Each transaction shows its own version, whatever was written later.
TEST_F(id_tree_test, random_histories_agree_in_every_version) {
    database db(path());
    std::mt19937 random(7);
    std::set<model::id> there;
    std::vector<std::pair<MDB_txn*, std::set<model::id>>> versions;
    for (int round = 0; round < 40; ++round) {
        auto* const txn = db.begin(0);
        for (int i = 0; i < 300; ++i) {
            auto const id = static_cast<model::id>(1 + random() % 6'000);
            if (random() % 5 < 3) {
                put(db, txn, id, value_for(id, random() % 300));
                there.insert(id);
            } else {
                auto const key = id_key(id);
                auto name = val_of(key);
                bool const erased = ::mdb_del(txn, db.table, &name, nullptr) == 0;
                ASSERT_EQ(erased, there.erase(id) == 1);
            }
        }
        database::check(::mdb_txn_commit(txn));
        versions.emplace_back(db.begin(MDB_RDONLY), there);
    }
    id_tree tree;
    for (auto const& [txn, ids] : versions) {
        tree.attach(txn, db.main, "table", map_of(db.env));
        for (model::id id = 1; id <= 6'000; ++id) {
            auto const actual = tree.find(id);
            ASSERT_EQ(actual.has_value(), ids.contains(id)) << id;
            if (actual) ASSERT_EQ(*actual, *ask_lmdb(db, txn, id));
        }
        ::mdb_txn_abort(txn);
    }
}

TEST_F(id_tree_test, a_file_of_another_version_is_left_alone) {
    database db(path());
    auto* const txn = db.begin(0);
    put(db, txn, 1, "one");
    database::check(::mdb_txn_commit(txn));
    EXPECT_EQ(compare(db, {1}), 1u);
    for (off_t const offset : {16, 20}) {  // of the first page: the magic number, the version
        int const fd = ::open(path().c_str(), O_RDWR);
        char old = 0;
        ASSERT_EQ(::pread(fd, &old, 1, offset), 1);
        char const wrong = static_cast<char>(old + 1);
        ASSERT_EQ(::pwrite(fd, &wrong, 1, offset), 1);
        EXPECT_EQ(compare(db, {1}), 0u);
        ASSERT_EQ(::pwrite(fd, &old, 1, offset), 1);
        ::close(fd);
    }
    EXPECT_EQ(compare(db, {1}), 1u);
}

// A file whose bytes are changed without LMDB. Nothing outside the file is read (access to the map
// beyond it would end the process), records lie within it, and every search ends.
class damaged_file : public id_tree_test {
  protected:
    static constexpr model::id last = 20'000;

    void SetUp() override {
        auto* const txn = db_.begin(0);
        for (model::id id = 1; id <= last; ++id) put(db_, txn, id, value_for(id, 100));
        database::check(::mdb_txn_commit(txn));
        reader_ = db_.begin(MDB_RDONLY);
        tree_.attach(reader_, db_.main, "table", map_of(db_.env));
        file_ = map_of(db_.env).substr(0, std::filesystem::file_size(path()));
        fd_ = ::open(path().c_str(), O_RDWR);
    }
    void TearDown() override {
        ::close(fd_);
        ::mdb_txn_abort(reader_);
    }
    template <class Integer>
    void write(std::size_t offset, Integer value) const {
        ASSERT_EQ(::pwrite(fd_, &value, sizeof value, static_cast<off_t>(offset)),
                  static_cast<ssize_t>(sizeof value));
    }
    // Searches for some ids; returns how many were found.
    std::size_t search() {
        std::size_t count = 0;
        std::vector<model::id> ids(50);
        for (auto& id : ids) id = static_cast<model::id>(1 + random_() % last);
        if (random_() % 2 == 0) tree_.prefetch(ids);
        for (auto const id : ids) {
            tree_.prefetch_page(id);
            tree_.prefetch_record(id);
            auto const actual = tree_.find(id);
            if (!actual) continue;
            ++count;
            EXPECT_GE(actual->data(), file_.data());
            EXPECT_LE(actual->data() + actual->size(), file_.data() + file_.size());
        }
        return count;
    }

    database db_{path()};
    MDB_txn* reader_ = nullptr;
    id_tree tree_;
    std::string_view file_;
    int fd_ = -1;
    std::mt19937 random_{3};
};

TEST_F(damaged_file, damaged_pages_are_survived) {
    std::size_t count = 0;
    constexpr int rounds = 3'000;
    for (int round = 0; round < rounds; ++round) {
        // Heads and offsets matter most, so they are changed most often.
        auto const page = 2 + random_() % (file_.size() / 4096 - 2);
        write(page * 4096 + random_() % (round % 4 == 0 ? 4096 : 64), static_cast<char>(random_()));
        count += search();
    }
    EXPECT_GT(count, 1'000u);
    EXPECT_LT(count, rounds * 50u - 1'000u);
}

// Each branch names pages beyond the file, itself and others at random.
TEST_F(damaged_file, damaged_branches_are_survived) {
    std::size_t branches = 0;
    for (std::size_t page = 2; page < file_.size() / 4096; ++page) {
        auto const here = file_.substr(page * 4096, 4096);
        if (here[10] != 1) continue;
        ++branches;
        for (int round = 0; round < 50; ++round) {
            std::uint16_t entry;
            std::memcpy(&entry, here.data() + 16 + 2 * (random_() % 100), sizeof entry);
            std::uint32_t const numbers[] = {static_cast<std::uint32_t>(page), UINT32_MAX,
                                             static_cast<std::uint32_t>(file_.size() / 4096),
                                             static_cast<std::uint32_t>(random_() % 1'000), 0};
            write(page * 4096 + entry % 4092u, numbers[random_() % 5]);
            search();
        }
    }
    EXPECT_GT(branches, 1u);
}

TEST_F(damaged_file, damaged_descriptions_of_the_tree_are_survived) {
    EXPECT_EQ(search(), 50u);
    std::string name = "table";
    MDB_val key = val_of(name), value;
    ASSERT_EQ(::mdb_get(reader_, db_.main, &key, &value), 0);
    auto const offset = static_cast<std::size_t>(view_of(value).data() - file_.data());
    auto const sound = std::string(view_of(value));
    auto const depth = static_cast<std::uint8_t>(sound[6]);
    for (std::uint16_t const wrong : {0, depth - 1, depth + 1, 32, 33, 65'535}) {
        write(offset + 6, wrong);
        tree_.attach(reader_, db_.main, "table", map_of(db_.env));
        EXPECT_EQ(search(), 0u) << wrong;
    }
    write(offset + 6, static_cast<std::uint16_t>(depth));
    for (std::uint64_t const wrong : {std::uint64_t{0}, std::uint64_t{1}, file_.size() / 4096,
                                      std::uint64_t{UINT32_MAX}, UINT64_MAX - 1, UINT64_MAX}) {
        write(offset + 40, wrong);
        tree_.attach(reader_, db_.main, "table", map_of(db_.env));
        EXPECT_EQ(search(), 0u) << wrong;
    }
    ASSERT_EQ(::pwrite(fd_, sound.data(), sound.size(), static_cast<off_t>(offset)), 48);
    tree_.attach(reader_, db_.main, "table", map_of(db_.env));
    EXPECT_EQ(search(), 50u);
}

}  // namespace
}  // namespace latchkey::store
