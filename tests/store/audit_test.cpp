// The audit log: an entry with every change of a key, and a chain that shows what was touched. Also
// lists of keys and their last use.
#include <openssl/sha.h>

#include "store/environment_state.hpp"
#include "support.hpp"

namespace latchkey::store {
namespace {

using base::problem;

class audit : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());
    snapshot seen_{*store_};

    model::id add(unsigned number, std::string project = "default") {
        auto made = key_number(number, {"*"});
        made.project = std::move(project);
        return made_key(one(*store_, new_key(made))).id;
    }
    std::vector<audit_entry> entries(std::optional<std::string_view> project = {}) {
        std::vector<audit_entry> all;
        seen_.renew();
        auto const listed =
            seen_.audit(project, {.limit = 100}, [&](audit_entry const& e) { all.push_back(e); });
        EXPECT_EQ(listed.total, all.size());
        return all;
    }
    // Writes behind the store's back.
    void tamper(table where, std::string_view key, std::string_view value, bool erase = false) {
        auto& store = store_->native();
        MDB_txn* txn = nullptr;
        ASSERT_EQ(::mdb_txn_begin(store.env, nullptr, 0, &txn), 0);
        auto name = val_of(key);
        auto content = val_of(value);
        ASSERT_EQ(erase ? ::mdb_del(txn, store.dbi(where), &name, nullptr)
                        : ::mdb_put(txn, store.dbi(where), &name, &content, 0),
                  0);
        ASSERT_EQ(::mdb_txn_commit(txn), 0);
    }
    std::string raw(model::id id) {
        auto& store = store_->native();
        MDB_txn* txn = nullptr;
        EXPECT_EQ(::mdb_txn_begin(store.env, nullptr, MDB_RDONLY, &txn), 0);
        auto const at = id_key(id);
        auto name = val_of(at);
        MDB_val value;
        EXPECT_EQ(::mdb_get(txn, store.dbi(table::audit), &name, &value), 0);
        std::string bytes(view_of(value));
        ::mdb_txn_abort(txn);
        return bytes;
    }
    void TearDown() override { seen_.reset(); }
};

TEST_F(audit, has_an_entry_for_every_change) {
    auto const admin = add(1);
    command what{.what = change_key{.id = admin, .name = "x", .environment = {}}};
    what.caller = admin, what.needs = model::scope::keys_write;
    what.from = model::address::parse("192.0.2.7");
    one(*store_, what);
    one(*store_, what);  // changes nothing
    what.what = rotate_key{.id = admin,
                           .digest = key_number(9).digest,
                           .start = "lkeyABCD",
                           .last4 = "abcd",
                           .overlap_ms = 1000};
    one(*store_, what);
    what.what = deactivate_key{.id = admin};
    one(*store_, what);
    what = {.what = reactivate_key{admin}};
    one(*store_, what);
    what.what = change_key{.id = 99, .name = "refused"};
    one(*store_, what);
    auto imported = key_number(3);
    imported.start.clear(), imported.last4.clear();
    one(*store_, new_key(imported));

    auto const all = entries();
    std::vector<std::string> actions;
    for (auto const& each : all) actions.emplace_back(name_of(each.action));
    EXPECT_EQ(actions,
              (std::vector<std::string>{"key.create", "key.change", "key.rotate", "key.create",
                                        "key.deactivate", "key.reactivate", "key.import"}));
    EXPECT_EQ(all[0].actor, 0);
    EXPECT_FALSE(all[0].from);
    EXPECT_EQ(all[1].actor, admin);
    EXPECT_EQ(all[1].from->text(), "192.0.2.7");
    EXPECT_EQ(all[1].fields, std::vector<std::string>{"name"});
    EXPECT_EQ(all[2].key, admin);
    EXPECT_EQ(all[3].key, 2);
    EXPECT_EQ(all[0].previous, model::digest{});
    for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i].previous, all[i - 1].hash);
    auto const report = verify_audit(*store_);
    EXPECT_EQ(report.entries, 7u);
    EXPECT_EQ(report.last, all.back().hash);
    EXPECT_TRUE(report.wrong.empty());
}

TEST_F(audit, hashes_what_it_says) {
    add(1);
    std::string canonical;
    base::append(canonical, model::id{1});
    canonical += raw(1);
    model::digest digest;
    ::SHA256(reinterpret_cast<unsigned char const*>(canonical.data()), canonical.size(),
             digest.data());
    EXPECT_EQ(entries()[0].hash, digest);
}

TEST_F(audit, is_listed_by_project) {
    add(1), add(2, "a"), add(3, "a-b"), add(4, "a");
    EXPECT_EQ(entries().size(), 4u);
    auto const of_a = entries("a");
    ASSERT_EQ(of_a.size(), 2u);
    EXPECT_EQ(of_a[1].key, 4);
    EXPECT_EQ(entries("none").size(), 0u);
}

TEST_F(audit, shows_an_altered_a_removed_and_a_forged_entry) {
    for (unsigned i = 1; i <= 5; ++i) add(i);
    auto const third = raw(3), fifth = raw(5);
    auto altered = third;
    altered[altered.find("default")] = 'D';
    tamper(table::audit, id_key(3), altered);
    EXPECT_EQ(verify_audit(*store_).wrong.size(), 1u);  // the fourth does not fit it
    tamper(table::audit, id_key(3), third);
    EXPECT_TRUE(verify_audit(*store_).wrong.empty());
    tamper(table::audit, id_key(3), {}, true);
    EXPECT_FALSE(verify_audit(*store_).wrong.empty());
    tamper(table::audit, id_key(3), third);
    // The last one has no successor that would show it; the head does.
    tamper(table::audit, id_key(5), {}, true);
    EXPECT_EQ(verify_audit(*store_).wrong.size(), 1u);
    tamper(table::audit, id_key(5), fifth);
    tamper(table::audit, id_key(6), fifth);
    EXPECT_FALSE(verify_audit(*store_).wrong.empty());
    tamper(table::audit, id_key(6), {}, true);
    tamper(table::audit, id_key(2), "rubbish");
    EXPECT_FALSE(verify_audit(*store_).wrong.empty());
}

// ---- lists and last use

class key_lists : public audit {
  protected:
    std::vector<model::id> ids(key_filter const& filter, range const& part = {.limit = 100}) {
        std::vector<model::id> found;
        seen_.renew();
        total_ = seen_
                     .keys(filter, part,
                           [&](model::key const& key, base::wall_ms) { found.push_back(key.id); })
                     .total;
        return found;
    }
    std::uint64_t total_ = 0;
    using list = std::vector<model::id>;
};

TEST_F(key_lists, filter_by_everything_alone_and_together) {
    auto const now = base::read_clocks().wall;
    for (unsigned i = 1; i <= 6; ++i) {
        auto made = key_number(i, {"users:read"});
        made.project = i % 2 == 0 ? "even" : "odd";
        made.start = i <= 2 ? "lkeyAAAA" : "lkeyBBBB";
        if (i == 5) made.expires_at = 1000;
        if (i > 3) made.environment = model::environment::production;
        one(*store_, new_key(made));
    }
    one(*store_, {.what = deactivate_key{.id = 6}});
    one(*store_, {.what = note_key_uses{{{1, now}, {2, now - 1000}, {99, now}}}});
    using model::key_state;
    EXPECT_EQ(ids({}), (list{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(ids({.project = "odd"}), (list{1, 3, 5}));
    EXPECT_EQ(ids({.environment = model::environment::production}), (list{4, 5, 6}));
    EXPECT_EQ(ids({.project = "odd", .environment = model::environment::production}), list{5});
    EXPECT_EQ(ids({.state = key_state::active, .now = now}), (list{1, 2, 3, 4}));
    EXPECT_EQ(ids({.state = key_state::expired, .now = now}), list{5});
    EXPECT_EQ(ids({.state = key_state::deactivated, .now = now}), list{6});
    EXPECT_EQ(ids({.project = "even", .state = key_state::active, .now = now}), (list{2, 4}));
    EXPECT_EQ(ids({.start = "lkeyAAAA"}), (list{1, 2}));
    EXPECT_EQ(ids({.project = "odd", .start = "lkeyBBBB"}), (list{3, 5}));
    EXPECT_EQ(ids({.start = "lkey"}), list{});
    EXPECT_EQ(ids({.project = "nobody"}), list{});
    EXPECT_EQ(ids({.project = std::string(500, 'a')}), list{});
    EXPECT_EQ(ids({.unused_since = now}), (list{2, 3, 4, 5, 6}));
    EXPECT_EQ(total_, 5u);
    EXPECT_EQ(ids({.unused_since = now}, {.skip = 3, .limit = 1}), list{5});
    EXPECT_EQ(ids({.project = "odd"}, {.limit = 2, .descending = true}), (list{5, 3}));
    EXPECT_EQ(ids({.project = "odd"}, {.after = 1, .limit = 1}), list{3});
    one(*store_, {.what = change_key{.id = 1, .environment = model::environment::production}});
    EXPECT_EQ(ids({.environment = model::environment::production}), (list{1, 4, 5, 6}));
    EXPECT_EQ(total_, 4u);
    expect_whole(*store_);
}

TEST_F(key_lists, last_use_only_grows_and_is_no_change) {
    add(1);
    seen_.renew();
    auto const epoch = seen_.key_epoch();
    one(*store_, {.what = note_key_uses{{{1, 500}}}});
    one(*store_, {.what = note_key_uses{{{1, 400}, {7, 1}}}});
    seen_.renew();
    EXPECT_EQ(seen_.last_use(1), 500);
    EXPECT_EQ(seen_.last_use(7), 0);
    EXPECT_EQ(seen_.key_epoch(), epoch);
    EXPECT_EQ(entries().size(), 1u);
    EXPECT_EQ(one(*store_, {.what = deactivate_key{.id = 1}}).last_used_at, 500);
}

}  // namespace
}  // namespace latchkey::store
