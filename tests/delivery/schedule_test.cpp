// Many webhooks over one feed, in virtual time.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/delivery/fake_store.hpp"

namespace latchkey::delivery {
namespace {

struct delivery_schedule_test : testing::Test {
    void read() {
        store.load_into(schedule);
        while (schedule.read(store, now.wall)) {
        }
    }
    std::vector<attempt> take(std::size_t limit = 10'000) {
        std::vector<attempt> attempts;
        while (attempts.size() < limit && schedule.may_send()) {
            auto const attempt = schedule.take_attempt(now);
            if (!attempt) break;
            attempts.push_back(*attempt);
        }
        return attempts;
    }
    void finish(attempt const& attempt, std::uint16_t status) {
        attempt_result result;
        result.number = attempt.number;
        result.status = status;
        schedule.finish(std::move(result), now.wall);
    }
    void commit() {
        store.commit(schedule.take_reports(now.wall));
        schedule.settle(true);
    }
    void pass(base::wall_ms span) {
        now.wall += span;
        now.mono += span * 1'000'000;
    }

    base::instant now{.mono = 1'000'000'000'000, .wall = 1'700'000'000'000};
    fake_store store;
    delivery_schedule schedule{1};
};

TEST_F(delivery_schedule_test, each_webhook_gets_each_change) {
    for (model::id id = 1; id <= 3; ++id) store.add(id);
    for (int i = 0; i < 5; ++i) store.change();
    read();
    auto const attempts = take();
    std::set<std::pair<model::id, model::id>> pairs;
    for (auto const& each : attempts) pairs.emplace(each.webhook, each.sequence);
    EXPECT_EQ(pairs.size(), 15);
    for (auto const& each : attempts) finish(each, 200);
    EXPECT_EQ(schedule.count().delivered, 15);
    commit();
    for (model::id id = 1; id <= 3; ++id) {
        EXPECT_EQ(store.of(id).progress.position, 5);
        EXPECT_EQ(store.of(id).deliveries.size(), 5);
    }
    EXPECT_TRUE(take().empty());
    EXPECT_EQ(schedule.look().slowest, 5);
}

TEST_F(delivery_schedule_test, new_webhook_begins_with_the_change_after_its_creation) {
    store.add(1);
    store.change();
    read();
    store.change();
    store.add(2);
    store.change();
    read();
    std::set<std::pair<model::id, model::id>> pairs;
    for (auto const& each : take()) pairs.emplace(each.webhook, each.sequence);
    EXPECT_EQ(pairs, (std::set<std::pair<model::id, model::id>>{{1, 1}, {1, 2}, {1, 3}, {2, 3}}));
}

TEST_F(delivery_schedule_test, thousand_idle_webhooks_read_the_feed_once) {
    for (model::id id = 1; id <= 1000; ++id) store.add(id).types = {"post.created"};
    read();
    auto const bound = store.reads();
    for (int i = 0; i < 3000; ++i) store.change();
    read();
    EXPECT_LE(store.reads() - bound, 3000);
    EXPECT_TRUE(take().empty());
    EXPECT_EQ(schedule.look().slowest, 3000);
}

TEST_F(delivery_schedule_test, receivers_that_hang_leave_room_for_every_other) {
    for (model::id id = 1; id <= 1000; ++id) store.add(id);
    for (int i = 0; i < 100; ++i) store.change();
    read();
    auto const attempts = take();
    std::map<model::id, std::size_t> in_flight;
    for (auto const& each : attempts) ++in_flight[each.webhook];
    EXPECT_EQ(in_flight.size(), 1000);
    EXPECT_LE(attempts.size(), 1000 + delivery_schedule::shared_in_flight_max);
    EXPECT_TRUE(take().empty());
    // The others hang; one that answers goes on to the end.
    std::size_t count = 0;
    std::vector<attempt> own;
    for (auto const& each : attempts)
        if (each.webhook == 77) own.push_back(each);
    for (int round = 0; round < 1000 && count < 100; ++round) {
        for (auto const& each : own) finish(each, 200), ++count;
        own.clear();
        for (auto const& each : take())
            if (each.webhook == 77) own.push_back(each);
        commit();
    }
    EXPECT_EQ(count, 100);
}

TEST_F(delivery_schedule_test, few_that_hang_take_no_more_than_their_32) {
    for (model::id id = 1; id <= 4; ++id) store.add(id);
    for (int i = 0; i < 100; ++i) store.change();
    read();
    EXPECT_EQ(take().size(), 4 * 32);
}

// Two parties: each key's webhooks, or each project's, leave to others as much as they have.
TEST_F(delivery_schedule_test, attempts_of_one_owner_leave_half_to_others) {
    for (model::id id = 1; id <= 400; ++id) store.add(id).created_by = 7;
    for (model::id id = 401; id <= 700; ++id) {
        store.add(id).created_by = id;
        store.of(id).webhook.project = "shop";
    }
    store.add(701).created_by = 8;
    for (int i = 0; i < 100; ++i) store.change();
    read();
    std::map<model::id, std::size_t> in_flight;
    std::size_t own = 0, shop = 0;
    for (auto const& each : take()) {
        ++in_flight[each.webhook];
        ++(each.webhook <= 400 ? own : shop);
    }
    EXPECT_EQ(in_flight.size(), 701);
    auto const half = delivery_schedule::shared_in_flight_max / 2;
    EXPECT_LE(own, 400 + half);
    EXPECT_LE(shop, 300 + half);
    EXPECT_GT(in_flight[701], 8) << "the third has what the first two left";
}

TEST_F(delivery_schedule_test, bytes_of_one_owner_leave_half_to_others) {
    constexpr std::size_t body = 256 * base::limits::kib;
    for (model::id id = 1; id <= 400; ++id) store.add(id).created_by = 7;
    store.add(401).created_by = 8;
    for (int i = 0; i < 100; ++i) store.change();
    read();
    std::size_t own = 0, other = 0;
    for (int i = 0; i < 10'000; ++i) {
        auto const some = take(1);
        if (some.empty()) break;
        schedule.weigh(some[0].number, body);
        (some[0].webhook <= 400 ? own : other) += body;
    }
    auto const half = delivery_schedule::bytes_in_flight_max / 2;
    EXPECT_GT(own, half / 2);
    EXPECT_LE(own, half + body);
    EXPECT_GE(other, 8 * body) << "its webhooks are not slowed down by those that hang";
    EXPECT_LE(own + other, delivery_schedule::bytes_in_flight_max);
}

// Each of another owner.
TEST_F(delivery_schedule_test, attempts_of_webhooks_that_hang_leave_a_fifth_to_one_that_comes) {
    for (model::id id = 1; id <= 30; ++id) store.add(id).created_by = id;
    for (int i = 0; i < 100; ++i) store.change();
    read();
    constexpr auto most = delivery_schedule::shared_in_flight_max;
    auto const count = take().size();
    EXPECT_GT(count, 30 + most / 2);
    EXPECT_LE(count, 30 + most - most / 5);
}

TEST_F(delivery_schedule_test, bytes_of_one_webhook_are_an_eighth_of_what_is_left) {
    constexpr std::size_t body = base::limits::mib;
    store.add(1);
    for (int i = 0; i < 100; ++i) store.change();
    read();
    std::size_t bytes = 0;
    for (auto some = take(1); !some.empty(); some = take(1), bytes += body)
        schedule.weigh(some[0].number, body);
    constexpr auto eighth = delivery_schedule::bytes_in_flight_max / 8;
    EXPECT_GT(bytes, eighth / 2);
    EXPECT_LE(bytes, eighth + body);
}

// Its webhooks that hang leave room for one of each other webhook.
TEST_F(delivery_schedule_test, bytes_of_webhooks_that_hang_leave_room_for_the_first_of_others) {
    constexpr std::size_t body = 256 * base::limits::kib;
    for (model::id id = 1; id <= 9; ++id) store.add(id).created_by = 7;
    for (int i = 0; i < 100; ++i) store.change();
    read();
    for (auto some = take(1); !some.empty(); some = take(1)) schedule.weigh(some[0].number, body);
    store.add(10).created_by = 7;
    store.change();
    read();
    auto const attempts = take();
    EXPECT_TRUE(std::ranges::any_of(attempts, [](auto const& each) { return each.webhook == 10; }));
    schedule.give_back_all();
    EXPECT_EQ(schedule.look().in_flight, 0);
    // The first of each webhook, and of the others the half that one owner may have.
    EXPECT_EQ(take().size(), 10 + delivery_schedule::shared_in_flight_max / 2)
        << "all was given back";
}

TEST_F(delivery_schedule_test, one_that_lags_reads_by_itself_and_catches_up) {
    store.add(1);
    store.add(2);
    std::map<model::id, std::set<model::id>> outcomes;
    for (int i = 0; i < 5000; ++i) store.change();
    for (int round = 0; round < 10'000; ++round) {
        read();
        auto const attempts = take();
        if (attempts.empty() && outcomes[1].size() == 5000) break;
        for (auto const& each : attempts) {
            if (each.webhook == 2 && round < 20) continue;  // hangs
            outcomes[each.webhook].insert(each.sequence);
            finish(each, 200);
        }
        if (round == 20) schedule.give_back_all();
        commit();
    }
    EXPECT_EQ(outcomes[1].size(), 5000);
    EXPECT_EQ(outcomes[2].size(), 5000);
    commit();
    EXPECT_EQ(store.of(2).progress.position, 5000);
    auto const bound = store.reads();
    store.change();
    read();
    EXPECT_EQ(store.reads() - bound, 1);  // together again
}

TEST_F(delivery_schedule_test, disabled_webhook_goes_on_from_its_position) {
    auto& webhook = store.add(1);
    store.change(), store.change();
    read();
    auto const attempts = take();
    ASSERT_EQ(attempts.size(), 2);
    finish(attempts[0], 200);
    webhook.end = model::webhook_end::manual;
    store.change();
    read();
    EXPECT_TRUE(take().empty());
    finish(attempts[1], 500);
    commit();
    EXPECT_FALSE(schedule.has(1));
    EXPECT_EQ(store.of(1).progress.position, 2);
    webhook.end = model::webhook_end::none;
    read();
    auto const rest = take();
    ASSERT_EQ(rest.size(), 1);
    EXPECT_EQ(rest[0].sequence, 3);
    pass(6000);
    EXPECT_EQ(take().at(0).sequence, 2);
}

TEST_F(delivery_schedule_test, enabled_again_it_waits_for_its_earlier_attempts) {
    auto& webhook = store.add(1);
    webhook.ordered = true;
    store.change();
    read();
    auto const attempts = take();
    webhook.end = model::webhook_end::manual;
    read();
    webhook.end = model::webhook_end::none;
    read();
    EXPECT_TRUE(take().empty());
    finish(attempts.at(0), 200);
    commit();
    store.change();
    read();
    EXPECT_EQ(take().at(0).sequence, 2);
}

TEST_F(delivery_schedule_test, results_of_a_deleted_webhook_are_dropped) {
    store.add(1);
    store.change();
    read();
    auto const attempts = take();
    store.entries.erase(1);
    read();
    finish(attempts.at(0), 200);
    commit();
    EXPECT_FALSE(schedule.has(1));
    EXPECT_EQ(schedule.look().in_flight, 0);
}

TEST_F(delivery_schedule_test, unknown_and_repeated_results_are_ignored) {
    store.add(1);
    store.change();
    read();
    auto const attempts = take();
    finish(attempts.at(0), 200);
    finish(attempts.at(0), 500);
    finish({.number = 99}, 500);
    EXPECT_EQ(schedule.count().attempts_failed, 0);
    EXPECT_EQ(schedule.look().in_flight, 0);
}

TEST_F(delivery_schedule_test, changes_that_are_no_longer_kept_are_passed_over) {
    store.add(1);
    for (int i = 0; i < 10; ++i) store.change();
    store.forget_before(8);
    read();
    EXPECT_EQ(take().size(), 3);
    store.add(2).types = {"post.*"};
    read();
    EXPECT_EQ(schedule.look().slowest, 7);
}

TEST_F(delivery_schedule_test, replay_is_walked_beside_new_changes) {
    store.add(1);
    for (int i = 0; i < 3000; ++i) store.change();
    store.of(1).progress.position = 3000;
    store.replay(1, 1, 3000);
    read();
    std::multiset<model::id> outcomes;
    for (int round = 0; round < 1000; ++round) {
        if (round % 10 == 0 && round < 100) store.change();
        read();
        for (auto const& each : take()) {
            outcomes.insert(each.sequence);
            finish(each, 200);
        }
        commit();
    }
    EXPECT_EQ(outcomes.size(), 3010);
    EXPECT_EQ(std::set(outcomes.begin(), outcomes.end()).size(), 3010);
    EXPECT_TRUE(store.of(1).replays.empty());
}

TEST_F(delivery_schedule_test, nothing_is_sent_while_nothing_can_be_committed) {
    for (model::id id = 1; id <= 100; ++id) store.add(id);
    for (int i = 0; i < 1000; ++i) store.change();
    std::size_t count = 0;
    for (int round = 0; round < 1000; ++round) {
        read();
        for (auto const& each : take()) finish(each, 200), ++count;
        if (!schedule.take_reports(now.wall).empty()) schedule.settle(false);
    }
    EXPECT_GE(count, delivery_schedule::results_max);
    EXPECT_LE(count, delivery_schedule::results_max + 1000);
    EXPECT_EQ(schedule.next_time(now), no_time);
    EXPECT_LE(schedule.report_time(), now.wall);
    for (int round = 0; round < 100; ++round) commit();
    EXPECT_FALSE(take().empty());
}

TEST_F(delivery_schedule_test, sleeps_until_something_is_due) {
    EXPECT_EQ(schedule.next_time(now), no_time);
    store.add(1);
    store.change();
    read();
    EXPECT_LE(schedule.next_time(now), now.wall);
    finish(take().at(0), 500);
    commit();
    auto const due = schedule.next_time(now);
    EXPECT_GE(due, now.wall + 5000);
    EXPECT_LE(due, now.wall + 5500);
}

}  // namespace
}  // namespace latchkey::delivery
