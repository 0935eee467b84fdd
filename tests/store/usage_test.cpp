// What keys were used for: counts by minute, hour and day, how long they are kept, and that what
// has expired goes in small batches.
#include <map>
#include <random>
#include <thread>

#include "store/commands.hpp"
#include "support.hpp"

namespace latchkey::store {
namespace {

using base::wall_ms;
using model::granularity;

constexpr wall_ms minute = 60'000, hour = 60 * minute, day = 24 * hour;
constexpr wall_ms midnight = 20'000 * day;
wall_ms test_clock = 0;

class usages : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_;

    void SetUp() override {
        test_clock = midnight + 10 * hour;
        reopen();
        for (unsigned number = 1; number <= 3; ++number)
            made_key(one(*store_, new_key(key_number(number))));
    }
    void TearDown() override { expect_whole(*store_); }
    void reopen() {
        store_.reset();
        store_ = environment::open({.directory = directory_.path(),
                                    .map_bytes = 1u << 30,
                                    .sync = false,
                                    .wall = [] { return test_clock; }})
                     .value();
    }
    void note(std::vector<key_use> uses) {
        EXPECT_EQ(one(*store_, {.what = note_key_uses{std::move(uses)}}).problem,
                  base::problem::none);
    }
    void count(model::id key, wall_ms at, model::usage counted) {
        note(
            {{.key = key, .minute = model::start_of(granularity::minute, at), .counted = counted}});
    }
    // Those steps that have something, by their start.
    using points = std::map<wall_ms, model::usage>;
    points read(model::id key, granularity by, wall_ms from, wall_ms to) {
        snapshot seen(*store_);
        seen.renew();
        points found;
        auto expected = model::start_of(by, from);
        seen.usage(key, by, from, to, [&](wall_ms start, model::usage const& counted) {
            EXPECT_EQ(start, expected);
            expected += model::length_of(by);
            if (counted != model::usage{}) found[start] = counted;
        });
        EXPECT_GE(expected, to);
        EXPECT_FALSE(seen.damaged());
        return found;
    }
    // One turn of the writer without commands.
    bool expire(std::size_t most) {
        auto const result = apply_group(store_->native(), {}, most);
        EXPECT_EQ(result.failure, 0);
        return result.more_expired;
    }
    std::size_t entries() {
        MDB_txn* txn = nullptr;
        MDB_cursor* cursor = nullptr;
        auto& native = store_->native();
        EXPECT_EQ(::mdb_txn_begin(native.env, nullptr, MDB_RDONLY, &txn), 0);
        EXPECT_EQ(::mdb_cursor_open(txn, native.dbi(table::index), &cursor), 0);
        auto const prefix = key_bytes{tag::key_usage};
        auto key = val_of(prefix);
        MDB_val value;
        std::size_t found = 0;
        for (int code = ::mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
             code == 0 && view_of(key).starts_with(prefix);
             code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT))
            ++found;
        ::mdb_cursor_close(cursor);
        ::mdb_txn_abort(txn);
        return found;
    }
};

TEST_F(usages, are_added_up_by_minute_hour_and_day) {
    auto const now = test_clock;
    count(1, now - 61 * minute, {{1, 0, 0, 0}, 0});
    count(1, now - 2 * minute, {{2, 1, 0, 0}, 0});
    count(1, now - 2 * minute, {{0, 0, 3, 1}, 2});
    count(1, now - minute, {{5, 0, 0, 0}, 0});
    count(2, now - minute, {{7, 0, 0, 0}, 0});
    EXPECT_EQ(read(1, granularity::minute, now - day, now),
              (points{{now - 61 * minute, {{1, 0, 0, 0}, 0}},
                      {now - 2 * minute, {{2, 1, 3, 1}, 2}},
                      {now - minute, {{5, 0, 0, 0}, 0}}}));
    EXPECT_EQ(read(1, granularity::hour, now - day, now),
              (points{{now - 2 * hour, {{1, 0, 0, 0}, 0}}, {now - hour, {{7, 1, 3, 1}, 2}}}));
    EXPECT_EQ(read(1, granularity::day, now - day, now), (points{{midnight, {{8, 1, 3, 1}, 2}}}));
    EXPECT_EQ(read(2, granularity::day, now - day, now), (points{{midnight, {{7, 0, 0, 0}, 0}}}));
    EXPECT_EQ(read(3, granularity::day, now - day, now), points{});
    EXPECT_EQ(read(1, granularity::hour, now - hour, now - hour), points{});
    EXPECT_EQ(read(1, granularity::hour, now - 1, now).size(), 1u);
    reopen();
    EXPECT_EQ(read(1, granularity::day, now - day, now), (points{{midnight, {{8, 1, 3, 1}, 2}}}));
}

TEST_F(usages, are_no_change_of_a_key_and_of_none_that_is_not_there) {
    snapshot seen(*store_);
    seen.renew();
    auto const epoch = seen.key_epoch();
    note({{.key = 1, .last_used = 500, .minute = midnight, .counted = {{1, 0, 0, 0}, 0}},
          {.key = 77, .last_used = 600, .minute = midnight, .counted = {{1, 0, 0, 0}, 0}},
          {.key = 2, .last_used = 700},
          {.key = 3, .minute = midnight, .counted = {{0, 0, 1, 0}, 0}}});
    seen.renew();
    EXPECT_EQ(seen.key_epoch(), epoch);
    EXPECT_EQ(seen.audit({}, {}, [](auto const&) {}).total, 3u);
    EXPECT_EQ(seen.last_use(1), 500);
    EXPECT_EQ(seen.last_use(2), 700);
    EXPECT_EQ(seen.last_use(3), 0);
    EXPECT_EQ(seen.last_use(77), 0);
    EXPECT_EQ(entries(), 6u);
}

TEST_F(usages, are_kept_so_long_and_no_longer) {
    auto const begun = test_clock;
    count(1, begun, {{1, 0, 0, 0}, 0});
    auto const is_there = [&](granularity by) {
        while (expire(256)) {
        }
        expect_whole(*store_);
        return !read(1, by, begun, begun + 1).empty();
    };
    for (auto const by : model::granularities) {
        auto const end = model::start_of(by, begun) + model::length_of(by);
        test_clock = end + model::kept_of(by) - 1;
        EXPECT_TRUE(is_there(by)) << name_of(by);
        test_clock = end + model::kept_of(by);
        EXPECT_FALSE(is_there(by)) << name_of(by);
    }
    EXPECT_EQ(entries(), 0u);
}

TEST_F(usages, that_expired_go_in_batches_beside_commands) {
    for (wall_ms at = midnight; at < midnight + 10 * hour; at += minute)
        note({{.key = 1, .minute = at, .counted = {{1, 0, 0, 0}, 0}},
              {.key = 2, .minute = at, .counted = {{0, 0, 1, 0}, 1}}});
    EXPECT_EQ(entries(), 2u * (600 + 10 + 1));
    test_clock = midnight + day + 5 * hour;  // 2 × 300 minutes have expired
    EXPECT_TRUE(expire(256));
    EXPECT_EQ(entries(), 1222u - 256);
    expect_whole(*store_);
    // A command neither waits for them nor lets them wait.
    auto const what = new_user("Ann", "ann@example.org");
    outcome answer;
    job const only{&what, &answer};
    auto const result = apply_group(store_->native(), {&only, 1}, 256);
    EXPECT_EQ(result.done, 1u);
    EXPECT_EQ(answer.problem, base::problem::none);
    EXPECT_TRUE(result.more_expired);
    EXPECT_EQ(entries(), 1222u - 512);
    EXPECT_FALSE(expire(256));
    EXPECT_EQ(entries(), 1222u - 600);
    EXPECT_EQ(read(1, granularity::minute, midnight, test_clock).size(), 300u);
    EXPECT_EQ(read(1, granularity::hour, midnight, test_clock).size(), 10u);
    // Nothing to do: nothing is written.
    EXPECT_FALSE(apply_group(store_->native(), {}, 256).committed);
}

TEST_F(usages, are_removed_by_a_writer_that_has_nothing_else_to_do) {
    for (wall_ms at = midnight; at < midnight + 10 * hour; at += minute)
        count(1, at, {{1, 0, 0, 0}, 0});
    test_clock += 401 * day;
    {
        writer through(*store_);
        for (int i = 0; i < 1000 && entries() != 0; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(entries(), 0u);
}

// The command line does not clean up before it is done.
TEST_F(usages, do_not_hold_up_the_command_line) {
    for (wall_ms at = midnight; at < midnight + 10 * hour; at += minute)
        count(1, at, {{1, 0, 0, 0}, 0});
    test_clock += 401 * day;
    made_user(one(*store_, new_user("Ann", "ann@example.org")));
    EXPECT_EQ(entries(), 611u);
}

TEST_F(usages, are_what_a_few_maps_would_be) {
    std::mt19937_64 random(11);
    std::map<std::pair<granularity, model::id>, points> known;
    auto const forget = [&] {
        for (auto& [which, all] : known)
            std::erase_if(all, [&](auto const& each) {
                return each.first < model::first_kept(which.first, test_clock);
            });
    };
    for (int round = 0; round < 150; ++round) {
        // Mostly minutes go by, sometimes days.
        test_clock += random() % 20 == 0 ? static_cast<wall_ms>(random() % 20) * day
                                         : static_cast<wall_ms>(random() % 30) * minute;
        std::vector<key_use> group;
        for (auto left = 1 + random() % 60; left != 0; --left) {
            key_use seen{.key = static_cast<model::id>(1 + random() % 3)};
            seen.minute = model::start_of(granularity::minute,
                                          test_clock - static_cast<wall_ms>(random() % 5) * minute);
            for (auto& number : seen.counted.by_status) number = random() % 4;
            seen.counted.limited = seen.counted.by_status[2] / 2;
            for (auto const by : model::granularities)
                if (seen.counted != model::usage{})
                    known[{by, seen.key}][model::start_of(by, seen.minute)] += seen.counted;
            group.push_back(seen);
        }
        note(std::move(group));
        while (expire(1 + random() % 100)) {
        }
        forget();
        for (auto const by : model::granularities)
            for (model::id key = 1; key <= 3; ++key)
                ASSERT_EQ(read(key, by, model::first_kept(by, test_clock), test_clock + 1),
                          (known[{by, key}]))
                    << "round " << round << ", " << name_of(by);
        if (round % 30 == 13) reopen();
        if (round % 10 == 0) expect_whole(*store_);
    }
}

}  // namespace
}  // namespace latchkey::store
