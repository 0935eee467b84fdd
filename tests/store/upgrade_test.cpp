#include "store/upgrade.hpp"

#include "support.hpp"

namespace latchkey::store {
namespace {

// A write transaction, undone unless it is kept.
class raw {
  public:
    explicit raw(environment& store) : store_(store.native()) {
        EXPECT_EQ(::mdb_txn_begin(store_.env, nullptr, 0, &txn_), 0);
    }
    ~raw() {
        if (txn_ != nullptr) ::mdb_txn_abort(txn_);
    }
    void keep() { EXPECT_EQ(::mdb_txn_commit(std::exchange(txn_, nullptr)), 0); }
    MDB_txn* get() { return txn_; }
    void put(std::string_view name, std::string_view content) {
        auto key = val_of(name), value = val_of(content);
        EXPECT_EQ(::mdb_put(txn_, store_.dbi(table::index), &key, &value, 0), 0);
    }
    std::string at(std::string_view name) {
        auto key = val_of(name);
        MDB_val value;
        return ::mdb_get(txn_, store_.dbi(table::index), &key, &value) == 0
                   ? std::string(view_of(value))
                   : "";
    }

  private:
    environment::state& store_;
    MDB_txn* txn_ = nullptr;
};

std::string schema_of(std::uint32_t version) {
    std::string bytes(schema_magic);
    base::append(bytes, version);
    return bytes;
}

int put_note(environment::state& store, MDB_txn* in, std::string_view name) {
    auto key = val_of(name), value = val_of(name);
    return ::mdb_put(in, store.dbi(table::index), &key, &value, 0);
}

constexpr upgrade_step steps[] = {
    {1, [](environment::state& store, MDB_txn* in) { return put_note(store, in, "\xf1"); }},
    {2, [](environment::state& store, MDB_txn* in) { return put_note(store, in, "\xf2"); }},
};

TEST(upgrades, run_every_step_in_one_transaction) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    {
        raw in(*store);
        ASSERT_TRUE(upgrade(store->native(), in.get(), 1, 3, steps));
        EXPECT_EQ(in.at(key_bytes{tag::schema}), schema_of(3));
        EXPECT_EQ(in.at(key_bytes{tag::heads}).front(), 3);
        EXPECT_EQ(in.at("\xf1") + in.at("\xf2"), "\xf1\xf2");
        in.keep();
    }
    // Whoever still runs by the old schema writes nothing any more.
    EXPECT_FALSE(apply(*store, {new_user("x", "x@e.org")}));
}

TEST(upgrades, that_fail_leave_the_store_as_it_was) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    static constexpr upgrade_step failing[] = {
        steps[0], {2, [](environment::state&, MDB_txn*) { return MDB_MAP_FULL; }}};
    {
        raw in(*store);
        auto const made = upgrade(store->native(), in.get(), 1, 3, failing);
        ASSERT_FALSE(made);
        EXPECT_NE(made.error().message.find("stays at schema version 1"), std::string::npos);
    }
    raw in(*store);
    EXPECT_EQ(in.at(key_bytes{tag::schema}), schema_of(1));
    EXPECT_EQ(in.at("\xf1"), "");
}

TEST(upgrades, need_a_step_for_every_version) {
    temporary_directory const directory;
    auto const store = open_store(directory.path());
    raw in(*store);
    auto const made = upgrade(store->native(), in.get(), 0, 2, steps);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("no way from schema version 0 to 2"), std::string::npos);
}

TEST(upgrades, are_a_servers_alone) {
    temporary_directory const directory;
    {
        auto const store = open_store(directory.path());
        raw in(*store);
        in.put(key_bytes{tag::schema}, schema_of(0));
        in.keep();
    }
    for (bool const read_only : {false, true}) {
        auto const opened =
            environment::open({.directory = directory.path(), .read_only = read_only});
        ASSERT_FALSE(opened);
        EXPECT_NE(opened.error().message.find("has schema version 0, this program knows version 1: "
                                              "latchkey serve brings it up to date"),
                  std::string::npos)
            << opened.error().message;
    }
    auto const opened = environment::open({.directory = directory.path(), .for_server = true});
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("no way"), std::string::npos) << opened.error().message;
}

}  // namespace
}  // namespace latchkey::store
