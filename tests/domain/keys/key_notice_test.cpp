// What is told of keys without a request that changes them: what time brings, and how they are used
// (api.md §16).
#include "domain/keys/key_notice.hpp"

#include "../writer/cluster_fixture.hpp"
#include "domain/admin/time_reset.hpp"
#include "store/environment_state.hpp"

namespace latchkey::domain {
namespace {

using base::problem;
using base::wall_ms;
using model::change_type;
using enum model::change_type;
using types = std::vector<change_type>;

constexpr wall_ms minute_ms = 60'000, hour_ms = 60 * minute_ms, day_ms = 24 * hour_ms;
constexpr wall_ms beginning = 20'000 * day_ms;
wall_ms notice_clock = beginning;

environment_options options_with(key_time_rules rules = {}) {
    environment_options options{.map_bytes = 1u << 30, .sync = false, .records_changes = true};
    options.key_times = std::move(rules);
    options.wall = [] { return notice_clock; };
    return options;
}

// Looks at all keys in parts of `count`, as the service does; returns the keys that were submitted.
std::vector<model::id> tell(environment& store, std::size_t count = 2) {
    snapshot view(store);
    std::vector<model::id> all;
    model::id last_key = 0;
    do {
        view.renew();
        auto const part = view.keys_with_untold_times(last_key, count);
        view.reset();
        last_key = part.last;
        all.insert(all.end(), part.keys.begin(), part.keys.end());
        if (part.keys.empty() && part.has_begun) continue;
        EXPECT_EQ(one(store, {.action = note_key_times{part.keys}}).problem, problem::none);
    } while (last_key != 0);
    return all;
}

types types_after(environment& store, model::id sequence) {
    snapshot view(store);
    view.renew();
    types result;
    view.changes_after(sequence, [&](change_view const& change) {
        result.push_back(change.type);
        EXPECT_EQ(change.occurred_at, notice_clock);
        auto const key = model::decode_key(change.subject, change.record);
        EXPECT_TRUE(key && key->project == change.project);
        return true;
    });
    EXPECT_FALSE(view.damaged());
    return result;
}

model::id last_change(environment& store) {
    snapshot view(store);
    view.renew();
    return view.changes().last;
}

class key_notices : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_;

    void SetUp() override {
        notice_clock = beginning;
        open();
        tell(*store_);  // begins
    }
    void TearDown() override { expect_sound(*store_); }
    void open(key_time_rules rules = {}) {
        store_.reset();
        auto options = options_with(std::move(rules));
        options.directory = directory_.path();
        store_ = environment::open(options).value();
    }
    model::id add(wall_ms expires_at, wall_ms not_before = 0) {
        auto key = key_number(++number_);
        key.expires_at = expires_at;
        key.not_before = not_before;
        return get_key(one(*store_, new_key(key))).id;
    }
    outcome act(command::any_action action) {
        auto answer = one(*store_, {.action = std::move(action)});
        EXPECT_EQ(answer.problem, problem::none);
        return answer;
    }
    // What is told at that time; told twice, nothing more.
    types at(wall_ms time) {
        notice_clock = time;
        auto const last = last_change(*store_);
        tell(*store_);
        auto result = types_after(*store_, last);
        EXPECT_EQ(tell(*store_), std::vector<model::id>{});
        EXPECT_EQ(types_after(*store_, last), result);
        return result;
    }
    types told_by(command::any_action action) {
        auto const last = last_change(*store_);
        act(std::move(action));
        return types_after(*store_, last);
    }
    static note_key_uses limited(model::id id) {
        model::usage counted;
        counted.count(429, true);
        return {{{.key = id,
                  .minute = model::start_of(model::granularity::minute, notice_clock),
                  .counted = counted}}};
    }

    unsigned number_ = 0;
};

TEST_F(key_notices, have_a_form) {
    std::string bytes;
    encode(key_notice{1, 2, 3}, bytes);
    EXPECT_EQ(bytes.size(), 25u);
    EXPECT_EQ(decode_key_notice(bytes), (key_notice{1, 2, 3}));
    EXPECT_FALSE(decode_key_notice(bytes.substr(1)));
    EXPECT_FALSE(decode_key_notice(bytes + '\0'));
    bytes[0] = 2;
    EXPECT_FALSE(decode_key_notice(bytes));
}

TEST_F(key_notices, tell_that_a_key_expires_before_and_then) {
    auto const end = beginning + 30 * day_ms;
    add(end);
    EXPECT_EQ(at(end - 14 * day_ms - 1), types{});
    EXPECT_EQ(at(end - 14 * day_ms), types{key_expiring});
    EXPECT_EQ(at(end - 3 * day_ms - 1), types{});
    EXPECT_EQ(at(end - 3 * day_ms + hour_ms), types{key_expiring});
    EXPECT_EQ(at(end - day_ms), types{key_expiring});
    EXPECT_EQ(at(end - 1), types{});
    EXPECT_EQ(at(end), types{key_expired});
    EXPECT_EQ(at(end + 200 * day_ms), types{});
}

TEST_F(key_notices, tell_thresholds_that_passed_together_as_one_and_none_after_the_expiry) {
    auto const end = beginning + 30 * day_ms;
    add(end);
    EXPECT_EQ(at(end - 2 * day_ms), types{key_expiring});
    EXPECT_EQ(at(end + day_ms), types{key_expired});
}

TEST_F(key_notices, of_a_young_key_are_those_that_are_ahead) {
    auto const end = beginning + 3 * day_ms;
    add(end);
    EXPECT_EQ(at(beginning + 1), types{});
    EXPECT_EQ(at(end - day_ms), types{key_expiring});
    EXPECT_EQ(at(end), types{key_expired});
}

TEST_F(key_notices, follow_the_settings) {
    open({.expiring_ms = {day_ms, 5 * day_ms}, .unused_ms = 2 * day_ms});
    auto const end = beginning + 10 * day_ms;
    add(end);
    EXPECT_EQ(at(beginning + 2 * day_ms), types{key_unused});
    EXPECT_EQ(at(end - 5 * day_ms), types{key_expiring});
    open({.expiring_ms = {}, .unused_ms = 0});
    EXPECT_EQ(at(end - day_ms), types{});
    EXPECT_EQ(at(end), types{key_expired});
    add(0);
    EXPECT_EQ(at(end + 1000 * day_ms), types{});
}

TEST_F(key_notices, begin_anew_with_a_changed_expiry) {
    auto const end = beginning + 30 * day_ms;
    auto const id = add(end);
    EXPECT_EQ(at(end - 14 * day_ms), types{key_expiring});
    auto const later = end + 30 * day_ms;
    EXPECT_EQ(told_by(change_key{.id = id, .expires_at = later}), types{key_updated});
    EXPECT_EQ(at(end - 14 * day_ms), types{});
    EXPECT_EQ(at(later - 14 * day_ms), types{key_expiring});
    // What of the new expiry has passed already is not told.
    auto const sooner = notice_clock + 2 * day_ms;
    act(change_key{.id = id, .expires_at = sooner});
    EXPECT_EQ(at(notice_clock + 1), types{});
    EXPECT_EQ(at(sooner - day_ms), types{key_expiring});
    EXPECT_EQ(at(sooner), types{key_expired});
    act(change_key{.id = id, .expires_at = sooner + 30 * day_ms});
    EXPECT_EQ(at(sooner + 30 * day_ms), types{key_expired});
}

TEST_F(key_notices, are_told_before_the_change_that_would_hide_them) {
    auto const end = beginning + 2 * day_ms;
    auto const id = add(end);
    notice_clock = end + 1;
    EXPECT_EQ(told_by(change_key{.id = id, .expires_at = end + 30 * day_ms}),
              (types{key_expired, key_updated}));
    EXPECT_EQ(at(notice_clock), types{});
}

TEST_F(key_notices, tell_the_activation_once) {
    auto const id = add(0, beginning + day_ms);
    add(0, beginning - day_ms);
    EXPECT_EQ(at(beginning + day_ms - 1), types{});
    EXPECT_EQ(at(beginning + day_ms), types{key_activated});
    act(change_key{.id = id, .not_before = beginning + 3 * day_ms});
    EXPECT_EQ(at(beginning + 3 * day_ms), types{key_activated});
    // By the change itself.
    act(change_key{.id = id, .not_before = beginning + 9 * day_ms});
    act(change_key{.id = id, .not_before = beginning + 2 * day_ms});
    EXPECT_EQ(at(beginning + 4 * day_ms), types{});
}

TEST_F(key_notices, tell_the_end_of_a_rotation_of_the_old_key) {
    auto const id = add(0);
    auto const other = add(0);
    auto const rotate = [&](model::id key, wall_ms overlap) {
        return told_by(rotate_key{.id = key,
                                  .digest = key_number(++number_).digest,
                                  .start = "lkeyABCD",
                                  .last4 = "wxyz",
                                  .overlap_ms = overlap});
    };
    EXPECT_EQ(rotate(id, hour_ms), (types{key_rotated, key_created}));
    EXPECT_EQ(rotate(other, 0), (types{key_rotated, key_created, key_deactivated}));
    EXPECT_EQ(at(beginning + hour_ms - 1), types{});
    auto const last = last_change(*store_);
    EXPECT_EQ(at(beginning + hour_ms), types{key_deactivated});
    snapshot view(*store_);
    view.renew();
    view.changes_after(last, [&](change_view const& change) {
        EXPECT_EQ(change.subject, id);
        EXPECT_EQ(change.key_id, 0);
        return true;
    });
    view.reset();
    EXPECT_EQ(at(beginning + 400 * day_ms), (types{key_unused, key_unused})) << "of the new ones";
}

TEST_F(key_notices, tell_nothing_of_a_key_that_is_turned_off) {
    auto const end = beginning + 30 * day_ms;
    auto const id = add(end);
    act(deactivate_key{.id = id});
    EXPECT_EQ(at(end - day_ms), types{});
    EXPECT_EQ(told_by(limited(id)), types{});
    EXPECT_EQ(told_by(note_key_uses{{}, {key_number(1).digest}}), types{});
    act(reactivate_key{.id = id});
    EXPECT_EQ(at(end - day_ms + 1), types{key_expiring}) << "of what has passed meanwhile";
    act(deactivate_key{.id = id});
    EXPECT_EQ(at(end), types{});
}

TEST_F(key_notices, tell_that_a_key_is_unused_until_it_is_used_again) {
    auto const id = add(0);
    EXPECT_EQ(at(beginning + 90 * day_ms - 1), types{});
    EXPECT_EQ(at(beginning + 90 * day_ms), types{key_unused});
    EXPECT_EQ(at(beginning + 300 * day_ms), types{});
    auto const use_time = notice_clock;
    act(note_key_uses{{{.key = id, .last_used = use_time}}});
    EXPECT_EQ(at(use_time + 90 * day_ms - 1), types{});
    EXPECT_EQ(at(use_time + 90 * day_ms), types{key_unused});
}

TEST_F(key_notices, tell_what_was_limited_once_an_hour) {
    auto const id = add(0);
    EXPECT_EQ(told_by(limited(id)), types{key_limited});
    EXPECT_EQ(told_by(limited(id)), types{});
    notice_clock += hour_ms - 1;
    EXPECT_EQ(told_by(limited(id)), types{});
    notice_clock += 1;
    EXPECT_EQ(told_by(limited(id)), types{key_limited});
    EXPECT_EQ(told_by(limited(id + 1)), types{}) << "of no key";
}

TEST_F(key_notices, tell_what_was_exposed_once_a_day) {
    auto const id = add(0);
    auto const digest = key_number(1).digest, unknown = key_number(9).digest;
    EXPECT_EQ(told_by(note_key_uses{{}, {unknown, digest, digest}}), types{key_exposed});
    EXPECT_EQ(told_by(limited(id)), types{key_limited}) << "independently";
    notice_clock += day_ms - 1;
    EXPECT_EQ(told_by(note_key_uses{{}, {digest}}), types{});
    notice_clock += 1;
    EXPECT_EQ(told_by(note_key_uses{{}, {digest}}), types{key_exposed});
}

TEST_F(key_notices, of_what_came_before_the_beginning_are_not_told) {
    // A store whose keys are older than its changes.
    auto options = options_with();
    temporary_directory directory;
    options.directory = directory.path();
    options.records_changes = false;
    auto store = environment::open(options).value();
    auto key = key_number(1);
    key.expires_at = beginning + day_ms;
    get_key(one(*store, new_key(key)));
    key = key_number(2);
    key.expires_at = beginning + 10 * day_ms;
    get_key(one(*store, new_key(key)));
    notice_clock = beginning + 8 * day_ms;
    EXPECT_EQ(one(*store, {.action = note_key_times{{1, 2}}}).problem, problem::not_found);
    store.reset();
    options.records_changes = true;
    store = environment::open(options).value();
    EXPECT_EQ(tell(*store), std::vector<model::id>{});
    notice_clock = beginning + 9 * day_ms;
    EXPECT_EQ(tell(*store), std::vector<model::id>{2});
    EXPECT_EQ(types_after(*store, 0), types{key_expiring});
    expect_sound(*store);
}

TEST_F(key_notices, of_many_large_keys_are_told_in_parts) {
    for (int i = 0; i < 100; ++i) {
        auto key = key_number(++number_);
        key.expires_at = beginning + day_ms / 2;
        key.metadata["text"] = std::string(model::metadata_bytes_max - 4, 'm');
        get_key(one(*store_, new_key(key)));
    }
    notice_clock = beginning + day_ms;
    auto const last = last_change(*store_);
    std::vector<model::id> all;
    for (model::id id = 1; id <= 100; ++id) all.push_back(id);
    EXPECT_EQ(tell(*store_, 1000), all);
    auto const count = types_after(*store_, last).size();
    EXPECT_GT(count, 50u);
    EXPECT_LT(count, 100u);
    tell(*store_, 1000);
    EXPECT_EQ(types_after(*store_, last), types(100, key_expired));
}

TEST_F(key_notices, show_when_to_look_again) {
    add(beginning + 30 * day_ms);
    add(beginning + 20 * day_ms);
    add(0, beginning + 8 * day_ms);
    snapshot view(*store_);
    view.renew();
    auto const first = view.keys_with_untold_times(0, 2);
    EXPECT_TRUE(first.has_begun);
    EXPECT_EQ(first.last, 2);
    EXPECT_EQ(first.next, beginning + 6 * day_ms);
    auto const second = view.keys_with_untold_times(first.last, 2);
    EXPECT_EQ(second.last, 0);
    EXPECT_EQ(second.next, beginning + 8 * day_ms);
    EXPECT_EQ(second.keys, std::vector<model::id>{});
    EXPECT_FALSE(view.damaged());
}

TEST_F(key_notices, that_a_wrong_clock_told_are_told_again) {
    auto const end = beginning + 10 * day_ms;
    auto const id = add(end);
    EXPECT_EQ(at(beginning + 400 * day_ms), types{key_expired});
    act(limited(id));
    notice_clock = beginning + 2 * day_ms;
    store_.reset();
    auto options = options_with();
    options.directory = directory_.path();
    options.any_time = true;
    store_ = environment::open(options).value();
    ASSERT_TRUE(reset_time(*store_, false));
    open();
    EXPECT_EQ(at(end - 3 * day_ms - 1), types{});
    EXPECT_EQ(at(end - 3 * day_ms), types{key_expiring});
    EXPECT_EQ(at(end - 1), types{key_expiring});
    EXPECT_EQ(told_by(limited(id)), types{key_limited});
    EXPECT_EQ(at(end), types{key_expired});
}

TEST_F(key_notices, that_are_damaged_or_of_no_key_are_reported) {
    add(0);
    {
        transaction txn(store_->native());
        txn.put(table::index, key_notice_key(1), "x");
        txn.put(table::index, key_notice_key(5), std::string(25, '\1'));
        ASSERT_EQ(txn.commit(), 0);
    }
    auto const findings = check_consistency(*store_);
    EXPECT_EQ(findings, (std::vector<std::string>{"what was told of a key is of another form",
                                                  "what was told of key 5 is of no key"}));
    EXPECT_EQ(at(beginning + 90 * day_ms), types{key_unused});
    transaction txn(store_->native());
    txn.erase(table::index, key_notice_key(5));
    ASSERT_EQ(txn.commit(), 0);
}

class key_notices_of_nodes : public cluster_test {
  protected:
    key_notices_of_nodes() {
        notice_clock = beginning;
        for (auto& each : nodes) {
            each->close();
            each->open(options_with());
        }
        one(*first().store, {.action = raise_schema{}});
        tell(*first().store);
        expect_equal();
    }
};

TEST_F(key_notices_of_nodes, are_told_once_whichever_was_first) {
    auto key = key_number(1);
    key.expires_at = beginning + 30 * day_ms;
    get_key(one(*first().store, new_key(key)));
    expect_equal();
    auto const last = last_change(*first().store);
    notice_clock = key.expires_at - 14 * day_ms;
    // Neither knows of the other's row when it submits.
    note_key_times const action{{1}};
    EXPECT_EQ(one(*first().store, {.action = action}).problem, problem::none);
    EXPECT_EQ(one(*second().store, {.action = action}).problem, problem::none);
    expect_equal();
    EXPECT_EQ(types_after(*second().store, last), types{key_expiring});
    notice_clock = key.expires_at;
    EXPECT_EQ(tell(*second().store), std::vector<model::id>{1});
    catch_up(first());
    EXPECT_EQ(tell(*first().store), std::vector<model::id>{});
    expect_equal();
    auto const uses = note_key_uses{{}, {key.digest}};
    EXPECT_EQ(one(*second().store, {.action = uses}).problem, problem::none);
    EXPECT_EQ(one(*first().store, {.action = uses}).problem, problem::none);
    expect_equal();
    snapshot view(*first().store);
    view.renew();
    EXPECT_EQ(view.changes().last, last + 3);
}

}  // namespace
}  // namespace latchkey::domain
