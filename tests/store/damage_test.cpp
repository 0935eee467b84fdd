// Records without their checksum: a reader of one gets an error, readers of others are not
// affected, and the consistency check, a backup and a restore report its place.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "../domain/support.hpp"
#include "domain/admin/backup.hpp"
#include "domain/admin/bulk_load.hpp"
#include "domain/admin/check_copy.hpp"
#include "domain/admin/inspect.hpp"
#include "domain/keys/key_list.hpp"
#include "store/checksum.hpp"
#include "store/environment_state.hpp"

namespace latchkey::store {
using namespace domain;  // whose commands fill the store

namespace {

using base::problem;

class damaged_records : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path() + "/store");
    snapshot snapshot_{*store_};

    void SetUp() override {
        for (int i = 1; i <= 3; ++i)
            get_user(one(*store_, new_user("Ann", "ann" + std::to_string(i) + "@example.org")));
        for (auto const user : {1, 2, 1}) get_post(one(*store_, new_post(user, "title")));
        get_key(one(*store_, new_key(key_number(1, {"*"}))));
        expect_sound(*store_);
    }
    // Applies `change` to the value as LMDB has it.
    template <class Change>
    void alter(table table, std::string_view key, Change change) {
        auto& native = store_->native();
        MDB_txn* txn = nullptr;
        ASSERT_EQ(::mdb_txn_begin(native.env, nullptr, 0, &txn), 0);
        auto name = val_of(key);
        MDB_val value;
        ASSERT_EQ(::mdb_get(txn, native.dbi(table), &name, &value), 0);
        std::string bytes(view_of(value));
        change(bytes);
        value = val_of(bytes);
        ASSERT_EQ(::mdb_put(txn, native.dbi(table), &name, &value, 0), 0);
        ASSERT_EQ(::mdb_txn_commit(txn), 0);
    }
    void flip(table table, std::string_view key, std::size_t offset = 0) {
        alter(table, key, [&](std::string& bytes) {
            bytes.at(offset) = static_cast<char>(bytes.at(offset) ^ 0x20);
        });
    }
    // Copies the record of `source` to the key of `target`.
    void misplace(table table, std::string_view source, std::string_view target) {
        std::string bytes;
        alter(table, source, [&](std::string& record) { bytes = record; });
        alter(table, target, [&](std::string& record) { record = bytes; });
    }
    void flip_name(model::id user) {
        alter(table::users, id_key(user), [](std::string& bytes) {
            auto const offset = bytes.find("Ann");
            ASSERT_NE(offset, bytes.npos);
            bytes[offset] = 'a';
        });
    }
    void expect_found(std::string_view sentence) {
        for (auto const& each : check_consistency(*store_))
            if (each.find(sentence) != each.npos) return;
        ADD_FAILURE() << "not found: " << sentence;
    }
};

TEST_F(damaged_records, are_not_served) {
    flip_name(2);
    auto const reads_before = store_->damaged_reads();
    snapshot_.renew();
    EXPECT_FALSE(snapshot_.user(2));
    EXPECT_TRUE(snapshot_.damaged());
    EXPECT_EQ(store_->damaged_reads(), reads_before + 1);
    snapshot_.clear_damage();
    EXPECT_FALSE(snapshot_.user(2)) << "asked for again in the same turn";
    EXPECT_TRUE(snapshot_.damaged());
    snapshot_.clear_damage();
    EXPECT_EQ(snapshot_.user(1)->name, "Ann");
    EXPECT_EQ(snapshot_.user(3)->name, "Ann");
    EXPECT_FALSE(snapshot_.damaged());
    std::size_t count = 0;
    snapshot_.users({}, [&](auto const&) { ++count; });
    EXPECT_EQ(count, 2u);
    EXPECT_TRUE(snapshot_.damaged());
    snapshot_.reset();
    expect_found("a record is damaged: users, 2");
}

TEST_F(damaged_records, detect_a_record_under_the_key_of_another) {
    misplace(table::users, id_key(1), id_key(2));
    misplace(table::index, tally_key(2), tally_key(1));
    snapshot_.renew();
    EXPECT_FALSE(snapshot_.user(2));
    EXPECT_TRUE(snapshot_.damaged());
    snapshot_.reset();
    expect_found("a record is damaged: users, 2");
    expect_found("a record is damaged: the counts of posts of users, 1");
}

TEST_F(damaged_records, refuse_their_command_and_no_others) {
    flip_name(2);
    std::vector<command> group;
    group.push_back(new_user("x", "x1@example.org"));
    group.push_back({.action = change_user{.id = 2, .name = "new"}});
    group.push_back(new_user("x", "x2@example.org"));
    group.push_back({.action = delete_user{2}});
    group.push_back({.action = change_user{.id = 3, .name = "new"}});
    auto const outcomes = apply(*store_, std::move(group));
    ASSERT_TRUE(outcomes);
    problem const expected[] = {problem::none, problem::internal_error, problem::none,
                                problem::internal_error, problem::none};
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(outcomes->at(i).problem, expected[i]) << i;
    snapshot_.renew();
    EXPECT_EQ(snapshot_.user(3)->name, "new");
    EXPECT_TRUE(snapshot_.user_with_email("x2@example.org"));
    snapshot_.reset();
}

// An address whose entry is damaged is not known to be free.
TEST_F(damaged_records, are_not_taken_for_absent_ones) {
    flip(table::index, email_key("ann2@example.org"), 7);
    EXPECT_EQ(one(*store_, new_user("x", "ann2@example.org")).problem, problem::internal_error);
    flip(table::index, tally_key(1), 7);
    EXPECT_EQ(one(*store_, new_post(1, "t")).problem, problem::internal_error);
    EXPECT_EQ(one(*store_, new_post(2, "t")).problem, problem::none);
    flip(table::index, key_key(1), 30);
    auto command = new_user("x", "x@example.org");
    command.caller = 1;
    EXPECT_EQ(one(*store_, command).problem, problem::internal_error);
    expect_found("a record is damaged: the index of e-mail addresses");
    expect_found("a record is damaged: keys, 1");
}

TEST_F(damaged_records, leave_a_store_without_counts_readable) {
    flip(table::index, key_bytes{tag::counters}, 20);
    snapshot_.renew();
    EXPECT_EQ(snapshot_.user(1)->name, "Ann");
    EXPECT_TRUE(snapshot_.key_with_digest(key_number(1).digest));
    EXPECT_FALSE(snapshot_.damaged());
    EXPECT_EQ(snapshot_.key_epoch(), 0u);
    EXPECT_TRUE(snapshot_.has_imported_digests());
    EXPECT_TRUE(snapshot_.damaged());
    snapshot_.clear_damage();
    snapshot_.users({}, [](auto const&) {});
    EXPECT_TRUE(snapshot_.damaged());
    snapshot_.clear_damage();
    EXPECT_FALSE(snapshot_.post(1) && !snapshot_.damaged());
    snapshot_.reset();
    auto const refusal = apply(*store_, {new_user("x", "x@example.org")});
    EXPECT_TRUE(!refusal || refusal->front().problem == problem::internal_error);
    expect_found("a record is damaged: the record of counts and sequences");
}

TEST_F(damaged_records, are_found_in_every_list_and_index) {
    auto& native = store_->native();
    auto const write = [&](std::string_view key, std::optional<std::string_view> content) {
        MDB_txn* txn = nullptr;
        ASSERT_EQ(::mdb_txn_begin(native.env, nullptr, 0, &txn), 0);
        auto name = val_of(key);
        ASSERT_EQ(content
                      ? put_checked(txn, native.dbi(table::index), table::index, key, *content, 0)
                      : ::mdb_del(txn, native.dbi(table::index), &name, nullptr),
                  0);
        ASSERT_EQ(::mdb_txn_commit(txn), 0);
    };
    std::array<char, 8> number;
    write(key_list_key(tag::key_list_count, {"default", std::nullopt}), id_value(8, number));
    expect_found("keys of a list: 8 are recorded, 1 are there");
    write(key_list_key(tag::key_list_count, {"none", std::nullopt}), id_value(7, number));
    expect_found("a list without keys has a count");
    write(key_list_key(tag::key_list, {"none", std::nullopt}).add(model::id{1}), "");
    expect_found("key 1 is in a list where it does not belong");
    write(audit_of_project("default").add(model::id{1}), std::nullopt);
    expect_found("entry 1 of the audit log is missing in the index of its project");
    write(audit_of_project("other").add(model::id{1}), "");
    expect_found("entry 1 of the audit log is in the index of a project that it is not of");
    write(audit_count_key("default"), id_value(5, number));
    expect_found("entries of the audit log of a project: 5 are recorded, 1 are there");
    write(keys_with_start("zzzz").add(model::id{1}), "");
    expect_found("key 1 is indexed under a start that it does not have");
    write(key_use_key(9), id_value(1, number));
    expect_found("the last use of key 9 is of no key");
    write(events_of("shop").add(model::id{4}), "");
    expect_found("event 4 is in the list of a source that it is not of");
    write(event_count_key("shop"), id_value(4, number));
    expect_found("events of shop are counted, and there are none");
    write(load_key(3), "rubbish");
    expect_found("the state of a bulk load cannot be read");
    write(load_moved_key(4, 1), id_value(1, number));
    expect_found("an id that a bulk load assigned is of no load");
}

// A load ends with an error at a damaged record.
TEST_F(damaged_records, end_a_bulk_load_that_needs_them) {
    flip(table::index, email_key("ann1@example.org"), 7);
    auto load = bulk_load::begin(*store_, {.identity = 1, .highest_user = 10});
    ASSERT_TRUE(load);
    std::vector<model::user> users{{.id = 7, .name = "x", .email = "ann1@example.org"}};
    auto const refusals =
        load->add(std::span(users), {.offset = 1, .line = 1, .refused_users = {}});
    ASSERT_FALSE(refusals);
    EXPECT_NE(refusals.error().message.find("a record of it is damaged"), std::string::npos);
}

class overwritten_pages : public testing::Test {
  protected:
    temporary_directory directory_;
    std::string const path_ = directory_.path() + "/store/store.mdb";
    std::uint64_t page_bytes_ = 4096;

    void SetUp() override {
        auto const store = open_store(directory_.path() + "/store");
        auto load = bulk_load::begin(*store, {.identity = 1, .new_users = 20'000});
        ASSERT_TRUE(load);
        std::vector<model::user> users;
        for (int i = 0; i < 20'000; ++i)
            users.push_back({.name = "u", .email = "u" + std::to_string(i) + "@example.org"});
        ASSERT_TRUE(load->add(std::span(users), {.complete = true}));
        ASSERT_TRUE(load->finish());
        page_bytes_ = store->native().page_bytes;
    }
    void overwrite(std::uint64_t first, int pages) {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(first * page_bytes_));
        file << std::string(page_bytes_ * static_cast<std::uint64_t>(pages), '\xa5');
    }
    std::uint64_t pages() const { return std::filesystem::file_size(path_) / page_bytes_; }
};

TEST_F(overwritten_pages, are_reported_in_a_few_lines) {
    overwrite(pages() / 2, 40);
    auto const report = inspect(directory_.path() + "/store");
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_GT(report->wrong.size(), 2u);
    EXPECT_LT(report->wrong.size(), 20u);
    std::string all;
    for (auto const& sentence : report->wrong) all += sentence + "\n";
    EXPECT_NE(all.find("page " + std::to_string(pages() / 2)), all.npos) << all;
    EXPECT_NE(all.find("more of the same, the last: page "), all.npos) << all;
    EXPECT_NE(all.find("stand on pages that are whole"), all.npos) << all;
}

TEST_F(overwritten_pages, are_in_no_backup_and_are_not_restored) {
    auto const copy = directory_.path() + "/copy";
    auto const verified_copy = [&] {
        auto const store = open_store(directory_.path() + "/store");
        int const descriptor = ::open(copy.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
        EXPECT_TRUE(copy_to(*store, descriptor, false));
        auto const faults = check_copy(descriptor);
        ::close(descriptor);
        return faults;
    };
    EXPECT_EQ(verified_copy(), std::vector<std::string>{});
    {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        std::string bytes((std::istreambuf_iterator<char>(file)), {});
        auto const offset = bytes.rfind("u19999@example.org");
        ASSERT_NE(offset, bytes.npos);
        file.seekp(static_cast<std::streamoff>(offset));
        file << 'U';
    }
    auto const faults = verified_copy();
    ASSERT_FALSE(faults.empty());
    auto const result = replace(directory_.path() + "/other", copy, false);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("is damaged: "), std::string::npos)
        << result.error().message;
}

}  // namespace
}  // namespace latchkey::store
