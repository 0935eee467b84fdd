// The parts of a worker that know neither sockets nor the worker: quotas, pools, lists, queues.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/thread_checker.hpp"
#include "server/drain_state.hpp"
#include "server/memory_budget.hpp"
#include "server/net/buffer_pool.hpp"
#include "server/net/connection_table.hpp"
#include "server/net/memory_holders.hpp"
#include "server/net/turn_queues.hpp"
#include "server/turn_budget.hpp"

namespace latchkey::server {
namespace {

using base::limits::mib;

TEST(memory_budget, counts_what_reservations_hold_and_gets_it_back) {
    memory_budget budget;
    budget.set_bytes_max(1000);
    {
        memory_budget::reservation first(budget), second(budget);
        first.resize(500);
        EXPECT_FALSE(budget.scarce());
        second.resize(1);
        EXPECT_TRUE(budget.scarce());
        second.resize(500);
        EXPECT_FALSE(budget.exceeded());
        second.resize(501);
        EXPECT_TRUE(budget.exceeded());
        first.resize(10);
        EXPECT_EQ(budget.used(), 511u);
        EXPECT_EQ(budget.peak(), 0u) << "noted once a turn";
        budget.note_peak();
    }
    EXPECT_EQ(budget.used(), 0u);
    budget.note_peak();
    EXPECT_EQ(budget.peak(), 511u);
    budget.reset_peak();
    EXPECT_EQ(budget.peak(), 0u);
}

TEST(memory_budget, allows_less_to_be_unsent_while_it_is_scarce) {
    memory_budget budget;
    budget.set_bytes_max(4 * mib);
    memory_budget::reservation held(budget);
    EXPECT_EQ(budget.unsent_bytes_max(9), base::limits::unsent_bytes_max);
    held.resize(2 * mib + 1);
    EXPECT_EQ(budget.unsent_bytes_max(0), base::limits::unsent_bytes_max);
    EXPECT_EQ(budget.unsent_bytes_max(15), 32 * base::limits::kib);
    EXPECT_EQ(budget.unsent_bytes_max(100'000), base::limits::scarce_unsent_bytes_min);
    EXPECT_EQ(budget.fair_share(1), mib);
    held.resize(4 * mib + 1);
    EXPECT_EQ(budget.unsent_bytes_max(0), base::limits::scarce_unsent_bytes_min) << "exceeded";
}

TEST(memory_budget, leaves_room_for_those_who_hold_little) {
    memory_budget budget;
    budget.set_bytes_max(1000);
    memory_budget::reservation first(budget), second(budget), other(budget);
    EXPECT_TRUE(budget.admits(2000)) << "memory is not scarce";
    first.resize(400);
    first.belong_to(7);
    second.belong_to(7);
    second.resize(200);
    EXPECT_EQ(budget.held_by(7), 600u);
    EXPECT_EQ(budget.held_by(8), 0u);
    EXPECT_TRUE(budget.admits(650));
    EXPECT_FALSE(budget.admits(651)) << "it holds more than is left of five quarters";
    EXPECT_FALSE(budget.admits_answer(7, 1));
    EXPECT_TRUE(budget.admits_answer(8, 400));
    EXPECT_FALSE(budget.admits_answer(8, 401)) << "the last quarter is for small ones";
    other.resize(650);
    EXPECT_TRUE(budget.admits(0));
    other.resize(651);
    EXPECT_FALSE(budget.admits(0));
    second.belong_to(8);
    EXPECT_EQ(budget.held_by(7), 400u);
    EXPECT_EQ(budget.held_by(8), 200u);
    first.belong_to(0);
    second.resize(0);
    EXPECT_EQ(budget.held_by(7) + budget.held_by(8), 0u);
    EXPECT_EQ(budget.used(), 400u + 651u);
}

TEST(holder_watch, judges_progress_in_proportion_to_what_is_held) {
    using enum holder_watch::standing;
    constexpr std::size_t share = 1000, held = 16'000;
    constexpr auto step = holder_watch::look_every;
    struct {
        char const* name;
        std::size_t unread;
        std::uint64_t taken_per_step;
        holder_watch::standing outcome;
    } const rows[] = {{"nothing is taken", held, 0, slow},
                      {"a little is taken", held, 99, slow},
                      {"a part is taken", held, 100, heavy},
                      {"no client has to take it", share, 0, heavy}};
    for (auto const& row : rows) {
        holder_watch watch;
        base::mono_ns now = 5 * base::second;
        std::uint64_t taken_bytes = 77;
        for (int i = 0; i < 10; ++i, now += step, taken_bytes += row.taken_per_step)
            EXPECT_EQ(watch.look(held, row.unread, taken_bytes, share, now), modest)
                << row.name << i;
        EXPECT_EQ(watch.look(held, row.unread, taken_bytes, share, now), row.outcome) << row.name;
    }
    holder_watch watch;
    EXPECT_EQ(watch.look(held, held, 0, share, base::second), modest);
    EXPECT_EQ(watch.look(share, share, 0, share, base::second + step), modest);
    EXPECT_EQ(watch.look(held, held, 0, share, 2 * base::second), modest) << "it was within";
    EXPECT_EQ(watch.look(held, held, 0, share, 9 * base::second), modest) << "it was not looked at";
}

TEST(holder_watch, takes_who_holds_little_between_two_looks_for_modest) {
    using enum holder_watch::standing;
    constexpr std::size_t share = 1000, held = 16'000;
    for (std::size_t const least : {share, share + 1}) {
        holder_watch watch;
        base::mono_ns now = 5 * base::second;
        auto const look = [&] {
            watch.note(least);
            watch.note(held);
            return watch.look(held, 0, 0, share, now += holder_watch::look_every);
        };
        for (int i = 0; i < 11; ++i) look();
        EXPECT_EQ(look(), least <= share ? modest : heavy);
    }
}

TEST(memory_holders, are_sorted_by_what_their_owner_holds) {
    int connections[5] = {};
    std::vector<holding<int>> all{{1, 50, &connections[0]},
                                  {2, 40, &connections[1]},
                                  {3, 10, &connections[2]},
                                  {2, 45, &connections[3]},
                                  {4, 60, &connections[4]}};
    sort_by_owner(all);
    std::vector<std::size_t> sizes;
    for (auto const& each : all) sizes.push_back(each.bytes);
    EXPECT_EQ(sizes, (std::vector<std::size_t>{45, 40, 60, 50, 10}));
}

TEST(memory_holders, end_with_the_largest_of_an_owner_who_holds_too_much) {
    int connections[7] = {};
    std::vector<holding<int>> all{{1, 30, &connections[0], true}, {2, 10, &connections[1], true},
                                  {1, 40, &connections[2], true}, {3, 60, &connections[3], true},
                                  {1, 20, &connections[4], true}, {2, 70, &connections[5], true},
                                  {4, 61, &connections[6], false}};
    sort_by_owner(all);
    std::vector<std::ptrdiff_t> places;
    end_excess(all, 60, [&](int& each) { places.push_back(&each - connections); });
    EXPECT_EQ(places, (std::vector<std::ptrdiff_t>{2, 5})) << "what is not heavy stays";
    EXPECT_EQ(all.size(), 5u);
}

TEST(memory_holders, beyond_what_all_or_an_owner_may_hold_are_ended) {
    using places = std::vector<std::ptrdiff_t>;
    // Of three owners, the second of which holds most.
    auto const find_ends = [](std::size_t bytes_max, std::size_t owner_bytes_max) {
        int connections[5] = {};
        std::vector<holding<int>> all{{1, 30, &connections[0], true},
                                      {2, 25, &connections[1], true},
                                      {3, 5, &connections[2], true},
                                      {2, 20, &connections[3], true},
                                      {2, 10, &connections[4], false}};
        places ends;
        end_beyond(all, bytes_max, owner_bytes_max,
                   [&](int& each) { ends.push_back(&each - connections); });
        return ends;
    };
    EXPECT_EQ(find_ends(90, 55), places{});
    EXPECT_EQ(find_ends(90, 54), places{1}) << "one owner alone is above his share";
    EXPECT_EQ(find_ends(89, 55), places{1}) << "all are above the budget, and no owner above his";
    EXPECT_EQ(find_ends(50, 55), (places{1, 3})) << "the largest of who holds most";
    EXPECT_EQ(find_ends(44, 54), (places{1, 3, 0})) << "what is not heavy stays";
    EXPECT_EQ(find_ends(90, 29), (places{1, 3, 0})) << "of each owner";
}

TEST(buffer_pool, keeps_what_is_neither_tiny_nor_large) {
    buffer_pool pool;
    auto buffer = pool.take();
    EXPECT_TRUE(buffer.empty());
    buffer.append(10'000, 'x');
    auto const* const memory = buffer.data();
    pool.put(std::move(buffer));
    buffer = pool.take();
    EXPECT_EQ(buffer.data(), memory);
    EXPECT_TRUE(buffer.empty());

    std::string large(100 * base::limits::kib, 'x');
    auto const* const freed = large.data();
    pool.put(std::move(large));
    EXPECT_EQ(large.capacity(), std::string().capacity()) << "given back to the system";
    pool.put("tiny");
    EXPECT_NE(pool.take().data(), freed);
}

struct fake_connection {
    fake_connection* next_open = nullptr;
    fake_connection** open_link = nullptr;
    fake_connection* next_dirty = nullptr;
    std::string calls;

    void resume_later() { calls += 'r'; }
    void handshake_step() { calls += 'h'; }
    void receive_again() { calls += 's'; }
    void flush() { calls += 'f'; }
};

TEST(connection_table, visits_all_although_the_visited_end) {
    connection_table<fake_connection> table;
    fake_connection all[4];
    for (auto& each : all) table.add(each);
    EXPECT_EQ(table.count(), 4u);
    table.remove(all[2]);
    table.expect();
    EXPECT_EQ(table.count(), 4u);
    table.end_expecting();
    std::size_t visited = 0;
    table.for_each([&](fake_connection& connection) {
        ++visited;
        table.remove(connection);
    });
    EXPECT_EQ(visited, 3u);
    EXPECT_EQ(table.count(), 0u);
    table.for_each([](fake_connection&) { ADD_FAILURE(); });
}

bool always() {
    return true;
}
bool never() {
    return false;
}

TEST(turn_queues, run_each_once_and_forget_what_ends) {
    turn_queues<fake_connection> queues(4);
    fake_connection stays, ends;
    for (auto* const each : {&stays, &ends}) {
        queues.resume_next_turn(*each);
        queues.queue_handshake(*each);
        queues.queue_starved(*each);
        queues.mark_dirty(*each);
    }
    EXPECT_FALSE(queues.idle());
    queues.forget(ends, true);
    queues.run_resumed(never);
    queues.run_handshakes(8, never);
    queues.feed_starved(8);
    queues.flush_dirty();
    EXPECT_EQ(stays.calls, "rhsf");
    EXPECT_EQ(ends.calls, "");
    EXPECT_TRUE(queues.idle());
    EXPECT_FALSE(queues.has_starved());
}

TEST(turn_queues, handle_no_more_than_they_are_told) {
    turn_queues<fake_connection> queues(4);
    fake_connection first, second;
    for (auto* const each : {&first, &second}) {
        queues.queue_handshake(*each);
        queues.queue_starved(*each);
    }
    queues.run_handshakes(1, never);
    queues.feed_starved(1);
    EXPECT_EQ(first.calls, "hs");
    EXPECT_EQ(second.calls, "");
    EXPECT_TRUE(queues.has_starved());
}

TEST(turn_queues, run_one_where_the_turn_is_over_and_the_rest_first_in_the_next) {
    turn_queues<fake_connection> queues(4);
    fake_connection first, second, late;
    for (auto* const each : {&first, &second}) {
        queues.resume_next_turn(*each);
        queues.queue_handshake(*each);
    }
    queues.run_resumed(always);
    queues.run_handshakes(8, always);
    EXPECT_EQ(first.calls, "rh");
    EXPECT_EQ(second.calls, "");
    queues.resume_next_turn(late);
    EXPECT_TRUE(queues.has_resumed());
    queues.run_resumed(always);
    queues.run_handshakes(8, always);
    EXPECT_EQ(second.calls, "rh");
    EXPECT_EQ(late.calls, "") << "it has come later";
    queues.forget(late, false);
    queues.run_resumed(always);
    EXPECT_EQ(late.calls, "");
    EXPECT_TRUE(queues.idle());
}

base::mono_ns fake_time = 0;
base::mono_ns read_fake_time() {
    return fake_time;
}

TEST(turn_budget, ends_by_bytes_of_answers) {
    turn_budget budget(read_fake_time);
    budget.begin(fake_time);
    budget.add_answer(base::limits::turn_answer_bytes_max - 1);
    EXPECT_FALSE(budget.is_spent());
    budget.allow(1, 2);
    EXPECT_TRUE(budget.is_spent()) << "a share of it";
    budget.allow(1, 1);
    budget.add_answer(1);
    EXPECT_TRUE(budget.is_spent());
    budget.begin(fake_time);
    EXPECT_FALSE(budget.is_spent());
}

TEST(turn_budget, ends_by_time_and_reads_the_clock_for_many_small_pieces_together) {
    turn_budget budget(read_fake_time);
    budget.begin(fake_time);
    fake_time += base::limits::turn_ns_max;
    unsigned pieces = 1;
    while (!budget.is_spent() && pieces < 100) ++pieces;
    EXPECT_EQ(pieces, 16u);
    budget.begin(fake_time);
    EXPECT_FALSE(budget.is_spent());
    budget.note_time(fake_time + base::limits::turn_ns_max - 1);
    EXPECT_FALSE(budget.is_spent());
    budget.note_time(fake_time + base::limits::turn_ns_max);
    EXPECT_TRUE(budget.is_spent()) << "who has read the clock says so";
    budget.begin(fake_time);
    fake_time += base::limits::turn_ns_max;
    budget.read_clock();
    EXPECT_TRUE(budget.is_spent());
}

TEST(thread_checker, ends_the_process_on_a_foreign_thread) {
    if (!base::thread_checker::active) GTEST_SKIP() << "threads are not checked in this build";
    base::thread_checker checker;
    checker.check();
    EXPECT_DEATH(std::thread([&] { checker.check(); }).join(), "foreign thread");
}

TEST(drain_state, keeps_those_that_cannot_be_told_where_a_successor_answers) {
    drain_state drain;
    drain.start(drain_state::kind::with_notice);
    EXPECT_FALSE(drain.count_turn());
    EXPECT_TRUE(drain.count_turn());
    EXPECT_TRUE(drain.gives_notice());
    EXPECT_FALSE(drain.ends_idle());
    drain.start(drain_state::kind::idle_at_once);
    EXPECT_FALSE(drain.gives_notice()) << "once more two turns";
    EXPECT_FALSE(drain.count_turn());
    EXPECT_TRUE(drain.count_turn());
    EXPECT_TRUE(drain.ends_idle());
}

TEST(drain_state, ends_idle_connections_two_turns_after_the_order_or_the_last_accept) {
    drain_state drain;
    EXPECT_FALSE(drain.count_turn());
    drain.postpone();
    EXPECT_FALSE(drain.counting());
    drain.start();
    EXPECT_TRUE(drain.counting());
    EXPECT_FALSE(drain.count_turn());
    drain.postpone();
    EXPECT_FALSE(drain.count_turn());
    EXPECT_FALSE(drain.ends_idle());
    EXPECT_TRUE(drain.count_turn());
    EXPECT_TRUE(drain.ends_idle());
    EXPECT_FALSE(drain.count_turn()) << "once";
    drain.postpone();
    EXPECT_FALSE(drain.ends_idle()) << "one that came late is asked for its request";
    EXPECT_FALSE(drain.count_turn());
    EXPECT_TRUE(drain.count_turn());
}

}  // namespace
}  // namespace latchkey::server
