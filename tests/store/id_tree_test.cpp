// The search in LMDB's pages against LMDB's own, in tables of many shapes, and over damaged pages.
#include "store/id_tree.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "store/environment_state.hpp"
#include "support.hpp"

namespace latchkey::store {
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

void put(database const& in, MDB_txn* txn, model::id id, std::string_view bytes) {
    auto const key = id_key(id);
    auto name = val_of(key), value = val_of(bytes);
    database::check(::mdb_put(txn, in.table, &name, &value, 0));
}

std::optional<std::string_view> ask_lmdb(database const& in, MDB_txn* txn, model::id id) {
    auto const key = id_key(id);
    MDB_val name = val_of(key), value;
    if (::mdb_get(txn, in.table, &name, &value) != 0) return std::nullopt;
    return view_of(value);
}

class id_tree_test : public testing::Test {
  protected:
    std::string path() const { return directory_.path() + "/data"; }

    temporary_directory directory_;
};

// Was it found? Then it is what LMDB finds, to the address.
bool agree(std::optional<std::string_view> seen, std::optional<std::string_view> wanted,
           model::id id) {
    if (!seen) return false;
    EXPECT_TRUE(wanted) << id;
    EXPECT_EQ(seen->data(), wanted->data()) << id;
    EXPECT_EQ(seen->size(), wanted->size()) << id;
    return true;
}

// After a prefetch of some at once as many are found, however many those are.
void found_ahead_of(database const& in, MDB_txn* txn, std::vector<model::id> const& ids,
                    std::size_t wanted) {
    for (std::size_t const together : {1, 2, 63, 64, 65, 1000}) {
        id_tree tree;
        tree.follow(txn, in.main, "table", map_of(in.env));
        std::size_t found = 0;
        for (auto rest = std::span(ids); !rest.empty();) {
            auto const some = rest.first(std::min(together, rest.size()));
            rest = rest.subspan(some.size());
            tree.prefetch(some);
            for (auto const id : some) found += agree(tree.find(id), ask_lmdb(in, txn, id), id);
        }
        EXPECT_EQ(found, wanted) << together;
    }
}

// How many of the ids were found without LMDB. What was found is what LMDB finds, to the address.
std::size_t compare(database const& in, std::vector<model::id> const& ids) {
    auto* const txn = in.begin(MDB_RDONLY);
    id_tree tree;
    tree.follow(txn, in.main, "table", map_of(in.env));
    std::size_t found = 0;
    for (auto const id : ids) {
        auto const wanted = ask_lmdb(in, txn, id);
        for (int stage = 0; stage < 3; ++stage) {  // without a prefetch, and after one and two
            found += agree(tree.find(id), wanted, id) && stage == 0;
            stage == 0 ? tree.prefetch_page(id) : tree.prefetch_record(id);
        }
    }
    found_ahead_of(in, txn, ids, found);
    ::mdb_txn_abort(txn);
    return found;
}

std::vector<model::id> up_to(model::id last) {
    std::vector<model::id> ids;
    for (model::id id = 0; id <= last + 3; ++id) ids.push_back(id);
    for (auto const id : {last * 2, model::id{1} << 53, INT64_MAX}) ids.push_back(id);
    return ids;
}

TEST_F(id_tree_test, an_empty_table_and_one_that_is_not_there) {
    database in(path());
    EXPECT_EQ(compare(in, up_to(3)), 0u);
    auto* const txn = in.begin(MDB_RDONLY);
    id_tree tree;
    EXPECT_FALSE(tree.find(1));
    tree.prefetch_page(1);
    tree.follow(txn, in.main, "no such table", map_of(in.env));
    tree.prefetch_page(1);
    EXPECT_FALSE(tree.find(1));
    EXPECT_FALSE(map_of(in.env).empty());
    tree.follow(txn, in.main, "table", {});
    tree.prefetch_page(1);
    tree.prefetch(std::vector<model::id>{1, 2});
    EXPECT_FALSE(tree.find(1));
    ::mdb_txn_abort(txn);
}

TEST_F(id_tree_test, dense_ids_of_every_depth_are_all_found) {
    for (model::id const count : {1, 2, 20, 40, 2'000, 40'000}) {
        std::filesystem::remove(path());
        database in(path());
        auto* const txn = in.begin(0);
        for (model::id id = 1; id <= count; ++id)
            put(in, txn, id, value_for(id, 80 + static_cast<std::size_t>(id * 7919 % 61)));
        database::check(::mdb_txn_commit(txn));
        EXPECT_EQ(compare(in, up_to(count)), static_cast<std::size_t>(count));
    }
}

TEST_F(id_tree_test, sparse_clustered_and_enormous_ids_are_all_found) {
    database in(path());
    std::mt19937_64 random(1);
    std::set<model::id> there;
    auto* const txn = in.begin(0);
    for (int i = 0; i < 5'000; ++i) there.insert(static_cast<model::id>(random() >> 11));
    for (model::id id = 1'000'000; id < 1'002'000; ++id) there.insert(id * id);
    for (model::id id = 1; id < 3'000; ++id) there.insert((model::id{1} << 52) + id);
    for (auto const id : there) put(in, txn, id, value_for(id, 60));
    database::check(::mdb_txn_commit(txn));
    std::vector<model::id> ids;
    for (auto const id : there) ids.insert(ids.end(), {id - 1, id, id + 1});
    std::set<model::id> const asked(ids.begin(), ids.end());
    EXPECT_EQ(compare(in, {asked.begin(), asked.end()}), there.size());
}

TEST_F(id_tree_test, records_on_pages_of_their_own_are_left_to_lmdb) {
    database in(path());
    auto* const txn = in.begin(0);
    for (model::id id = 1; id <= 300; ++id)
        put(in, txn, id, value_for(id, id % 3 == 0 ? 5'000 : 1'500));
    put(in, txn, 301, "");
    database::check(::mdb_txn_commit(txn));
    EXPECT_EQ(compare(in, up_to(301)), 201u);
}

// Each transaction sees its own version, whatever was written since.
TEST_F(id_tree_test, random_histories_agree_in_every_version) {
    database in(path());
    std::mt19937 random(7);
    std::set<model::id> there;
    std::vector<std::pair<MDB_txn*, std::set<model::id>>> versions;
    for (int round = 0; round < 40; ++round) {
        auto* const txn = in.begin(0);
        for (int i = 0; i < 300; ++i) {
            auto const id = static_cast<model::id>(1 + random() % 6'000);
            if (random() % 5 < 3) {
                put(in, txn, id, value_for(id, random() % 300));
                there.insert(id);
            } else {
                auto const key = id_key(id);
                auto name = val_of(key);
                bool const gone = ::mdb_del(txn, in.table, &name, nullptr) == 0;
                ASSERT_EQ(gone, there.erase(id) == 1);
            }
        }
        database::check(::mdb_txn_commit(txn));
        versions.emplace_back(in.begin(MDB_RDONLY), there);
    }
    id_tree tree;
    for (auto const& [txn, ids] : versions) {
        tree.follow(txn, in.main, "table", map_of(in.env));
        for (model::id id = 1; id <= 6'000; ++id) {
            auto const seen = tree.find(id);
            ASSERT_EQ(seen.has_value(), ids.contains(id)) << id;
            if (seen) ASSERT_EQ(*seen, *ask_lmdb(in, txn, id));
        }
        ::mdb_txn_abort(txn);
    }
}

TEST_F(id_tree_test, a_file_of_another_version_is_left_alone) {
    database in(path());
    auto* const txn = in.begin(0);
    put(in, txn, 1, "one");
    database::check(::mdb_txn_commit(txn));
    EXPECT_EQ(compare(in, {1}), 1u);
    for (off_t const at : {16, 20}) {  // of the first page: the magic number, the version
        int const fd = ::open(path().c_str(), O_RDWR);
        char old = 0;
        ASSERT_EQ(::pread(fd, &old, 1, at), 1);
        char const wrong = static_cast<char>(old + 1);
        ASSERT_EQ(::pwrite(fd, &wrong, 1, at), 1);
        EXPECT_EQ(compare(in, {1}), 0u);
        ASSERT_EQ(::pwrite(fd, &old, 1, at), 1);
        ::close(fd);
    }
    EXPECT_EQ(compare(in, {1}), 1u);
}

// A file whose bytes are changed behind LMDB's back. Nothing outside of it is read (the map behind
// it would kill the process), what is found lies in it, and each search ends.
class damaged_file : public id_tree_test {
  protected:
    static constexpr model::id last = 20'000;

    void SetUp() override {
        auto* const txn = in_.begin(0);
        for (model::id id = 1; id <= last; ++id) put(in_, txn, id, value_for(id, 100));
        database::check(::mdb_txn_commit(txn));
        reader_ = in_.begin(MDB_RDONLY);
        tree_.follow(reader_, in_.main, "table", map_of(in_.env));
        file_ = map_of(in_.env).substr(0, std::filesystem::file_size(path()));
        fd_ = ::open(path().c_str(), O_RDWR);
    }
    void TearDown() override {
        ::close(fd_);
        ::mdb_txn_abort(reader_);
    }
    template <class Integer>
    void write(std::size_t at, Integer value) const {
        ASSERT_EQ(::pwrite(fd_, &value, sizeof value, static_cast<off_t>(at)),
                  static_cast<ssize_t>(sizeof value));
    }
    // Asks for some; how many were found.
    std::size_t search() {
        std::size_t found = 0;
        std::vector<model::id> ids(50);
        for (auto& id : ids) id = static_cast<model::id>(1 + random_() % last);
        if (random_() % 2 == 0) tree_.prefetch(ids);
        for (auto const id : ids) {
            tree_.prefetch_page(id);
            tree_.prefetch_record(id);
            auto const seen = tree_.find(id);
            if (!seen) continue;
            ++found;
            EXPECT_GE(seen->data(), file_.data());
            EXPECT_LE(seen->data() + seen->size(), file_.data() + file_.size());
        }
        return found;
    }

    database in_{path()};
    MDB_txn* reader_ = nullptr;
    id_tree tree_;
    std::string_view file_;
    int fd_ = -1;
    std::mt19937 random_{3};
};

TEST_F(damaged_file, pages_lead_nowhere) {
    std::size_t found = 0;
    constexpr int rounds = 3'000;
    for (int round = 0; round < rounds; ++round) {
        // Heads and offsets decide most, so they are hit most.
        auto const page = 2 + random_() % (file_.size() / 4096 - 2);
        write(page * 4096 + random_() % (round % 4 == 0 ? 4096 : 64), static_cast<char>(random_()));
        found += search();
    }
    EXPECT_GT(found, 1'000u);
    EXPECT_LT(found, rounds * 50u - 1'000u);
}

// Each branch names pages beyond the file, itself and others at random.
TEST_F(damaged_file, branches_lead_nowhere) {
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

TEST_F(damaged_file, descriptions_of_the_tree_lead_nowhere) {
    EXPECT_EQ(search(), 50u);
    std::string name = "table";
    MDB_val key = val_of(name), value;
    ASSERT_EQ(::mdb_get(reader_, in_.main, &key, &value), 0);
    auto const at = static_cast<std::size_t>(view_of(value).data() - file_.data());
    auto const sound = std::string(view_of(value));
    auto const depth = static_cast<std::uint8_t>(sound[6]);
    for (std::uint16_t const wrong : {0, depth - 1, depth + 1, 32, 33, 65'535}) {
        write(at + 6, wrong);
        tree_.follow(reader_, in_.main, "table", map_of(in_.env));
        EXPECT_EQ(search(), 0u) << wrong;
    }
    write(at + 6, static_cast<std::uint16_t>(depth));
    for (std::uint64_t const wrong : {std::uint64_t{0}, std::uint64_t{1}, file_.size() / 4096,
                                      std::uint64_t{UINT32_MAX}, UINT64_MAX - 1, UINT64_MAX}) {
        write(at + 40, wrong);
        tree_.follow(reader_, in_.main, "table", map_of(in_.env));
        EXPECT_EQ(search(), 0u) << wrong;
    }
    ASSERT_EQ(::pwrite(fd_, sound.data(), sound.size(), static_cast<off_t>(at)), 48);
    tree_.follow(reader_, in_.main, "table", map_of(in_.env));
    EXPECT_EQ(search(), 50u);
}

}  // namespace
}  // namespace latchkey::store
