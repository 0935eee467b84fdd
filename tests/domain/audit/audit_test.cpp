// The audit log: an entry for every change of a key, and a chain of hashes that shows every change
// of an entry. Also lists of keys and their last use.
#include <openssl/sha.h>

#include <algorithm>
#include <map>

#include "../support.hpp"
#include "domain/admin/upgrade_steps.hpp"
#include "domain/audit/audit_lists.hpp"
#include "domain/audit/audit_log.hpp"
#include "domain/audit/verify_audit.hpp"
#include "store/checksum.hpp"
#include "store/environment_state.hpp"
#include "store/lmdb_value.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

class audit : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());
    snapshot snapshot_{*store_};

    model::id add(unsigned number, std::string project = "default") {
        auto record = key_number(number, {"*"});
        record.project = std::move(project);
        return get_key(one(*store_, new_key(record))).id;
    }
    std::vector<audit_entry> entries(std::optional<std::string_view> project = {}) {
        std::vector<audit_entry> all;
        snapshot_.renew();
        auto const listed = audit_entries(snapshot_, {.project = project}, {.limit = 100},
                                          [&](audit_entry const& e) { all.push_back(e); });
        EXPECT_EQ(listed.total, all.size());
        return all;
    }
    // Writes past the store, with a valid checksum.
    void tamper(table table, std::string_view key, std::string_view value, bool erase = false) {
        auto& store = store_->native();
        MDB_txn* txn = nullptr;
        ASSERT_EQ(::mdb_txn_begin(store.env, nullptr, 0, &txn), 0);
        auto name = val_of(key);
        ASSERT_EQ(erase ? ::mdb_del(txn, store.dbi(table), &name, nullptr)
                        : put_checked(txn, store.dbi(table), table, key, value, 0),
                  0);
        ASSERT_EQ(::mdb_txn_commit(txn), 0);
    }
    std::string raw(model::id id) {
        auto& store = store_->native();
        MDB_txn* txn = nullptr;
        EXPECT_EQ(::mdb_txn_begin(store.env, nullptr, MDB_RDONLY, &txn), 0);
        auto const entry_key = id_key(id);
        auto name = val_of(entry_key);
        MDB_val value;
        EXPECT_EQ(::mdb_get(txn, store.dbi(table::audit), &name, &value), 0);
        std::string bytes(content_of(table::audit, entry_key, view_of(value)).value_or(""));
        ::mdb_txn_abort(txn);
        return bytes;
    }
    void TearDown() override { snapshot_.reset(); }
};

TEST_F(audit, has_an_entry_for_every_change) {
    auto const admin = add(1);
    domain::command command{.action = change_key{.id = admin, .name = "x", .environment = {}}};
    command.caller = admin;
    command.required_scope = model::scope::keys_write;
    command.address = model::address::parse("192.0.2.7");
    one(*store_, command);
    one(*store_, command);  // changes nothing
    command.action = rotate_key{.id = admin,
                                .digest = key_number(9).digest,
                                .start = "lkeyABCD",
                                .last4 = "abcd",
                                .overlap_ms = 1000};
    one(*store_, command);
    command.action = deactivate_key{.id = admin};
    one(*store_, command);
    command = {.action = reactivate_key{admin}};
    one(*store_, command);
    command.action = change_key{.id = 99, .name = "refused"};
    one(*store_, command);
    auto imported = key_number(3);
    imported.start.clear();
    imported.last4.clear();
    one(*store_, new_key(imported));

    auto const all = entries();
    std::vector<std::string> actions;
    for (auto const& each : all) actions.emplace_back(name_of(each.action));
    EXPECT_EQ(actions,
              (std::vector<std::string>{"key.create", "key.change", "key.rotate", "key.create",
                                        "key.deactivate", "key.reactivate", "key.import"}));
    EXPECT_EQ(all[0].actor, 0);
    EXPECT_FALSE(all[0].address);
    EXPECT_EQ(all[1].actor, admin);
    EXPECT_EQ(all[1].address->text(), "192.0.2.7");
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

TEST_F(audit, hashes_its_entries_as_documented) {
    add(1);
    std::string canonical;
    base::append(canonical, model::id{1});
    canonical += raw(1);
    model::digest digest;
    ::SHA256(reinterpret_cast<unsigned char const*>(canonical.data()), canonical.size(),
             digest.data());
    EXPECT_EQ(entries()[0].hash, digest);
}

// An attacker who can compute hashes can close the chain over a removed entry; the ids still show
// it.
TEST_F(audit, shows_a_gap_in_a_repaired_chain) {
    for (unsigned i = 1; i <= 4; ++i) add(i);
    auto const all = entries();
    tamper(table::audit, id_key(3), {}, true);
    auto last = raw(4);
    auto const& previous = all[1].hash;
    std::ranges::copy(previous, last.begin() + 9);  // after the version and the time
    tamper(table::audit, id_key(4), last);
    std::string head;
    encode(audit_head{4, decode_audit(4, last)->hash}, head);
    tamper(table::index, key_bytes{tag::audit_head}, head);
    auto const wrong = verify_audit(*store_).wrong;
    ASSERT_EQ(wrong.size(), 1u);
    EXPECT_NE(wrong[0].find("missing"), std::string::npos) << wrong[0];
}

TEST_F(audit, shows_an_end_that_is_not_the_last_entry) {
    for (unsigned i = 1; i <= 2; ++i) add(i);
    std::string head;
    encode(audit_head{3, entries()[1].hash}, head);
    tamper(table::index, key_bytes{tag::audit_head}, head);
    EXPECT_EQ(verify_audit(*store_).wrong.size(), 1u);
}

TEST_F(audit, is_listed_by_project) {
    add(1);
    add(2, "a");
    add(3, "a-b");
    add(4, "a");
    EXPECT_EQ(entries().size(), 4u);
    auto const of_a = entries("a");
    ASSERT_EQ(of_a.size(), 2u);
    EXPECT_EQ(of_a[1].key, 4);
    EXPECT_EQ(entries("none").size(), 0u);
}

TEST_F(audit, lists_entries_about_sources_beside_those_of_a_project) {
    auto const put = [&](std::string source) {
        put_event_secret command{.source = std::move(source)};
        command.secret = base::secret("a-secret-of-theirs");
        EXPECT_EQ(one(*store_, {.action = std::move(command)}).problem, problem::none);
    };
    put("shop");
    add(1, "a");
    put("till");
    add(2, "b");
    add(3, "a");
    put("shop");
    auto const ids = [&](range const& part) {
        std::vector<model::id> list;
        snapshot_.renew();
        auto const listed =
            audit_entries(snapshot_, {.project = "a", .with_sources = true}, part,
                          [&](audit_entry const& entry) { list.push_back(entry.id); });
        EXPECT_EQ(listed.total, 5u);
        return list;
    };
    using list = std::vector<model::id>;
    EXPECT_EQ(ids({.limit = 9}), (list{1, 2, 3, 5, 6}));
    EXPECT_EQ(ids({.limit = 9, .descending = true}), (list{6, 5, 3, 2, 1}));
    EXPECT_EQ(ids({.skip = 4, .limit = 9}), (list{6}));
    EXPECT_EQ(ids({.skip = 3, .limit = 1, .descending = true}), (list{2}));
    EXPECT_EQ(ids({.after_id = 2, .limit = 2}), (list{3, 5}));
    EXPECT_EQ(ids({.after_id = 5, .limit = 9, .descending = true}), (list{3, 2, 1}));
    EXPECT_EQ(entries("a").size(), 2u);
    EXPECT_EQ(check_consistency(*store_), std::vector<std::string>{});
}

// As a program without that index left it.
TEST_F(audit, a_server_completes_the_index_of_entries_about_sources) {
    put_event_secret command{.source = "shop"};
    command.secret = base::secret("a-secret-of-theirs");
    one(*store_, {.action = command});
    add(1, "a");
    one(*store_, {.action = delete_event_secret{"shop"}});
    for (model::id const id : {1, 3}) tamper(table::index, audit_of_project({}).add(id), {}, true);
    tamper(table::index, audit_count_key({}), {}, true);
    auto const count = [&] {
        snapshot_.renew();
        std::uint64_t visited = 0;
        auto const listed = audit_entries(snapshot_, {.project = "a", .with_sources = true},
                                          {.limit = 9}, [&](audit_entry const&) { ++visited; });
        EXPECT_EQ(listed.total, visited);
        return visited;
    };
    EXPECT_EQ(count(), 1u);
    for (int opening = 0; opening < 2; ++opening) {
        auto& store = store_->native();
        MDB_txn* txn = nullptr;
        ASSERT_EQ(::mdb_txn_begin(store.env, nullptr, 0, &txn), 0);
        ASSERT_EQ(index_source_entries(store, txn), 0);
        ASSERT_EQ(::mdb_txn_commit(txn), 0);
        EXPECT_EQ(count(), 3u);
    }
    EXPECT_EQ(check_consistency(*store_), std::vector<std::string>{});
}

TEST_F(audit, shows_an_altered_a_removed_and_a_forged_entry) {
    for (unsigned i = 1; i <= 5; ++i) add(i);
    auto const third = raw(3), fifth = raw(5);
    auto altered = third;
    altered[altered.find("default")] = 'D';
    tamper(table::audit, id_key(3), altered);
    EXPECT_EQ(verify_audit(*store_).wrong.size(), 1u);  // the fourth has another hash
    tamper(table::audit, id_key(3), third);
    EXPECT_TRUE(verify_audit(*store_).wrong.empty());
    tamper(table::audit, id_key(3), {}, true);
    EXPECT_FALSE(verify_audit(*store_).wrong.empty());
    tamper(table::audit, id_key(3), third);
    // The last entry has no successor to show a change; the head does.
    altered = fifth;
    altered[altered.find("default")] = 'D';
    tamper(table::audit, id_key(5), altered);
    auto const report = verify_audit(*store_);
    EXPECT_EQ(report.wrong.size(), 1u);
    EXPECT_EQ(report.entries, 5u);
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

// Half of the smallest store is room for 32,768 entries.
class shared_audit : public audit {
  protected:
    void SetUp() override { reopen(); }
    void reopen() {
        snapshot_.reset();
        store_.reset();
        store_ = open_store(directory_.path(), 16u << 20);
    }
    outcome act(model::id caller, command::any_action action) {
        return one(*store_, {.action = std::move(action),
                             .caller = caller,
                             .required_scope = model::scope::keys_write});
    }
    // A key changes its own name so many times; the answers that refuse it.
    std::vector<outcome> change(model::id key, unsigned count) {
        std::vector<outcome> refusals;
        std::vector<command> commands;
        for (unsigned i = 0; i < count; ++i) {
            auto name = std::to_string(changes_++);
            commands.push_back(
                {.action = change_key{.id = key, .name = std::move(name), .environment = {}},
                 .caller = key,
                 .required_scope = model::scope::keys_write});
            if (commands.size() < 64 && i + 1 < count) continue;
            for (auto& each : apply(*store_, std::exchange(commands, {})).value())
                if (each.problem != problem::none) refusals.push_back(std::move(each));
        }
        EXPECT_EQ(std::ranges::count(refusals, problem::storage_full, &outcome::problem),
                  std::ssize(refusals));
        return refusals;
    }

    // In a store of 16 MiB.
    static constexpr int room_ = 32'768;

  private:
    unsigned changes_ = 0;
};

TEST_F(shared_audit, of_projects_leaves_room_to_each) {
    auto const modest = add(1, "modest"), third = add(2, "third");
    EXPECT_EQ(change(modest, 1000).size(), 0u);
    // It stops with as many as are left: all but 1,002 of others.
    constexpr int share = (room_ - 1'002) / 2;
    int own_entries = 0;
    model::id last = 0;
    // A key takes half of what is left of the share, so that many are needed.
    for (unsigned number = 3; own_entries < share; ++number) {
        ASSERT_LT(number, 30u);
        last = add(number, "greedy");
        auto const left = static_cast<unsigned>(share - own_entries);
        own_entries += 1 + static_cast<int>(left - change(last, left).size());
    }
    EXPECT_EQ(own_entries, share);
    auto const refusals = change(last, 3);
    ASSERT_EQ(refusals.size(), 3u);
    EXPECT_NE(refusals[0].detail.find("15883 entries about this project and room for 15883"),
              std::string::npos)
        << refusals[0].detail;
    EXPECT_EQ(change(modest, 2000).size(), 0u) << "others go on";
    EXPECT_EQ(change(third, 2000).size(), 0u);

    auto another = key_number(99, {"users:read"});
    another.project = "greedy";
    EXPECT_EQ(act(last, create_key{another}).problem, problem::storage_full);
    EXPECT_EQ(act(last, rotate_key{.id = last, .digest = key_number(98).digest}).problem,
              problem::storage_full);
    EXPECT_EQ(
        act(last, deactivate_key{.id = last, .reason = model::deactivation::compromised}).problem,
        problem::none);
    EXPECT_EQ(one(*store_, new_key(another)).problem, problem::none) << "the command line";
    EXPECT_TRUE(verify_audit(*store_).wrong.empty());
    expect_sound(*store_);
}

TEST_F(shared_audit, of_a_project_leaves_room_to_each_of_its_keys) {
    auto const greedy = add(1), modest = add(2);
    EXPECT_EQ(change(modest, 100).size(), 0u);
    // With n of its own 32,768 - 2 × (102 + n) are left to the project, and half of that to add.
    constexpr unsigned part = (room_ - 2 * 102) / 4;
    EXPECT_EQ(change(greedy, part).size(), 0u);
    auto const refusals = change(greedy, 2);
    ASSERT_EQ(refusals.size(), 2u);
    EXPECT_NE(refusals[0].detail.find("8141 entries that this key has made and room for 8141"),
              std::string::npos)
        << refusals[0].detail;
    reopen();
    EXPECT_EQ(change(greedy, 2).size(), 2u);

    EXPECT_EQ(change(modest, 2000).size(), 0u);
    EXPECT_EQ(act(modest, create_key{key_number(3, {"users:read"})}).problem, problem::none);
    EXPECT_EQ(act(greedy, deactivate_key{.id = 3}).problem, problem::none);
    EXPECT_EQ(act(modest, rotate_key{.id = greedy, .digest = key_number(4).digest}).problem,
              problem::none);
    expect_sound(*store_);
}

// Earlier programs did not count what a key has made.
TEST_F(shared_audit, counts_the_entries_of_a_key_from_now_on) {
    auto const key = add(1);
    EXPECT_EQ(change(key, 3).size(), 0u);
    tamper(table::index, audit_made_key(key), {}, true);
    expect_sound(*store_);
    EXPECT_EQ(change(key, 3).size(), 0u);
    expect_sound(*store_);
    std::array<char, 8> seven;
    tamper(table::index, audit_made_key(key), id_value(7, seven));
    EXPECT_EQ(check_consistency(*store_),
              (std::vector<std::string>{
                  "more entries of the audit log are counted as made by key 1 than there are"}));
}

class key_lists : public audit {
  protected:
    std::vector<model::id> ids(key_filter const& filter, range const& part = {.limit = 100}) {
        std::vector<model::id> result;
        snapshot_.renew();
        total_ = snapshot_
                     .keys(filter, part,
                           [&](model::key const& key, base::wall_ms) { result.push_back(key.id); })
                     .total;
        return result;
    }
    std::uint64_t total_ = 0;
    using list = std::vector<model::id>;
};

TEST_F(key_lists, filter_by_everything_alone_and_together) {
    auto const now = base::read_clocks().wall;
    for (unsigned i = 1; i <= 6; ++i) {
        auto record = key_number(i, {"users:read"});
        record.project = i % 2 == 0 ? "even" : "odd";
        record.start = i <= 2 ? "lkeyAAAA" : "lkeyBBBB";
        if (i == 5) record.expires_at = 1000;
        if (i > 3) record.environment = model::environment::production;
        one(*store_, new_key(record));
    }
    one(*store_, {.action = deactivate_key{.id = 6}});
    one(*store_, {.action = note_key_uses{{{1, now}, {2, now - 1000}, {99, now}}}});
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
    EXPECT_EQ(ids({.environment = model::environment::development, .start = "lkeyBBBB"}), list{3});
    EXPECT_EQ(ids({.start = "lkey"}), list{});
    EXPECT_EQ(ids({.project = "nobody"}), list{});
    EXPECT_EQ(ids({.project = std::string(500, 'a')}), list{});
    EXPECT_EQ(ids({.unused_since = now}), (list{2, 3, 4, 5, 6}));
    EXPECT_EQ(total_, 5u);
    EXPECT_EQ(ids({.unused_since = now}, {.skip = 3, .limit = 1}), list{5});
    EXPECT_EQ(ids({.project = "odd"}, {.limit = 2, .descending = true}), (list{5, 3}));
    EXPECT_EQ(ids({.project = "odd"}, {.after_id = 1, .limit = 1}), list{3});
    one(*store_, {.action = change_key{.id = 1, .environment = model::environment::production}});
    EXPECT_EQ(ids({.environment = model::environment::production}), (list{1, 4, 5, 6}));
    EXPECT_EQ(total_, 4u);
    expect_sound(*store_);
}

TEST_F(key_lists, last_use_only_grows_and_is_no_change) {
    add(1);
    snapshot_.renew();
    auto const epoch = snapshot_.key_epoch();
    one(*store_, {.action = note_key_uses{{{1, 500}}}});
    one(*store_, {.action = note_key_uses{{{1, 400}, {7, 1}}}});
    snapshot_.renew();
    EXPECT_EQ(snapshot_.last_use(1), 500);
    EXPECT_EQ(snapshot_.last_use(7), 0);
    EXPECT_EQ(snapshot_.key_epoch(), epoch);
    EXPECT_EQ(entries().size(), 1u);
    EXPECT_EQ(one(*store_, {.action = deactivate_key{.id = 1}}).last_used_at, 500);
}

}  // namespace
}  // namespace latchkey::domain
