#include "store/upgrade.hpp"

#include "domain/audit/verify_audit.hpp"
#include "domain/events/event_lists.hpp"
#include "schema_1.hpp"
#include "store/environment_state.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::domain {
namespace {

// A write transaction, aborted unless it is committed.
class write_transaction {
  public:
    explicit write_transaction(environment& store) : store_(store.native()) {
        EXPECT_EQ(::mdb_txn_begin(store_.env, nullptr, 0, &txn_), 0);
    }
    ~write_transaction() {
        if (txn_ != nullptr) ::mdb_txn_abort(txn_);
    }
    void commit() { EXPECT_EQ(::mdb_txn_commit(std::exchange(txn_, nullptr)), 0); }
    MDB_txn* get() { return txn_; }
    void put(std::string_view name, std::string_view content) {
        auto key = val_of(name), value = val_of(content);
        EXPECT_EQ(::mdb_put(txn_, store_.dbi(table::index), &key, &value, 0), 0);
    }
    std::string value_of(std::string_view name) {
        auto key = val_of(name);
        MDB_val value;
        return ::mdb_get(txn_, store_.dbi(table::index), &key, &value) == 0
                   ? std::string(view_of(value))
                   : "";
    }

  private:
    environment_state& store_;
    MDB_txn* txn_ = nullptr;
};

std::string schema_of(std::uint32_t version) {
    std::string bytes(schema_magic);
    base::append(bytes, version);
    return bytes;
}

int put_note(environment_state& store, MDB_txn* txn, std::string_view name) {
    auto key = val_of(name), value = val_of(name);
    return ::mdb_put(txn, store.dbi(table::index), &key, &value, 0);
}

constexpr upgrade_step steps[] = {
    {1, [](environment_state& store, MDB_txn* txn) { return put_note(store, txn, "\xf1"); }},
    {2, [](environment_state& store, MDB_txn* txn) { return put_note(store, txn, "\xf2"); }},
    {3, [](environment_state&, MDB_txn*) { return 0; }},
    {4, [](environment_state&, MDB_txn*) { return 0; }},
    {5, [](environment_state&, MDB_txn*) { return 0; }},
};

TEST(upgrades, run_every_step_in_one_transaction) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    {
        write_transaction transaction(*store);
        ASSERT_TRUE(upgrade(store->native(), transaction.get(), 1, 6, steps));
        EXPECT_EQ(transaction.value_of(key_bytes{tag::schema}), schema_of(6));
        EXPECT_EQ(transaction.value_of(key_bytes{tag::counters}).front(), 6);
        EXPECT_EQ(transaction.value_of("\xf1") + transaction.value_of("\xf2"), "\xf1\xf2");
        transaction.commit();
    }
    // A process that still uses the old schema cannot write any more.
    EXPECT_FALSE(apply(*store, {new_user("x", "x@e.org")}));
}

TEST(upgrades, that_fail_leave_the_store_as_it_was) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    static constexpr upgrade_step failing[] = {
        steps[0], {2, [](environment_state&, MDB_txn*) { return MDB_MAP_FULL; }}};
    {
        write_transaction transaction(*store);
        auto const result = upgrade(store->native(), transaction.get(), 1, 3, failing);
        ASSERT_FALSE(result);
        EXPECT_NE(result.error().message.find("stays at schema version 1"), std::string::npos);
    }
    write_transaction transaction(*store);
    EXPECT_EQ(transaction.value_of(key_bytes{tag::schema}), schema_of(schema_version));
    EXPECT_EQ(transaction.value_of("\xf1"), "");
}

TEST(upgrades, need_a_step_for_every_version) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    write_transaction transaction(*store);
    auto const result = upgrade(store->native(), transaction.get(), 0, 2, steps);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("schema version 0 cannot be upgraded to 2"),
              std::string::npos);
}

TEST(upgrades, are_done_by_servers_only) {
    temporary_directory const directory;
    {
        auto const store = open_store(directory.path());
        write_transaction transaction(*store);
        transaction.put(key_bytes{tag::schema}, schema_of(0));
        transaction.commit();
    }
    for (bool const read_only : {false, true}) {
        auto const store =
            environment::open({.directory = directory.path(), .read_only = read_only});
        ASSERT_FALSE(store);
        EXPECT_NE(store.error().message.find("has schema version 0, this program knows version 5: "
                                             "latchkey serve brings it up to date"),
                  std::string::npos)
            << store.error().message;
    }
    auto const store = environment::open({.directory = directory.path(), .for_server = true});
    ASSERT_FALSE(store);
    EXPECT_NE(store.error().message.find("cannot be upgraded"), std::string::npos)
        << store.error().message;
}

base::result<std::unique_ptr<environment>> open_as_server(std::string const& directory) {
    return environment::open({.directory = directory, .for_server = true, .sync = false});
}

// The records of a program of version 1 are unchanged, and each has its checksum.
TEST(upgrades, of_version_1_keep_every_record) {
    temporary_directory const outer;
    auto const directory = outer.path() + "/store";
    write_schema_1_file(directory);
    auto const content_before = content_of_file(directory);
    EXPECT_EQ(content_before.size(), 87u);
    auto const refusal = environment::open({.directory = directory, .sync = false});
    ASSERT_FALSE(refusal);
    EXPECT_NE(refusal.error().message.find("has schema version 1, this program knows version 5"),
              std::string::npos);
    {
        auto const result = open_as_server(directory);
        ASSERT_TRUE(result) << result.error().message;
        auto& store = **result;
        expect_sound(store);
        EXPECT_TRUE(verify_audit(store).wrong.empty());
        snapshot snapshot(store);
        snapshot.renew();
        EXPECT_EQ(snapshot.user(2)->email, "User2@example.org");
        EXPECT_EQ(snapshot.user_with_email("user3@example.org"), 3);
        EXPECT_FALSE(snapshot.user(4));
        EXPECT_EQ(snapshot.post(6)->title, "Title 6");
        EXPECT_EQ(snapshot.posts_of(1), 2u);
        EXPECT_EQ(find_event(snapshot, 2)->payload, R"({"hello":"again"})");
        EXPECT_EQ(snapshot.key(2)->project, "alpha");
        EXPECT_FALSE(snapshot.damaged());
        snapshot.reset();
        EXPECT_EQ(get_user(one(store, new_user("x", "x@example.org"))).id, 5);
        expect_sound(store);
    }
    // Once more, compared as bytes.
    write_schema_1_file(directory);
    std::filesystem::remove(directory + "/store.mdb-lock");
    EXPECT_TRUE(open_as_server(directory));
    // The upgrade adds the index of entries about sources of events.
    auto content_after = as_schema_1(content_of_file(directory));
    EXPECT_EQ(
        content_after.erase({table::index, std::string(audit_of_project({}).add(model::id{3}))}),
        1u);
    EXPECT_EQ(
        content_after.erase({table::index, std::string(audit_of_project({}).add(model::id{4}))}),
        1u);
    EXPECT_EQ(content_after.erase({table::index, std::string(audit_count_key({}))}), 1u);
    EXPECT_EQ(content_after, content_before);
}

TEST(upgrades, of_many_records_keep_every_one) {
    temporary_directory const directory;
    {
        auto const store = open_store(directory.path());
        fill(*store, 3000);
    }
    auto const content_before = as_schema_1(content_of_file(directory.path()));
    EXPECT_GT(content_before.size(), 10'000u);
    replace_content(directory.path(), content_before);
    ASSERT_EQ(content_of_file(directory.path()), content_before);
    {
        auto const result = open_as_server(directory.path());
        ASSERT_TRUE(result) << result.error().message;
        expect_sound(**result);
    }
    EXPECT_EQ(as_schema_1(content_of_file(directory.path())), content_before);
}

}  // namespace
}  // namespace latchkey::domain
