// The writer of a node: what is answered, when, and what waits.
#include "domain/writer/replica.hpp"

#include <atomic>
#include <thread>

#include "base/time_units.hpp"
#include "cluster_fixture.hpp"
#include "domain/writer/group.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

std::atomic<base::mono_ns> mono_now;
constexpr base::wall_ms wall_now = 1'800'000'000'000;

command secret_of(std::string source) {
    return {.action = put_event_secret{.source = std::move(source),
                                       .secret = base::secret("a secret of 24 bytes at least")}};
}

// Two nodes with writers, by a clock that the test moves.
class store_replica : public cluster_test {
  protected:
    store_replica() {
        mono_now = wall_now * base::millisecond;
        for (auto const& each : nodes) {
            each->close();
            each->open({.map_bytes = 1u << 30,
                        .sync = false,
                        .wall = [] { return wall_now; },
                        .mono = [] { return mono_now.load(); }});
        }
        // Else the first writer's clean-up would write it.
        record_time(first().store->native());
        catch_up(second());
    }
    void start(node& node) {
        writers[&node == nodes[0].get() ? 0 : 1] = std::make_unique<writer>(*node.store);
    }
    void start_both() {
        start(first());
        start(second());
    }
    void pass(node& node, base::mono_ns time) {
        mono_now += time;
        node.log.set_answering(true);  // news
    }
    writer& first_writer() { return *writers[0]; }
    writer& second_writer() { return *writers[1]; }

    std::unique_ptr<writer> writers[2];
};

// A command on its way; must not be destroyed before it is answered.
struct pending_command {
    pending_command(writer& writer, command request) {
        ticket.command = std::move(request);
        ticket.executor = &waiter;
        EXPECT_TRUE(writer.submit(ticket));
    }
    ~pending_command() { answer(); }
    outcome const& answer() {
        if (!std::exchange(answered, true)) waiter.wait_for(1);
        return ticket.outcome;
    }
    bool answered = false;
    ticket_waiter waiter;
    domain::ticket ticket;
};

template <class Condition>
bool soon(Condition holds) {
    for (int i = 0; i < 5000; ++i) {
        if (holds()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

command user_named(std::string const& name) {
    return new_user(name, name + "@example.org");
}

TEST_F(store_replica, follows_while_it_is_idle) {
    start_both();
    auto const outcome = ask(first_writer(), user_named("ann"));
    EXPECT_GE(outcome.position, 1u);  // a new store's time is a row too
    EXPECT_TRUE(soon([&] { return second().store->node()->position >= outcome.position; }));
    EXPECT_EQ(get_user(ask(second_writer(), user_named("bob"))).id, 2);
}

TEST_F(store_replica, writers_of_both_nodes_lose_nothing) {
    start_both();
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i)
        clients.emplace_back([&, i] {
            for (int j = 0; j < 25; ++j) {
                auto const name = "u" + std::to_string(i) + "x" + std::to_string(j);
                EXPECT_EQ(ask(*writers[i % 2], user_named(name)).problem, problem::none);
            }
        });
    for (auto& each : clients) each.join();
    for (auto& each : writers) each->stop();
    expect_equal();
    snapshot shown(*first().store);
    shown.renew();
    EXPECT_EQ(shown.users({.limit = 0}, [](auto const&) {}).total, 100u);
}

TEST_F(store_replica, answers_behind_while_the_engine_is_away) {
    start(first());
    ask(first_writer(), user_named("ann"));
    first().log.set_away(true);
    EXPECT_EQ(ask(first_writer(), user_named("bob")).problem, problem::behind);
    EXPECT_EQ(ask(first_writer(), user_named("ann")).problem, problem::email_taken);
    EXPECT_EQ(first_writer().lockout(), "");
    first().log.set_away(false);
    EXPECT_EQ(get_user(ask(first_writer(), user_named("bob"))).id, 2);
    first_writer().stop();
    expect_equal();
}

TEST_F(store_replica, answers_an_unknown_row_when_it_is_known) {
    start(first());
    for (auto const fault : {append_fault::unknown_won, append_fault::unknown_lost}) {
        first().log.set_answering(false);
        first().log.fail_next(fault);
        auto const appends = first().log.appends();
        pending_command early(first_writer(), user_named("a" + std::to_string(appends)));
        ASSERT_TRUE(soon([&] { return first().log.appends() > appends; }));
        pending_command late(first_writer(), user_named("b" + std::to_string(appends)));
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        EXPECT_TRUE(first().log.appends() == appends + 1) << "nothing is decided meanwhile";
        first().log.set_answering(true);
        EXPECT_EQ(early.answer().problem, problem::none);
        EXPECT_EQ(late.answer().problem, problem::none);
    }
    first_writer().stop();
    expect_equal();
    snapshot shown(*second().store);
    shown.renew();
    EXPECT_EQ(shown.users({.limit = 0}, [](auto const&) {}).total, 4u);
}

TEST_F(store_replica, stops_with_a_row_that_stays_unknown) {
    start(first());
    first().log.set_answering(false);
    first().log.fail_next(append_fault::unknown_won);
    pending_command early(first_writer(), user_named("ann"));
    ASSERT_TRUE(soon([&] { return first().log.appends() >= 1; }));
    first_writer().stop();
    EXPECT_EQ(early.answer().problem, problem::internal_error);
    writers[0].reset();
    first().close();
    first().log.set_answering(true);
    first().open();
    expect_equal();
}

TEST_F(store_replica, turns_off_everywhere_before_it_answers) {
    start_both();
    for (auto const& each : nodes) each->log.set_lease(true);
    auto const key = get_key(ask(first_writer(), new_key(key_number(1))));
    auto const outcome = ask(first_writer(), {.action = deactivate_key{key.id}});
    EXPECT_EQ(outcome.problem, problem::none);
    EXPECT_EQ(outcome.effective_by, 0);
    EXPECT_GE(second().store->node()->position, outcome.position);
    EXPECT_GE(second().log.urgent_reports(), 1u);
}

TEST_F(store_replica, says_by_when_it_is_off_where_a_node_does_not_answer) {
    start(first());
    auto const key = get_key(ask(first_writer(), new_key(key_number(1))));
    for (auto const& each : nodes) each->log.set_lease(true);
    first().log.set_lease_end(wall_now + 30'000);
    auto const reports = first().log.urgent_reports();
    pending_command switching(first_writer(), {.action = deactivate_key{key.id}});
    ASSERT_TRUE(soon([&] { return first().log.urgent_reports() > reports; }));
    // Others are not held up, whatever is asked of the key.
    EXPECT_EQ(get_user(ask(first_writer(), user_named("ann"))).id, 1);
    pending_command repeat(first_writer(), {.action = deactivate_key{key.id}});
    EXPECT_EQ(get_user(ask(first_writer(), user_named("bob"))).id, 2);
    pass(first(), 5 * base::second + 1);
    EXPECT_EQ(switching.answer().problem, problem::none);
    EXPECT_EQ(switching.answer().effective_by, wall_now + 30'000);
    EXPECT_EQ(switching.answer().effective_in, 30'000);
    EXPECT_GE(switching.answer().position, 2u);
    EXPECT_EQ(repeat.answer().effective_by, wall_now + 30'000) << "it may not hold everywhere yet";
}

// Rows that change no key may be missing elsewhere.
TEST_F(store_replica, repeats_what_is_confirmed_without_a_wait) {
    start(first());
    auto const key = get_key(ask(first_writer(), new_key(key_number(1))));
    catch_up(second());
    for (auto const& each : nodes) each->log.set_lease(true);
    auto const head = engine.head();
    pending_command switching(first_writer(), {.action = deactivate_key{key.id}});
    ASSERT_TRUE(soon([&] { return engine.head() == head + 1; }));
    catch_up(second());
    EXPECT_EQ(switching.answer().effective_by, 0);
    ask(first_writer(), user_named("ann"));
    auto const repeat = ask(first_writer(), {.action = deactivate_key{key.id}});
    EXPECT_EQ(repeat.effective_by, 0);
    EXPECT_LT(second().store->node()->position, repeat.position);
}

// The process that appended the row has ended before it was confirmed.
TEST_F(store_replica, confirms_what_was_off_when_it_began) {
    start(first());
    auto const key = get_key(ask(first_writer(), new_key(key_number(1))));
    ask(first_writer(), {.action = deactivate_key{key.id}});
    writers[0].reset();
    first().close();
    first().open();
    for (auto const& each : nodes) each->log.set_lease(true);
    first().log.set_lease_end(wall_now + 30'000);
    start(first());
    pending_command repeat(first_writer(), {.action = deactivate_key{key.id}});
    EXPECT_EQ(get_user(ask(first_writer(), user_named("ann"))).id, 1);
    pass(first(), 5 * base::second + 1);
    EXPECT_EQ(repeat.answer().effective_by, wall_now + 30'000);
}

// Else a new key would be refused by nodes that do not know it yet. Those have a second for it.
TEST_F(store_replica, turns_on_everywhere_before_it_answers) {
    start_both();
    for (auto const& each : nodes) each->log.set_lease(true);
    auto const created = ask(first_writer(), new_key(key_number(1)));
    EXPECT_GE(second().store->node()->position, created.position);
    auto const key = get_key(created).id;
    ask(first_writer(), {.action = deactivate_key{key}});
    auto const reactivated = ask(first_writer(), {.action = reactivate_key{key}});
    EXPECT_EQ(reactivated.problem, problem::none);
    EXPECT_GE(second().store->node()->position, reactivated.position);
}

TEST_F(store_replica, changes_the_secret_of_a_source_everywhere_before_it_answers) {
    start_both();
    for (auto const& each : nodes) each->log.set_lease(true);
    auto const put = ask(first_writer(), secret_of("shop"));
    EXPECT_EQ(put.problem, problem::none);
    EXPECT_GE(second().store->node()->position, put.position);
    auto const removed = ask(first_writer(), {.action = delete_event_secret{"shop"}});
    EXPECT_EQ(removed.problem, problem::none);
    EXPECT_GE(second().store->node()->position, removed.position);
    EXPECT_GE(second().log.urgent_reports(), 2u);
}

TEST_F(store_replica, says_by_when_a_new_secret_holds_where_a_node_does_not_answer) {
    start(first());
    for (auto const& each : nodes) each->log.set_lease(true);
    first().log.set_lease_end(wall_now + 30'000);
    auto const reports = first().log.urgent_reports();
    pending_command setting(first_writer(), secret_of("shop"));
    ASSERT_TRUE(soon([&] { return first().log.urgent_reports() > reports; }));
    ask(first_writer(), user_named("ann"));  // then the wait has begun, and its deadline is set
    pass(first(), 5 * base::second + 1);
    EXPECT_EQ(setting.answer().problem, problem::none);
    EXPECT_EQ(setting.answer().effective_by, wall_now + 30'000);
}

TEST_F(store_replica, answers_what_turns_on_though_a_node_is_silent) {
    start(first());
    for (auto const& each : nodes) each->log.set_lease(true);
    first().log.set_lease_end(wall_now + 30'000);
    pending_command creating(first_writer(), new_key(key_number(1)));
    ASSERT_TRUE(soon([&] { return first().log.urgent_reports() == 1; }));
    ask(first_writer(), user_named("ann"));  // then the wait has begun, and its deadline is set
    pass(first(), base::second + 1);
    EXPECT_EQ(creating.answer().problem, problem::none);
    EXPECT_EQ(creating.answer().effective_by, 0);
}

TEST_F(store_replica, a_confirmation_ends_the_wait) {
    start(first());
    auto const key = get_key(ask(first_writer(), new_key(key_number(1))));
    for (auto const& each : nodes) each->log.set_lease(true);
    auto const reports = first().log.urgent_reports();
    pending_command switching(first_writer(), {.action = deactivate_key{key.id}});
    ASSERT_TRUE(soon([&] { return first().log.urgent_reports() > reports; }));
    catch_up(second());
    EXPECT_EQ(switching.answer().effective_by, 0);
}

TEST_F(store_replica, waits_for_a_position) {
    start(second());
    auto const head = engine.head();
    pending_command waiting(second_writer(),
                            {.action = await_position{head + 2, mono_now + base::second}});
    one(*first().store, user_named("ann"));
    one(*first().store, user_named("bob"));
    EXPECT_EQ(waiting.answer().problem, problem::none);
    EXPECT_GE(second().store->node()->position, head + 2);
    EXPECT_EQ(ask(second_writer(), {.action = await_position{head + 2, 0}}).problem, problem::none);
    pending_command vain(second_writer(),
                         {.action = await_position{head + 3, mono_now + base::second}});
    pass(second(), base::second + 1);
    EXPECT_EQ(vain.answer().problem, problem::behind);
    pending_command closing(second_writer(),
                            {.action = await_position{head + 3, mono_now + base::second}});
    second_writer().stop();
    EXPECT_EQ(closing.answer().problem, problem::behind);
}

TEST_F(store_replica, refuses_writes_while_it_cannot_follow) {
    start_both();
    second().log.set_schema(row_schema() + 1);
    ask(first_writer(), user_named("ann"));
    ASSERT_TRUE(soon([&] { return !second_writer().lockout().empty(); }));
    EXPECT_EQ(second_writer().refusal(), problem::behind);
    EXPECT_NE(second_writer().lockout().find("newer latchkey"), std::string::npos);
    snapshot shown(*second().store);
    shown.renew();
    EXPECT_FALSE(shown.user(1));
    second().log.set_schema(0);
    ASSERT_TRUE(soon([&] { return second_writer().lockout().empty(); }));
    EXPECT_EQ(get_user(ask(second_writer(), user_named("bob"))).id, 2);
}

}  // namespace
}  // namespace latchkey::domain
