// What the service decides about webhooks: deliveries, replays, positions, the lease.
#include "webhook_fixture.hpp"

namespace latchkey::domain {
namespace {

using base::problem;
using model::change_type;
using enum model::delivery_state;

class webhook_deliveries : public webhook_store {
  protected:
    outcome note(webhook_result result) { return apply_one(note_deliveries{{std::move(result)}}); }
    static model::delivery result_of(model::id sequence, model::delivery_state state,
                                     base::wall_ms time, std::uint16_t status = 500) {
        return {.sequence = sequence,
                .type = change_type::user_created,
                .state = state,
                .next_attempt_at = state == pending ? time + 5000 : 0,
                .attempts = {{.time = time, .status = status, .error = {}, .response = {}}}};
    }
    outcome deliver(model::id webhook, model::delivery each) {
        return note({.webhook = webhook, .deliveries = {std::move(each)}, .replays = {}});
    }
    std::vector<model::webhook_replay> replays(model::id webhook) {
        return view([&](snapshot const& each) { return read_replays(each, webhook); });
    }
    struct page {
        std::vector<model::id> sequences;
        delivery_page end;
    };
    page list(model::id webhook, delivery_range const& range) {
        return view([&](snapshot const& each) {
            page result;
            result.end =
                list_deliveries(each, webhook, range, [&](model::delivery const& delivery) {
                    result.sequences.push_back(delivery.sequence);
                });
            return result;
        });
    }
};

using sequences = std::vector<model::id>;

TEST_F(webhook_deliveries, collect_attempts_until_they_are_over) {
    auto const id = create();
    auto const sequence = change();
    deliver(id, result_of(sequence, pending, 10));
    EXPECT_EQ(pending_sequences(id), sequences{sequence});
    EXPECT_EQ(delivery(sequence, id)->next_attempt_at, 5010);
    deliver(id, result_of(sequence, delivered, 20, 200));
    EXPECT_EQ(pending_sequences(id), sequences{});
    auto const content = delivery(sequence, id).value();
    EXPECT_EQ(content.state, delivered);
    ASSERT_EQ(content.attempts.size(), 2u);
    EXPECT_EQ(content.attempts[0].status, 500);
    EXPECT_EQ(content.attempts[1].status, 200);
    deliver(id, result_of(sequence, delivered, 20, 200));
    EXPECT_EQ(delivery(sequence, id), content) << "a repeated result adds nothing";
    expect_sound(*store_);
}

TEST_F(webhook_deliveries, begin_anew_when_they_are_sent_again) {
    auto const id = create();
    auto const sequence = change();
    deliver(id, result_of(sequence, failed, 10));
    deliver(id, result_of(sequence, pending, 30));
    ASSERT_EQ(delivery(sequence, id)->attempts.size(), 1u);
    EXPECT_EQ(delivery(sequence, id)->attempts[0].time, 30);
    EXPECT_EQ(pending_sequences(id), sequences{sequence});
    expect_sound(*store_);
}

TEST_F(webhook_deliveries, of_what_is_gone_are_ignored) {
    auto const id = create();
    auto const sequence = change();
    EXPECT_EQ(deliver(id + 1, result_of(sequence, pending, 10)).problem, problem::none);
    EXPECT_EQ(deliver(id, result_of(sequence + 1, pending, 10)).problem, problem::none);
    EXPECT_FALSE(delivery(sequence, id + 1));
    EXPECT_FALSE(delivery(sequence + 1, id));
    expect_sound(*store_);
}

TEST_F(webhook_deliveries, move_the_position_forward_only) {
    auto const id = create();
    note({.webhook = id,
          .progress = model::webhook_progress{5, 99},
          .deliveries = {},
          .replays = {}});
    EXPECT_EQ(progress(id), (model::webhook_progress{5, 99}));
    note({.webhook = id,
          .progress = model::webhook_progress{3, 0},
          .deliveries = {},
          .replays = {}});
    EXPECT_EQ(progress(id), (model::webhook_progress{5, 0}));
}

TEST_F(webhook_deliveries, disable_a_webhook_once) {
    auto const id = create();
    auto const bound = change();
    for (int i = 0; i < 2; ++i)
        note({.webhook = id, .deliveries = {}, .replays = {}, .end = model::webhook_end::gone});
    auto const entry = view([&](snapshot const& each) { return find_webhook(each, id).value(); });
    EXPECT_EQ(entry.webhook.end, model::webhook_end::gone);
    EXPECT_EQ(entry.webhook.disabled_at, webhook_wall);
    std::vector<model::change_type> types;
    view([&](snapshot const& each) {
        each.changes_after(bound, [&](change_view const& change) {
            types.push_back(change.type);
            EXPECT_EQ(change.subject, id);
            auto const shown_count = decode_webhook_entry(id, change.record);
            EXPECT_TRUE(shown_count && shown_count->webhook.end == model::webhook_end::gone);
            return true;
        });
        return 0;
    });
    EXPECT_EQ(types, std::vector{change_type::webhook_disabled});
}

// Of an ordered one: the others wait until the test was delivered.
TEST_F(webhook_deliveries, are_due_after_a_test) {
    auto const id = create();
    auto const sequence = change();
    deliver(id, result_of(sequence, pending, webhook_wall));
    auto const due = delivery(sequence, id)->next_attempt_at;
    ASSERT_GT(due, webhook_wall);
    auto const answer = apply_one(test_webhook{id});
    EXPECT_EQ(told(answer).sequence, sequence + 1);
    EXPECT_EQ(delivery(sequence, id)->next_attempt_at, due);
    apply_one(change_webhook{.id = id, .ordered = true});
    apply_one(test_webhook{id});
    EXPECT_EQ(delivery(sequence, id)->next_attempt_at, webhook_wall);
    auto const change = view([&](snapshot const& each) {
        std::optional<change_type> type;
        each.changes_after(sequence, [&](change_view const& change) {
            type = change.type;
            return true;
        });
        return type;
    });
    EXPECT_EQ(change, change_type::webhook_test);
}

TEST_F(webhook_deliveries, spend_few_attempts_when_it_is_enabled_again_and_again) {
    auto const id = create();
    constexpr std::size_t count = 3 * webhook_probes_max;
    std::vector<model::id> sequences;
    for (std::size_t i = 0; i < count; ++i) {
        sequences.push_back(change());
        deliver(id, result_of(sequences.back(), pending, webhook_wall));
    }
    for (int i = 0; i < 3; ++i)
        for (bool const enabled : {false, true})
            apply_one(change_webhook{.id = id, .enabled = enabled});
    auto const due = std::ranges::count_if(sequences, [&](auto const each) {
        return delivery(each, id)->next_attempt_at <= webhook_wall;
    });
    EXPECT_EQ(due, webhook_probes_max);
}

TEST_F(webhook_deliveries, are_replayed_by_sequences_and_ranges) {
    auto const id = create();
    auto const first = change();
    for (int i = 0; i < 5; ++i) change();
    auto const answer = apply_one(replay_webhook{id, {first + 3, first, first + 1}});
    EXPECT_EQ(told(answer).first, first);
    EXPECT_EQ(told(answer).last, first + 3);
    auto waiting = replays(id);
    ASSERT_EQ(waiting.size(), 2u);
    EXPECT_EQ(waiting[0].next, first);
    EXPECT_EQ(waiting[0].last, first + 1);
    EXPECT_EQ(waiting[1].next, first + 3);
    auto const range = apply_one(replay_webhook{id, {}, first + 2, first + 1000});
    EXPECT_EQ(told(range).first, first + 2);
    EXPECT_EQ(told(range).last, first + 5) << "to the last change";
    waiting = replays(id);
    ASSERT_EQ(waiting.size(), 3u);
    ++waiting[0].next;
    waiting[1].next = waiting[1].last + 1;
    note({.webhook = id, .deliveries = {}, .replays = {waiting[0], waiting[1]}});
    auto const rest = replays(id);
    ASSERT_EQ(rest.size(), 2u);
    EXPECT_EQ(rest[0], waiting[0]);
    EXPECT_EQ(rest[1], waiting[2]);
    expect_sound(*store_);
}

TEST_F(webhook_deliveries, cannot_be_replayed_without_their_changes_or_too_often) {
    auto const id = create();
    auto const last = change();
    auto const unknown = apply_one(replay_webhook{id, {last, last + 1}});
    ASSERT_EQ(unknown.problem, problem::validation_failed);
    EXPECT_EQ(unknown.faults.at(0).location, "/sequences/1");
    EXPECT_EQ(apply_one(replay_webhook{id, {}, last + 1, 0}).problem, problem::validation_failed);
    for (std::size_t i = 0; i < model::webhook_replays_max; ++i)
        EXPECT_EQ(apply_one(replay_webhook{id, {last}}).problem, problem::none);
    EXPECT_EQ(apply_one(replay_webhook{id, {last}}).problem, problem::overloaded);
    EXPECT_EQ(replays(id).size(), model::webhook_replays_max);
}

TEST_F(webhook_deliveries, are_listed_newest_first) {
    auto const left = create(), middle = create(), right = create();
    sequences all;
    for (int i = 0; i < 12; ++i) all.push_back(change());
    for (std::size_t i = 0; i < all.size(); ++i) {
        deliver(left, result_of(all[i], delivered, 10, 200));
        if (i % 3 == 0) deliver(middle, result_of(all[i], i % 2 == 0 ? pending : failed, 10));
        if (i % 4 == 0) deliver(right, result_of(all[i], delivered, 10, 200));
    }
    EXPECT_EQ(list(middle, {}).sequences, (sequences{all[9], all[6], all[3], all[0]}));
    EXPECT_FALSE(list(middle, {}).end.has_more);
    auto const first = list(middle, {.limit = 3});
    EXPECT_EQ(first.sequences, (sequences{all[9], all[6], all[3]}));
    EXPECT_TRUE(first.end.has_more);
    auto const rest = list(middle, {.bound = first.end.next_before, .limit = 3});
    EXPECT_EQ(rest.sequences, sequences{all[0]});
    EXPECT_FALSE(rest.end.has_more);
    EXPECT_EQ(list(middle, {.state = pending}).sequences, (sequences{all[6], all[0]}));
    EXPECT_EQ(list(middle, {.state = pending, .limit = 1}).end.next_before, all[6]);
    EXPECT_EQ(list(middle, {.state = failed}).sequences, (sequences{all[9], all[3]}));
    EXPECT_EQ(list(left, {.limit = 100}).sequences, sequences(all.rbegin(), all.rend()));
    EXPECT_EQ(list(right, {}).sequences, (sequences{all[8], all[4], all[0]}));
    EXPECT_EQ(pending_sequences(middle), (sequences{all[0], all[6]}));
    EXPECT_EQ(pending_sequences(middle, all[0]), sequences{all[6]});
}

TEST_F(webhook_deliveries, of_a_deleted_webhook_are_not_pending) {
    auto const id = create();
    auto const sequence = change();
    deliver(id, result_of(sequence, pending, 10));
    apply_one(replay_webhook{id, {sequence}});
    EXPECT_EQ(apply_one(delete_webhook{id}).problem, problem::none);
    EXPECT_FALSE(view([&](snapshot const& each) { return find_webhook(each, id); }));
    EXPECT_EQ(pending_sequences(id), sequences{});
    EXPECT_TRUE(replays(id).empty());
    expect_sound(*store_);
}

TEST_F(webhook_deliveries, go_with_their_changes) {
    auto const id = create();
    auto const sequence = change();
    deliver(id, result_of(sequence, pending, 10));
    store_.reset();
    store_ = environment::open({.directory = directory_.path(),
                                .map_bytes = 1u << 30,
                                .sync = false,
                                .records_changes = true,
                                .changes_max = 1,
                                .wall = [] { return webhook_wall.load(); }})
                 .value();
    {
        writer writer(*store_);
        ask(writer, new_user("a", "a@example.net"));
        ask(writer, new_user("b", "b@example.net"));
    }
    EXPECT_FALSE(delivery(sequence, id));
    EXPECT_EQ(pending_sequences(id), sequences{});
    expect_sound(*store_);
    EXPECT_EQ(apply_one(replay_webhook{id, {}, sequence, sequence}).problem,
              problem::changes_expired);
}

TEST_F(webhook_deliveries, are_made_by_one_node) {
    auto const take = [&](std::string node) {
        return std::get<delivery_lease>(
            apply_one(take_delivery_lease{std::move(node), 1000}).record);
    };
    auto const begin = webhook_wall.load();
    EXPECT_EQ(take("left"), (delivery_lease{"left", begin + 1000}));
    webhook_wall += 500;
    EXPECT_EQ(take("right"), (delivery_lease{"left", begin + 1000}));
    EXPECT_EQ(take("left"), (delivery_lease{"left", begin + 1500}));
    webhook_wall += 1000;
    EXPECT_EQ(take("right"), (delivery_lease{"right", begin + 2500}));
    EXPECT_EQ(view([](snapshot const& each) { return find_delivery_lease(each); }),
              (delivery_lease{"right", begin + 2500}));
    EXPECT_EQ(apply_one(take_delivery_lease{"", 1000}).problem, problem::internal_error);
}

}  // namespace
}  // namespace latchkey::domain
