// The rules of one webhook, in virtual time.
#include "delivery/webhook_queue.hpp"

#include <gtest/gtest.h>

#include <set>

namespace latchkey::delivery {
namespace {

constexpr base::wall_ms minute = 60'000, hour = 60 * minute, day = 24 * hour;

struct webhook_queue_test : testing::Test {
    void make(std::vector<pending_delivery> pending = {}, model::id position = 0) {
        queue.emplace(webhook, model::webhook_progress{position, 0}, std::move(pending));
    }
    void offer(model::id first, model::id last) {
        for (auto sequence = first; sequence <= last; ++sequence)
            queue->offer({sequence, type, project, 0}, time());
    }
    base::wall_ms time() const { return now.wall; }
    void pass(base::wall_ms span) {
        now.wall += span;
        now.mono += span * 1'000'000;
    }
    std::vector<model::id> take_all() {
        std::vector<model::id> sequences;
        while (auto const sequence = queue->next(now)) sequences.push_back(*sequence);
        return sequences;
    }
    model::delivery_state finish(model::id sequence, std::uint16_t status,
                                 std::uint32_t retry_after = 0) {
        return queue->finish(sequence,
                             {.status = status,
                              .duration_ms = 7,
                              .retry_after_seconds = retry_after,
                              .error = status == 0 ? "timed out" : "",
                              .response = {}},
                             time(), random);
    }
    report commit() {
        auto const content = queue->take_report(time());
        queue->settle(true);
        return content;
    }

    model::webhook webhook{.id = 3, .headers = {}, .project = {}};
    model::change_type type = model::change_type::user_created;
    std::string project;
    base::instant now{.mono = 1'000'000'000'000, .wall = 1'700'000'000'000};
    jitter random{1};
    std::optional<webhook_queue> queue;
};

TEST_F(webhook_queue_test, takes_what_its_types_and_project_let_it_have) {
    webhook.types = {"user.*", "key.created"};
    webhook.project = "shop";
    make();
    model::id sequence = 0;
    auto const offered = [&](model::change_type each, std::string_view owner, model::id subject) {
        queue->offer({++sequence, each, owner, subject}, time());
        return !take_all().empty();
    };
    using enum model::change_type;
    EXPECT_TRUE(offered(user_created, "", 1));
    EXPECT_FALSE(offered(post_created, "", 1));
    EXPECT_TRUE(offered(key_created, "shop", 1));
    EXPECT_FALSE(offered(key_created, "other", 1));
    EXPECT_FALSE(offered(key_created, "", 1));
    EXPECT_TRUE(offered(webhook_test, "", 3));
    EXPECT_FALSE(offered(webhook_test, "", 4));
    EXPECT_EQ(queue->position(), 0);
}

TEST_F(webhook_queue_test, position_passes_what_is_not_for_it_and_is_committed_at_leisure) {
    webhook.types = {"post.created"};
    make();
    offer(1, 10);
    EXPECT_EQ(queue->position(), 10);
    EXPECT_TRUE(queue->has_report(time()));
    EXPECT_EQ(commit().progress->position, 10);
    offer(11, 12);
    EXPECT_FALSE(queue->has_report(time()));
    pass(webhook_queue::report_interval);
    EXPECT_TRUE(queue->has_report(time()));
}

TEST_F(webhook_queue_test, up_to_32_are_in_flight_in_no_order) {
    make();
    offer(1, 100);
    EXPECT_EQ(take_all().size(), 32);
    for (model::id sequence = 2; sequence <= 32; ++sequence) finish(sequence, 204);
    EXPECT_EQ(queue->position(), 0);
    EXPECT_EQ(take_all().size(), 31);
    finish(1, 200);
    EXPECT_EQ(queue->position(), 32);
    auto const content = commit();
    EXPECT_EQ(content.progress->position, 32);
    EXPECT_EQ(content.deliveries.size(), 32);
    EXPECT_EQ(content.deliveries[0].state, model::delivery_state::delivered);
    EXPECT_EQ(content.deliveries[0].attempts[0].status, 204);
    EXPECT_EQ(content.deliveries[0].attempts[0].time, time() - 7);
}

TEST_F(webhook_queue_test, attempts_follow_the_contract_until_the_delivery_has_failed) {
    make();
    offer(1, 1);
    base::wall_ms const pauses[] = {0,        5000,      5 * minute, 30 * minute, 2 * hour,
                                    5 * hour, 10 * hour, 14 * hour,  20 * hour,   24 * hour};
    for (unsigned attempt = 0; attempt < 10; ++attempt) {
        auto const due = queue->next_time(now);
        EXPECT_GE(due, time() + pauses[attempt]);
        EXPECT_LE(due, time() + pauses[attempt] * 11 / 10);
        if (due > time()) {
            pass(due - time() - 1);
            EXPECT_TRUE(take_all().empty());
            pass(1);
        }
        ASSERT_EQ(take_all(), std::vector<model::id>{1});
        EXPECT_EQ(finish(1, attempt % 2 == 0 ? 500 : 301),
                  attempt == 9 ? model::delivery_state::failed : model::delivery_state::pending);
        auto const content = commit();
        EXPECT_EQ(content.progress->position, 1);
        EXPECT_NE(content.progress->failing_since, 0);
        ASSERT_EQ(content.deliveries.size(), 1);
        EXPECT_EQ(content.deliveries[0].attempts.size(), 1);
    }
    EXPECT_EQ(queue->next_time(now), no_time);
    EXPECT_EQ(queue->pending(), 0);
}

TEST_F(webhook_queue_test, obeys_retry_after) {
    make();
    offer(1, 1);
    take_all();
    finish(1, 503, 600);
    EXPECT_EQ(queue->next_time(now), time() + 600'000);
}

TEST_F(webhook_queue_test, gone_disables_it_and_keeps_the_delivery) {
    make();
    offer(1, 3);
    take_all();
    finish(1, 410);
    offer(4, 4);
    EXPECT_TRUE(take_all().empty());
    auto const content = queue->take_report(time());
    EXPECT_EQ(content.end, model::webhook_end::gone);
    EXPECT_EQ(content.deliveries[0].state, model::delivery_state::pending);
    queue->settle(false);
    EXPECT_EQ(queue->take_report(time()).end, model::webhook_end::gone);
    queue->settle(true);
    EXPECT_TRUE(queue->is_retired());
    EXPECT_FALSE(queue->is_over());
    finish(2, 200);
    finish(3, 500);
    EXPECT_TRUE(queue->has_report(time()));
    EXPECT_EQ(commit().deliveries.size(), 2);
    EXPECT_TRUE(queue->is_over());
}

TEST_F(webhook_queue_test, five_days_of_failures_disable_it) {
    make();
    offer(1, 1);
    take_all();
    finish(1, 0);
    pass(5 * day - 1);
    offer(2, 2);
    EXPECT_EQ(take_all().size(), 2);
    finish(2, 500);
    EXPECT_EQ(commit().end, model::webhook_end::none);
    pass(1);
    finish(1, 500);
    EXPECT_EQ(commit().end, model::webhook_end::failing);
}

TEST_F(webhook_queue_test, success_ends_the_time_of_failures) {
    make();
    offer(1, 2);
    take_all();
    finish(1, 500);
    EXPECT_NE(commit().progress->failing_since, 0);
    finish(2, 200);
    EXPECT_EQ(commit().progress->failing_since, 0);
}

TEST_F(webhook_queue_test, ordered_begins_with_one_and_its_retries_hold_others_up) {
    webhook.ordered = true;
    make();
    offer(1, 3);
    EXPECT_EQ(take_all(), std::vector<model::id>{1});
    EXPECT_EQ(queue->next_time(now), no_time);
    finish(1, 500);
    EXPECT_EQ(commit().progress->position, 1);
    EXPECT_TRUE(take_all().empty());
    pass(queue->next_time(now) - time());
    EXPECT_EQ(take_all(), std::vector<model::id>{1});
    finish(1, 200);
    EXPECT_EQ(take_all(), (std::vector<model::id>{2, 3}));
}

TEST_F(webhook_queue_test, ordered_goes_ahead_of_a_quick_receiver) {
    webhook.ordered = true;
    make();
    offer(1, 20);
    EXPECT_EQ(take_all(), std::vector<model::id>{1});
    finish(1, 200);
    EXPECT_EQ(take_all(), (std::vector<model::id>{2, 3, 4, 5, 6, 7, 8, 9}));
    EXPECT_EQ(queue->next_time(now), no_time);
    finish(2, 200);
    EXPECT_EQ(queue->next_time(now), time());
    EXPECT_EQ(take_all(), std::vector<model::id>{10});
}

TEST_F(webhook_queue_test, ordered_begins_anew_once_all_ahead_of_a_failure_came_back) {
    webhook.ordered = true;
    make();
    offer(1, 5);
    take_all();
    finish(1, 200);
    EXPECT_EQ(take_all(), (std::vector<model::id>{2, 3, 4, 5}));
    finish(2, 200);
    finish(3, 500);
    queue->give_back(4);
    EXPECT_TRUE(take_all().empty());
    EXPECT_EQ(queue->next_time(now), no_time);
    queue->give_back(5);
    EXPECT_TRUE(take_all().empty());
    pass(queue->next_time(now) - time());
    EXPECT_EQ(take_all(), std::vector<model::id>{3});
    finish(3, 200);
    EXPECT_EQ(take_all(), (std::vector<model::id>{4, 5}));
}

TEST_F(webhook_queue_test, ordered_does_not_pass_one_that_was_given_back) {
    webhook.ordered = true;
    make();
    offer(1, 3);
    take_all();
    finish(1, 200);
    EXPECT_EQ(take_all(), (std::vector<model::id>{2, 3}));
    queue->give_back(2);
    offer(4, 4);
    EXPECT_TRUE(take_all().empty());
    queue->give_back(3);
    EXPECT_EQ(take_all(), std::vector<model::id>{2});
}

TEST_F(webhook_queue_test, ordered_sends_one_at_a_time_to_a_slow_receiver) {
    webhook.ordered = true;
    make();
    offer(1, 3);
    take_all();
    attempt_result slow;
    slow.status = 200;
    slow.duration_ms = 21;
    queue->finish(1, std::move(slow), time(), random);
    EXPECT_EQ(take_all(), std::vector<model::id>{2});
}

TEST_F(webhook_queue_test, ordered_goes_on_after_one_that_has_failed) {
    webhook.ordered = true;
    make({{.sequence = 1, .attempts = 9, .due = time()}}, 1);
    offer(2, 2);
    EXPECT_EQ(take_all(), std::vector<model::id>{1});
    EXPECT_EQ(finish(1, 500), model::delivery_state::failed);
    EXPECT_EQ(take_all(), std::vector<model::id>{2});
}

TEST_F(webhook_queue_test, new_changes_are_tried_beside_many_that_wait) {
    std::vector<pending_delivery> pending;
    for (model::id sequence = 1; sequence <= 500; ++sequence)
        pending.push_back({.sequence = sequence, .attempts = 3, .due = time() - 1});
    make(std::move(pending), 500);
    offer(501, 600);
    auto const sequences = take_all();
    EXPECT_EQ(sequences.size(), 32);
    EXPECT_EQ(std::ranges::count_if(sequences, [](auto each) { return each > 500; }), 16);
}

TEST_F(webhook_queue_test, record_beyond_the_position_is_not_sent_as_new) {
    make({{.sequence = 2, .attempts = 1, .due = time() + hour}}, 0);
    offer(1, 3);
    EXPECT_EQ(take_all(), (std::vector<model::id>{1, 3}));
}

TEST_F(webhook_queue_test, beyond_the_bound_of_records_new_changes_are_tried_one_by_one) {
    std::vector<pending_delivery> pending;
    for (model::id sequence = 1; sequence <= 1000; ++sequence)
        pending.push_back({.sequence = sequence, .attempts = 3, .due = time() + day});
    make(std::move(pending), 1000);
    offer(1001, 1100);
    base::wall_ms const pauses[] = {5000,   10'000,  20'000,  40'000,
                                    80'000, 160'000, 300'000, 300'000};
    for (auto const pause : pauses) {
        EXPECT_EQ(take_all(), std::vector<model::id>{1001});
        EXPECT_EQ(finish(1001, 500), model::delivery_state::pending);
        EXPECT_EQ(queue->pending(), 1000);
        EXPECT_EQ(queue->results(), 0);
        EXPECT_EQ(queue->position(), 1000);
        EXPECT_EQ(queue->next_time(now), time() + pause);
        EXPECT_TRUE(take_all().empty());
        pass(pause);
    }
    for (model::id sequence = 1001; sequence <= 1100; ++sequence) {
        EXPECT_EQ(take_all(), std::vector<model::id>{sequence});
        finish(sequence, 200);
    }
    EXPECT_EQ(queue->position(), 1100);
}

TEST_F(webhook_queue_test, window_and_results_are_bounded) {
    make();
    model::id sequence = 0;
    while (queue->has_room()) queue->offer({++sequence, type, "", 0}, time());
    EXPECT_EQ(sequence, 1024);
    std::size_t count = 0;
    for (auto some = take_all(); !some.empty(); some = take_all())
        for (auto const each : some) finish(each, 200), ++count;
    EXPECT_GE(count, webhook_queue::results_max);
    EXPECT_LE(count, webhook_queue::results_max + 32);
    commit();
    EXPECT_FALSE(take_all().empty());
}

TEST_F(webhook_queue_test, results_that_were_not_committed_are_reported_again) {
    make();
    offer(1, 2);
    take_all();
    finish(1, 200);
    queue->take_report(time());
    EXPECT_FALSE(queue->has_report(time() + day));
    finish(2, 500);
    queue->settle(false);
    auto const content = commit();
    ASSERT_EQ(content.deliveries.size(), 2);
    EXPECT_EQ(content.deliveries[0].sequence, 1);
    EXPECT_EQ(content.deliveries[1].sequence, 2);
    EXPECT_FALSE(queue->has_report(time() + day));
}

TEST_F(webhook_queue_test, test_that_is_delivered_makes_what_waits_due) {
    make({{.sequence = 1, .attempts = 3, .due = time() + hour}}, 1);
    type = model::change_type::webhook_test;
    queue->offer({2, type, "", 4}, time());
    EXPECT_TRUE(take_all().empty());
    queue->offer({3, type, "", 3}, time());
    EXPECT_EQ(take_all(), std::vector<model::id>{3});
    finish(3, 200);
    EXPECT_EQ(take_all(), std::vector<model::id>{1});
}

TEST_F(webhook_queue_test, tests_that_are_refused_spend_no_attempt_of_what_waits) {
    std::vector<pending_delivery> pending;
    for (model::id sequence = 1; sequence <= 900; ++sequence)
        pending.push_back({.sequence = sequence, .attempts = 3, .due = time() + hour});
    make(std::move(pending), 900);
    type = model::change_type::webhook_test;
    for (model::id sequence = 901; sequence <= 910; ++sequence) {
        queue->offer({sequence, type, "", 3}, time());
        EXPECT_EQ(take_all(), std::vector<model::id>{sequence});
        finish(sequence, 503);
    }
}

TEST_F(webhook_queue_test, test_of_an_ordered_one_tries_the_first_that_waits) {
    webhook.ordered = true;
    std::vector<pending_delivery> pending;
    for (model::id sequence = 1; sequence <= 3; ++sequence)
        pending.push_back({.sequence = sequence, .attempts = 3, .due = time() + hour});
    make(std::move(pending), 3);
    type = model::change_type::webhook_test;
    queue->offer({4, type, "", 3}, time());
    EXPECT_EQ(take_all(), std::vector<model::id>{1});
    finish(1, 503);
    EXPECT_TRUE(take_all().empty()) << "the others wait for it";
}

TEST_F(webhook_queue_test, replay_sends_again_what_the_types_have) {
    webhook.types = {"user.created"};
    make({{.sequence = 4, .attempts = 9, .due = time() + hour}}, 10);
    std::vector<model::webhook_replay> const replays{{1, 2, 6}};
    queue->replay(replays);
    queue->replay(replays);
    auto* const walk = queue->open_replay();
    ASSERT_NE(walk, nullptr);
    EXPECT_EQ(walk->window.last(), 1);
    for (model::id sequence = 2; sequence <= 6; ++sequence) {
        auto const each = sequence == 3 ? model::change_type::post_created : type;
        EXPECT_TRUE(queue->offer_again(*walk, {sequence, each, "", 0}, time()));
    }
    EXPECT_EQ(queue->open_replay(), nullptr);
    auto const sequences = take_all();
    EXPECT_EQ(std::set(sequences.begin(), sequences.end()), (std::set<model::id>{2, 4, 5, 6}));
    finish(5, 200);
    auto content = commit();  // its attempts begin anew, and it is due at once
    EXPECT_EQ(content.deliveries[0].sequence, 4);
    EXPECT_EQ(content.deliveries[0].next_attempt_at, time());
    EXPECT_TRUE(content.replays.empty());
    EXPECT_EQ(finish(4, 500), model::delivery_state::pending);
    finish(2, 200);
    content = commit();
    ASSERT_EQ(content.replays.size(), 1);
    EXPECT_EQ(content.replays[0].next, 6);
    finish(6, 500);
    content = commit();
    EXPECT_EQ(content.replays[0].next, 7);
    EXPECT_EQ(queue->position(), 10);
    queue->replay(replays);
    EXPECT_EQ(queue->open_replay(), nullptr);
}

TEST_F(webhook_queue_test, replay_takes_half_of_the_window) {
    make({}, 5000);
    queue->replay(std::vector<model::webhook_replay>{{1, 1, 3000}, {2, 3500, 3600}});
    model::id sequence = 0;
    while (auto* const walk = queue->open_replay())
        EXPECT_TRUE(queue->offer_again(*walk, {++sequence, type, "", 0}, time()));
    EXPECT_EQ(sequence, 512);
    EXPECT_TRUE(queue->has_room());
}

TEST_F(webhook_queue_test, replay_of_changes_that_are_new_still_sends_them_once) {
    make({}, 5);
    queue->replay(std::vector<model::webhook_replay>{{1, 5, 9}});
    auto* const walk = queue->open_replay();
    ASSERT_NE(walk, nullptr);
    EXPECT_EQ(walk->end, 5);
    EXPECT_TRUE(queue->offer_again(*walk, {5, type, "", 0}, time()));
    offer(6, 9);
    auto const sequences = take_all();
    EXPECT_EQ(sequences.size(), 5);
    for (auto const each : sequences) finish(each, 200);
    EXPECT_EQ(commit().replays[0].next, 10);
}

TEST_F(webhook_queue_test, pace_bounds_attempts) {
    webhook.max_per_second = 2;
    make();
    offer(1, 10);
    EXPECT_EQ(take_all().size(), 1);
    EXPECT_EQ(queue->next_time(now), time() + 500);
    pass(500);
    EXPECT_EQ(take_all().size(), 1);
}

TEST_F(webhook_queue_test, change_that_is_no_longer_kept_has_failed) {
    make({{.sequence = 1, .attempts = 3, .due = time()}}, 1);
    take_all();
    queue->abandon(1, time());
    auto const content = commit();
    EXPECT_EQ(content.deliveries[0].state, model::delivery_state::failed);
    EXPECT_EQ(content.deliveries[0].attempts[0].error, "no longer kept");
    EXPECT_EQ(content.progress->failing_since, 0);
}

TEST_F(webhook_queue_test, what_was_given_back_is_sent_again_and_counts_as_no_attempt) {
    make({{.sequence = 1, .attempts = 9, .due = time()}}, 1);
    offer(2, 2);
    EXPECT_EQ(take_all().size(), 2);
    queue->give_back(1);
    queue->give_back(2);
    EXPECT_EQ(queue->in_flight(), 0);
    EXPECT_EQ(take_all().size(), 2);
}

}  // namespace
}  // namespace latchkey::delivery
