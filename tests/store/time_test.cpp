// Store time: across restarts, with clocks that go back and leap ahead.
#include "store/time.hpp"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "../domain/support.hpp"
#include "base/limits.hpp"
#include "domain/admin/time_reset.hpp"
#include "domain/audit/audit.hpp"
#include "domain/audit/verify_audit.hpp"
#include "domain/events/event_lists.hpp"
#include "domain/usage/usage_lists.hpp"
#include "domain/writer/group.hpp"
#include "store/environment_state.hpp"
#include "store/files/claim.hpp"
#include "store/transaction.hpp"

namespace latchkey::store {
using namespace domain;  // whose commands fill the store

namespace time_tests {  // its names of spans exist in other tests too

using base::problem;
using base::wall_ms;
using model::key_state;

constexpr wall_ms second = 1000, hour = 3600 * second, day = 24 * hour, year = 365 * day;
constexpr wall_ms today = 1'800'000'000'000;
constexpr wall_ms bound = base::limits::clock_step_ms_max;

// ---- the timekeeper alone

base::mono_ns slept = 0;

struct keeper : testing::Test {
    base::instant reading{.mono = 50'000'000'000, .wall = 0, .clock = today};
    timekeeper time{[] { return slept; }};

    void SetUp() override {
        slept = 0;
        time.begin(reading, today);
    }
    void pass(wall_ms span) {
        reading.mono += span * 1'000'000;
        reading.clock += span;
    }
    wall_ms now(wall_ms last_write = 0) { return time.time_at(reading, last_write); }
};

TEST_F(keeper, follows_the_clock_and_never_goes_back) {
    pass(year);
    EXPECT_EQ(now(), today + year) << "long waits are no leaps";
    reading.clock -= 3 * hour;
    EXPECT_EQ(now(), today + year);
    pass(2 * hour);
    EXPECT_EQ(now(), today + year + hour) << "at half the pace until the clock has caught up";
    pass(4 * hour);
    EXPECT_EQ(now(), today + year + 3 * hour);
    pass(hour);
    EXPECT_EQ(now(), today + year + 4 * hour);
    EXPECT_EQ(now(today + 2 * year), today + 2 * year) << "the last write";
    EXPECT_EQ(now(), today + 2 * year) << "others in this process have seen it";
}

// Another node wrote while its clock was four minutes ahead.
TEST_F(keeper, goes_on_after_a_write_from_the_future) {
    auto const write = today + 240 * second;
    EXPECT_EQ(now(write), write);
    for (int i = 1; i <= 100; ++i) {
        pass(second);
        EXPECT_EQ(now(write), write + i * second / 2);
    }
    pass(400 * second);
    EXPECT_EQ(now(write), today + 500 * second) << "by the clock again";
}

TEST_F(keeper, trusts_a_step_but_not_a_leap) {
    reading.clock += bound;
    EXPECT_EQ(now(), today + bound);
    EXPECT_EQ(time.doubted(), 0);
    reading.clock += bound + 1;
    EXPECT_EQ(now(), today + bound) << "a millisecond too far";
    EXPECT_EQ(time.doubted(), bound + 1);
    pass(hour);
    EXPECT_EQ(now(), today + bound + hour) << "by the monotonic clock";
    reading.clock -= bound + 1;
    EXPECT_EQ(now(), today + bound + hour);
    EXPECT_EQ(time.doubted(), 0);
    pass(hour);
    EXPECT_EQ(now(), today + bound + 2 * hour);
}

TEST_F(keeper, counts_suspended_time) {
    slept += 30 * day * 1'000'000;
    reading.clock += 30 * day;
    EXPECT_EQ(now(), today + 30 * day);
    EXPECT_EQ(time.doubted(), 0);
    reading.clock += 30 * day;
    EXPECT_EQ(now(), today + 30 * day) << "only once";
    EXPECT_EQ(time.doubted(), 30 * day);
}

TEST_F(keeper, trusts_a_clock_that_was_set_back_and_is_right_again) {
    reading.clock -= 3 * day;
    EXPECT_EQ(now(), today);
    pass(hour);
    reading.clock += 3 * day;
    EXPECT_EQ(now(), today + hour);
    EXPECT_EQ(time.doubted(), 0);
}

TEST_F(keeper, begins_at_the_trusted_time_if_the_clock_is_doubted) {
    time.begin(reading, today - year);
    pass(hour);
    EXPECT_EQ(now(today - year), today - year + hour);
    EXPECT_EQ(time.doubted(), year);
}

// ---- a store

wall_ms wall_clock = today;
base::mono_ns mono_clock = 0;

model::event_mark mark_number(unsigned char number) {
    return {number};
}

class store_time : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_;
    unsigned last_ = 0;

    void SetUp() override {
        wall_clock = today;
        mono_clock = 100'000'000'000;
        ASSERT_EQ(restart(), "");
    }
    // Opens the store; returns the error, or "".
    std::string restart(bool any_time = false) {
        store_.reset();
        auto result = environment::open({.directory = directory_.path(),
                                         .map_bytes = 1u << 30,
                                         .sync = false,
                                         .event_retention_ms = 30 * day,
                                         .any_time = any_time,
                                         .wall = [] { return wall_clock; },
                                         .mono = [] { return mono_clock; }});
        if (!result) return result.error().message;
        store_ = std::move(*result);
        return "";
    }
    void pass(wall_ms span) {
        wall_clock += span;
        mono_clock += span * 1'000'000;
    }
    void leap(wall_ms span) { wall_clock += span; }

    wall_ms now() { return store_->time(); }
    wall_ms last_write() {
        transaction txn(store_->native());
        return txn.counters().written_at;
    }
    model::key add_key(model::key record = {}) {
        auto key = key_number(++last_, {"*"});
        key.expires_at = record.expires_at;
        key.not_before = record.not_before;
        return get_key(one(*store_, new_key(std::move(key))));
    }
    model::key key(model::id id) {
        snapshot view(*store_);
        view.renew();
        return view.key(id).value_or(model::key{});
    }
    // The state of a key as a snapshot and as a transaction evaluate it, which must agree.
    key_state state(model::id id) {
        snapshot view(*store_);
        view.renew();
        auto const by_snapshot = key(id).state_at(view.time());
        auto request = new_user("u", "u" + std::to_string(++last_) + "@example.org");
        request.caller = id;
        auto const by_transaction = one(*store_, std::move(request)).problem;
        EXPECT_EQ(by_transaction, model::refusal_of(by_snapshot));
        return by_snapshot;
    }
    model::id rotate(model::id id, wall_ms overlap) {
        auto const fresh = key_number(++last_);
        return get_key(one(*store_, {.action = rotate_key{.id = id,
                                                          .digest = fresh.digest,
                                                          .start = fresh.start,
                                                          .last4 = fresh.last4,
                                                          .overlap_ms = overlap}}))
            .id;
    }
    model::id add_event(unsigned char mark) {
        auto const answer = one(*store_, {.action = receive_event{.source = "shop",
                                                                  .marks = {mark_number(mark)},
                                                                  .payload = R"({"a":1})"}});
        EXPECT_EQ(answer.problem, problem::none);
        return std::get<received_event>(answer.record).id;
    }
    void use(model::id id, wall_ms time) {
        model::usage counted;
        counted.count(200, false);
        auto const minute = model::start_of(model::granularity::minute, time);
        EXPECT_EQ(
            one(*store_,
                {.action =
                     note_key_uses{
                         {{.key = id, .last_used = time, .minute = minute, .counted = counted}}}})
                .problem,
            problem::none);
    }
    // What an idle writer does, until nothing is left to remove.
    void tidy_up() {
        while (apply_group(store_->native(), {}, 1000).more_expired) {
        }
    }
    struct numbers {
        std::uint64_t events = 0, minutes = 0, outcomes = 0;
        bool operator==(numbers const&) const = default;
    };
    numbers contents() {
        tidy_up();
        numbers all;
        transaction txn(store_->native());
        auto const count = [&](std::string_view prefix, std::uint64_t& total) {
            txn.scan(table::index, prefix, [&](std::string_view key, std::string_view) {
                return key.starts_with(prefix) && ++total != 0;
            });
        };
        count(events_of("shop"), all.events);
        count(key_bytes{tag::key_usage}.add(std::uint8_t{0}), all.minutes);
        count(key_bytes{tag::kept_outcome}, all.outcomes);
        return all;
    }
    // One record of every kind that expires.
    void fill() {
        auto const id = add_key().id;
        add_event(1);
        use(id, now());
        EXPECT_EQ(one(*store_, new_user_once(1)).problem, problem::none);
        EXPECT_EQ(contents(), (numbers{1, 1, 1}));
    }
};

TEST_F(store_time, revives_no_key_after_a_restart_with_the_clock_behind) {
    auto const expired = add_key({.expires_at = today + hour}).id;
    auto const rotated = add_key().id;
    auto const next = rotate(rotated, hour);
    EXPECT_EQ(state(expired), key_state::active);
    EXPECT_EQ(state(rotated), key_state::active);
    pass(2 * hour);
    EXPECT_EQ(state(expired), key_state::expired);
    EXPECT_EQ(state(rotated), key_state::deactivated);
    EXPECT_EQ(state(next), key_state::active);
    for (auto const back : {90 * 60 * second, 10 * hour}) {
        leap(-back);
        ASSERT_EQ(restart(), "");
        EXPECT_EQ(state(expired), key_state::expired);
        EXPECT_EQ(state(rotated), key_state::deactivated);
        EXPECT_EQ(now(), today + 2 * hour);
    }
}

TEST_F(store_time, is_the_same_for_a_reader_and_a_writer_while_the_clock_is_behind) {
    pass(hour);
    add_key();
    leap(-20 * hour);
    ASSERT_EQ(restart(), "");
    snapshot view(*store_);
    view.renew();
    EXPECT_EQ(view.time(), today + hour);
    EXPECT_EQ(add_key().created_at, today + hour);
    EXPECT_EQ(now(), today + hour);
    pass(20 * hour + second);
    EXPECT_EQ(now(), today + hour + second) << "then it goes on";
}

TEST_F(store_time, of_an_idle_server_is_written_when_it_begins_and_stops) {
    add_key();
    pass(5 * day);
    {
        writer store_writer(*store_);
        for (int looks = 0; looks < 500 && last_write() != today + 5 * day; ++looks)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        EXPECT_EQ(last_write(), today + 5 * day);
        pass(hour);
        store_writer.stop();
    }
    EXPECT_EQ(last_write(), today + 5 * day + hour);
    auto const version = [&] {
        snapshot view(*store_);
        view.renew();
        return view.version();
    };
    auto const initial = version();
    tidy_up();
    pass(base::limits::time_mark_ms - 1);
    tidy_up();
    EXPECT_EQ(version(), initial) << "and not all the time";
    pass(1);
    tidy_up();
    EXPECT_EQ(version(), initial + 1);
}

TEST_F(store_time, far_ahead_of_the_clock_is_refused_with_both_times_and_a_way_out) {
    pass(bound);
    add_key();
    leap(-bound);
    EXPECT_EQ(restart(), "");
    leap(-1);
    auto const sentence = restart();
    EXPECT_NE(sentence.find("was last written at 2027-01-16T08:00:00.000Z"), sentence.npos)
        << sentence;
    EXPECT_NE(sentence.find("this machine's clock, 2027-01-15T07:59:59.999Z"), sentence.npos)
        << sentence;
    EXPECT_NE(sentence.find("latchkey reset-time"), sentence.npos) << sentence;
    EXPECT_EQ(restart(true), "");
    ASSERT_TRUE(store_->time_ahead());
    EXPECT_EQ(store_->time_ahead()->message, sentence);
}

TEST_F(store_time, does_not_follow_a_clock_that_leaps_under_a_running_process) {
    fill();
    auto const temporary = add_key({.expires_at = today + hour}).id;
    leap(year);
    EXPECT_EQ(state(temporary), key_state::active);
    EXPECT_EQ(contents(), (numbers{1, 1, 1}));
    EXPECT_TRUE(store_->offset_of_clock().doubted);
    EXPECT_EQ(store_->offset_of_clock().ahead, year);
    pass(2 * hour);
    EXPECT_EQ(state(temporary), key_state::expired) << "what passes is seen to pass";
    EXPECT_EQ(add_key().created_at, today + 2 * hour);
    EXPECT_EQ(last_write(), today + 2 * hour);
    leap(-year);
    EXPECT_EQ(now(), today + 2 * hour);
    EXPECT_FALSE(store_->offset_of_clock().doubted);
    ASSERT_EQ(restart(), "");
    EXPECT_EQ(contents(), (numbers{1, 1, 1}));
    expect_sound(*store_);
}

TEST_F(store_time, of_a_command_beside_a_server_is_that_of_the_server) {
    add_key();
    pass(5 * second);
    leap(year);
    auto server = claim_directory(directory_.path());
    ASSERT_TRUE(server);
    ASSERT_EQ(restart(), "");
    EXPECT_EQ(add_key().created_at, today);
    pass(second);
    EXPECT_EQ(now(), today + second);
    server->close();
    ASSERT_EQ(restart(), "");
    EXPECT_EQ(now(), wall_clock) << "without one the clock is all there is";
}

TEST_F(store_time, far_behind_the_clock_removes_nothing_at_once) {
    fill();
    leap(year);
    for (int starts = 0; starts < 3; ++starts) {
        ASSERT_EQ(restart(), "");
        EXPECT_EQ(add_key().created_at, wall_clock) << "keys are judged by the clock";
        EXPECT_EQ(contents(), (numbers{1, 1, 1})) << starts;
        expect_sound(*store_);
        pass(hour);
    }
    leap(-year);
    EXPECT_NE(restart(), "");
    ASSERT_EQ(restart(true), "");
    auto const mended = reset_time(*store_, false);
    ASSERT_TRUE(mended) << mended.error().message;
    ASSERT_EQ(restart(), "");
    EXPECT_EQ(contents(), (numbers{1, 1, 1}));
    pass(25 * hour);
    EXPECT_EQ(contents(), (numbers{1, 0, 0})) << "as if nothing had been";
    pass(30 * day);
    EXPECT_EQ(contents(), (numbers{0, 0, 0}));
    expect_sound(*store_);
}

TEST_F(store_time, that_lay_idle_for_a_year_catches_up_at_twice_the_pace) {
    fill();
    pass(year);
    ASSERT_EQ(restart(), "");
    tidy_up();
    // Events expire after 30 days.
    wall_ms elapsed = 0;
    for (; contents().events != 0; elapsed += hour) {
        pass(hour);
        ASSERT_LT(elapsed, 60 * day);
        if (elapsed % (5 * day) == 0) {
            ASSERT_EQ(restart(), "");
        }
    }
    EXPECT_GE(elapsed, 15 * day - hour);
    EXPECT_LE(elapsed, 15 * day + 8 * hour) << "a little is lost with each restart";
    expect_sound(*store_);
}

TEST_F(store_time, of_a_short_stop_needs_no_catching_up) {
    fill();
    pass(20 * hour);
    ASSERT_EQ(restart(), "");
    add_key();
    pass(5 * hour);
    EXPECT_EQ(contents(), (numbers{1, 0, 0}));
    transaction txn(store_->native());
    EXPECT_FALSE(txn.has(table::index, key_bytes{tag::age_time}));
}

// ---- repair

class repaired_store : public store_time {
  protected:
    model::id early_ = 0, late_ = 0, rotated_ = 0, next_ = 0, born_expired_ = 0, user_ = 0;

    // A day with the right clock, a start with the clock a year ahead, then the right clock again.
    void write_with_the_clock_ahead() {
        early_ = add_key({.expires_at = today + 90 * day}).id;
        rotated_ = add_key().id;
        add_event(1);
        use(early_, now());
        pass(day);
        leap(year);
        ASSERT_EQ(restart(), "");
        late_ = add_key({.not_before = now() + hour, .expires_at = now() + 30 * day}).id;
        born_expired_ = add_key({.expires_at = today + 2 * day}).id;
        next_ = rotate(rotated_, 2 * hour);
        user_ = get_user(one(*store_, new_user("Ada", "ada@example.org"))).id;
        get_post(one(*store_, new_post(user_, "Late", model::post_status::published)));
        add_event(2);
        use(early_, now());
        pass(3 * hour);
        use(early_, now());
        EXPECT_EQ(one(*store_, new_user_once(1)).problem, problem::none);
        EXPECT_EQ(one(*store_,
                      {.action = put_event_secret{.source = "shop", .secret = base::secret("one")}})
                      .problem,
                  problem::none);
        EXPECT_EQ(one(*store_, {.action = put_event_secret{.source = "shop",
                                                           .secret = base::secret("two"),
                                                           .overlap_ms = hour}})
                      .problem,
                  problem::none);
        leap(-year);
        EXPECT_NE(restart(), "");
    }
    void expect_mended() {
        ASSERT_EQ(restart(), "");
        expect_sound(*store_);
        EXPECT_EQ(verify_audit(*store_).wrong, std::vector<std::string>{});
        auto const right = wall_clock;
        EXPECT_EQ(now(), right);
        EXPECT_EQ(key(early_).expires_at, today + 90 * day);
        EXPECT_EQ(key(early_).created_at, today);
        EXPECT_EQ(key(late_).created_at, right);
        EXPECT_EQ(key(late_).not_before, right + hour);
        EXPECT_EQ(key(late_).expires_at, right + 30 * day);
        EXPECT_EQ(key(born_expired_).expires_at, today + 2 * day);
        EXPECT_EQ(state(born_expired_), key_state::active);
        EXPECT_EQ(key(rotated_).rotation_ends_at, right + 2 * hour);
        EXPECT_EQ(key(next_).created_at, right);
        snapshot view(*store_);
        view.renew();
        EXPECT_EQ(view.user(user_)->updated_at, right);
        EXPECT_EQ(view.post(1)->published_at, right);
        EXPECT_EQ(find_event(view, 1)->received_at, today);
        EXPECT_EQ(find_event(view, 2)->received_at, right);
        EXPECT_EQ(view.last_use(early_), right);
        auto const secrets = find_event_secrets(view, "shop", right + hour - 1);
        EXPECT_TRUE(secrets && secrets->previous);
        EXPECT_EQ(secrets->current.created_at, right);
        EXPECT_FALSE(find_event_secrets(view, "shop", right + hour)->previous);
        std::uint64_t requests = 0;
        list_usage(view, early_, model::granularity::day, today - day, right + 1,
                   [&](wall_ms, model::usage const& counted) { requests += counted.requests(); });
        EXPECT_EQ(requests, 3u) << "what was counted is not lost";
        view.reset();
        EXPECT_TRUE(one(*store_, new_user_once(1)).replayed);
        EXPECT_EQ(add_event(2), 2) << "still the same delivery";
        pass(day + second);
        EXPECT_FALSE(one(*store_, new_user_once(1)).replayed);
        EXPECT_EQ(add_event(2), 3);
        EXPECT_EQ(state(rotated_), key_state::deactivated);
    }
};

std::uint64_t number_of(time_reset const& report, std::string_view member) {
    auto const count =
        std::ranges::find(report.counts, member, [](auto const& each) { return each.name.member; });
    return count == report.counts.end() ? UINT64_MAX : count->number;
}

TEST_F(repaired_store, has_its_late_records_dated_now) {
    write_with_the_clock_ahead();
    ASSERT_EQ(restart(true), "");
    auto const trial = reset_time(*store_, true);
    ASSERT_TRUE(trial) << trial.error().message;
    EXPECT_NE(restart(), "") << "a trial changes nothing";
    ASSERT_EQ(restart(true), "");
    auto const outcome = reset_time(*store_, false);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->now, wall_clock);
    EXPECT_EQ(outcome->last_write, wall_clock + year);
    EXPECT_EQ(number_of(*outcome, "users"), 2u);
    EXPECT_EQ(number_of(*outcome, "posts"), 1u);
    EXPECT_EQ(number_of(*outcome, "keys"), 4u) << "late, born expired, rotated and its successor";
    EXPECT_EQ(number_of(*outcome, "events"), 1u);
    EXPECT_EQ(number_of(*outcome, "last_uses"), 1u);
    EXPECT_EQ(number_of(*outcome, "secrets"), 1u);
    EXPECT_EQ(number_of(*outcome, "outcomes"), 1u);
    EXPECT_GT(number_of(*outcome, "usage"), 2u);
    EXPECT_GT(outcome->audit_entries, 3u);
    ASSERT_EQ(trial->counts.size(), outcome->counts.size());
    for (std::size_t i = 0; i < trial->counts.size(); ++i)
        EXPECT_EQ(trial->counts[i].number, outcome->counts[i].number)
            << outcome->counts[i].name.member;
    expect_mended();
}

TEST_F(repaired_store, that_is_not_ahead_is_left_alone) {
    write_with_the_clock_ahead();
    ASSERT_EQ(restart(true), "");
    ASSERT_TRUE(reset_time(*store_, false));
    ASSERT_EQ(restart(), "");
    auto const again = reset_time(*store_, false);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->last_write, again->now);
    EXPECT_EQ(number_of(*again, "users") + number_of(*again, "keys") + number_of(*again, "events"),
              0u);
    expect_mended();
}

TEST_F(repaired_store, with_thousands_of_late_records_is_repaired_in_steps) {
    leap(year);
    ASSERT_EQ(restart(), "");
    for (int batch = 0; batch < 20; ++batch) {
        std::vector<command> group;
        for (int i = 0; i < 50; ++i) {
            auto const number = std::to_string(batch * 50 + i);
            group.push_back(new_user("u", "u" + number + "@example.org"));
        }
        ASSERT_TRUE(apply(*store_, std::move(group)));
        add_event(static_cast<unsigned char>(batch));
    }
    pass(hour);
    leap(-year);
    ASSERT_EQ(restart(true), "");
    auto const outcome = reset_time(*store_, false);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(number_of(*outcome, "users"), 1000u);
    EXPECT_EQ(number_of(*outcome, "events"), 20u);
    ASSERT_EQ(restart(), "");
    expect_sound(*store_);
}

}  // namespace time_tests
}  // namespace latchkey::store
