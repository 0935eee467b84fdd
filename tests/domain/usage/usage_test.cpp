// The usage of keys: counts by minute, hour and day, their retention, and their removal in small
// batches.
#include <map>
#include <random>
#include <thread>

#include "../support.hpp"
#include "domain/audit/audit_lists.hpp"
#include "domain/usage/usage_commands.hpp"
#include "domain/usage/usage_lists.hpp"
#include "domain/writer/group.hpp"
#include "store/environment_state.hpp"
#include "store/lmdb_value.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {
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
            get_key(one(*store_, new_key(key_number(number))));
    }
    void TearDown() override { expect_sound(*store_); }
    void reopen() {
        store_.reset();
        store_ = environment::open({.directory = directory_.path(),
                                    .map_bytes = 1u << 30,
                                    .sync = false,
                                    .wall = [] { return test_clock; }})
                     .value();
    }
    void note(std::vector<key_use> uses) {
        EXPECT_EQ(one(*store_, {.action = note_key_uses{std::move(uses)}}).problem,
                  base::problem::none);
    }
    void count(model::id key, wall_ms time, model::usage usage) {
        note(
            {{.key = key, .minute = model::start_of(granularity::minute, time), .counted = usage}});
    }
    // Steps with counts, by their start.
    using points = std::map<wall_ms, model::usage>;
    points read(model::id key, granularity step, wall_ms begin, wall_ms end) {
        snapshot view(*store_);
        view.renew();
        points result;
        auto expected = model::start_of(step, begin);
        list_usage(view, key, step, begin, end, [&](wall_ms start, model::usage const& usage) {
            EXPECT_EQ(start, expected);
            expected += model::length_of(step);
            if (usage != model::usage{}) result[start] = usage;
        });
        EXPECT_GE(expected, end);
        EXPECT_FALSE(view.damaged());
        return result;
    }
    // One turn of an idle writer.
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
        std::size_t result = 0;
        for (int code = ::mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
             code == 0 && view_of(key).starts_with(prefix);
             code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT))
            ++result;
        ::mdb_cursor_close(cursor);
        ::mdb_txn_abort(txn);
        return result;
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

TEST_F(usages, do_not_change_keys_and_need_an_existing_one) {
    snapshot view(*store_);
    view.renew();
    auto const epoch = view.key_epoch();
    note({{.key = 1, .last_used = 500, .minute = midnight, .counted = {{1, 0, 0, 0}, 0}},
          {.key = 77, .last_used = 600, .minute = midnight, .counted = {{1, 0, 0, 0}, 0}},
          {.key = 2, .last_used = 700},
          {.key = 3, .minute = midnight, .counted = {{0, 0, 1, 0}, 0}}});
    view.renew();
    EXPECT_EQ(view.key_epoch(), epoch);
    EXPECT_EQ(audit_entries(view, {}, {}, [](auto const&) {}).total, 3u);
    EXPECT_EQ(view.last_use(1), 500);
    EXPECT_EQ(view.last_use(2), 700);
    EXPECT_EQ(view.last_use(3), 0);
    EXPECT_EQ(view.last_use(77), 0);
    EXPECT_EQ(entries(), 6u);
}

TEST_F(usages, are_kept_for_their_retention) {
    auto const start = test_clock;
    count(1, start, {{1, 0, 0, 0}, 0});
    auto const exists = [&](granularity step) {
        while (expire(256)) {
        }
        expect_sound(*store_);
        return !read(1, step, start, start + 1).empty();
    };
    for (auto const step : model::granularities) {
        auto const end = model::start_of(step, start) + model::length_of(step);
        test_clock = end + model::retention_of(step) - 1;
        EXPECT_TRUE(exists(step)) << name_of(step);
        test_clock = end + model::retention_of(step);
        EXPECT_FALSE(exists(step)) << name_of(step);
    }
    EXPECT_EQ(entries(), 0u);
}

TEST_F(usages, that_expired_are_removed_in_batches_with_commands) {
    for (wall_ms time = midnight; time < midnight + 10 * hour; time += minute)
        note({{.key = 1, .minute = time, .counted = {{1, 0, 0, 0}, 0}},
              {.key = 2, .minute = time, .counted = {{0, 0, 1, 0}, 1}}});
    EXPECT_EQ(entries(), 2u * (600 + 10 + 1));
    test_clock = midnight + day + 5 * hour;  // 2 × 300 minutes have expired
    EXPECT_TRUE(expire(256));
    EXPECT_EQ(entries(), 1222u - 256);
    expect_sound(*store_);
    // Removal neither delays a command nor is delayed by it.
    auto const request = new_user("Ann", "ann@example.org");
    outcome answer;
    job const only{&request, &answer};
    auto const result = apply_group(store_->native(), {&only, 1}, 256);
    EXPECT_EQ(result.job_count, 1u);
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

TEST_F(usages, are_removed_by_an_idle_writer) {
    for (wall_ms time = midnight; time < midnight + 10 * hour; time += minute)
        count(1, time, {{1, 0, 0, 0}, 0});
    test_clock += 401 * day;
    {
        writer store_writer(*store_);
        for (int i = 0; i < 1000 && entries() != 0; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(entries(), 0u);
}

// The command line removes nothing.
TEST_F(usages, do_not_delay_the_command_line) {
    for (wall_ms time = midnight; time < midnight + 10 * hour; time += minute)
        count(1, time, {{1, 0, 0, 0}, 0});
    test_clock += 401 * day;
    get_user(one(*store_, new_user("Ann", "ann@example.org")));
    EXPECT_EQ(entries(), 611u);
}

TEST_F(usages, agree_with_a_model_of_maps) {
    std::mt19937_64 random(11);
    std::map<std::pair<granularity, model::id>, points> expected;
    auto const forget = [&] {
        for (auto& [name, all] : expected)
            std::erase_if(all, [&](auto const& each) {
                return each.first < model::first_retained(name.first, test_clock);
            });
    };
    for (int round = 0; round < 150; ++round) {
        // The clock advances by minutes, sometimes by days.
        test_clock += random() % 20 == 0 ? static_cast<wall_ms>(random() % 20) * day
                                         : static_cast<wall_ms>(random() % 30) * minute;
        std::vector<key_use> group;
        for (auto left = 1 + random() % 60; left != 0; --left) {
            key_use use{.key = static_cast<model::id>(1 + random() % 3)};
            use.minute = model::start_of(granularity::minute,
                                         test_clock - static_cast<wall_ms>(random() % 5) * minute);
            for (auto& number : use.counted.by_status) number = random() % 4;
            use.counted.limited = use.counted.by_status[2] / 2;
            for (auto const step : model::granularities)
                if (use.counted != model::usage{})
                    expected[{step, use.key}][model::start_of(step, use.minute)] += use.counted;
            group.push_back(use);
        }
        note(std::move(group));
        while (expire(1 + random() % 100)) {
        }
        forget();
        for (auto const step : model::granularities)
            for (model::id key = 1; key <= 3; ++key)
                ASSERT_EQ(read(key, step, model::first_retained(step, test_clock), test_clock + 1),
                          (expected[{step, key}]))
                    << "round " << round << ", " << name_of(step);
        if (round % 30 == 13) reopen();
        if (round % 10 == 0) expect_sound(*store_);
    }
}

// The bound of one commit applies to all granularities together.
TEST_F(usages, expire_up_to_a_limit) {
    count(1, midnight + hour, {{1, 0, 0, 0}, 0});
    count(2, midnight + hour, {{1, 0, 0, 0}, 0});
    transaction txn(store_->native());
    EXPECT_FALSE(expire_usage(txn, 9));
    EXPECT_EQ(txn.weight(), 0u);
    auto const oldest = [&](granularity step) {
        return model::first_retained(step, txn.now()) + model::length_of(step);
    };
    for (auto const step : model::granularities) ASSERT_LT(oldest(step), txn.now());
    // Entries beyond all retention, written by hand.
    for (auto const step : model::granularities)
        for (model::id key : {1, 2}) txn.put(table::index, usage_in(step, 0).add(key), {});
    EXPECT_TRUE(expire_usage(txn, 3));
    EXPECT_EQ(txn.weight(), 3u);
    EXPECT_FALSE(expire_usage(txn, 4));
    EXPECT_EQ(txn.weight(), 6u);
}

}  // namespace
}  // namespace latchkey::domain
