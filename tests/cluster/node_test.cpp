#include "cluster/node.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "helpers/replicate/protocol/quota_grant.hpp"
#include "tests/cluster/fake_helper.hpp"

namespace latchkey::cluster {
namespace {

using base::millisecond;
using base::second;
using store::append_result;

node_options options_of_a_node() {
    return {
        .conninfo = "host=/nowhere", .name = "n1", .version = "1", .schema = 2, .lease_ms = 30'000};
}

// A node whose helper is there and has reached an engine.
class nodes : public testing::Test {
  protected:
    nodes() : node_(helper_.take_node_socket(), options_of_a_node()) {
        helper_.greet();
        helper_.be_ready(0);
        EXPECT_TRUE(node_.join(second).has_value());
        node_.follow(0, {});
        helper_.expect<replicate::protocol::tail>();
    }

    static replicate::protocol::log_row row_at(std::uint64_t position, char content = 'x') {
        return {.position = position, .schema = 2, .effects = std::string(3, content)};
    }
    // Runs a blocking call of the node beside the test, which plays the helper meanwhile.
    template <class Call>
    auto begin(Call call) {
        return std::async(std::launch::async, std::move(call));
    }
    // Until `holds`, for at most two seconds.
    bool eventually(auto holds) {
        for (int i = 0; i < 400; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(5)))
            if (holds()) return true;
        return holds();
    }

    fake_helper helper_;
    node node_;
};

TEST(joining_nodes, say_who_they_are) {
    fake_helper helper;
    auto options = options_of_a_node();
    options.instance = {'i'};
    options.key_check = {'k'};
    node node(helper.take_node_socket(), options);
    helper.say(replicate::protocol::hello{replicate::protocol::protocol_version, 77});
    auto const introduction = helper.expect<replicate::protocol::configure>();
    EXPECT_EQ(introduction.session, 77u);
    EXPECT_EQ(introduction.conninfo, "host=/nowhere");
    EXPECT_EQ(introduction.node, "n1");
    EXPECT_EQ(introduction.instance, options.instance);
    EXPECT_EQ(introduction.key_check, options.key_check);
    EXPECT_EQ(introduction.lease_ms, 30'000u);
}

TEST(joining_nodes, get_the_reason_why_they_may_not) {
    fake_helper helper;
    node node(helper.take_node_socket(), options_of_a_node());
    helper.greet();
    helper.say(replicate::protocol::failed{replicate::protocol::failure::other_key, true,
                                           "another master.key"});
    auto failure = replicate::protocol::failure::count_;
    auto const joined = node.join(second, &failure);
    ASSERT_FALSE(joined.has_value());
    EXPECT_EQ(joined.error().message, "another master.key");
    EXPECT_EQ(failure, replicate::protocol::failure::other_key);
}

TEST(joining_nodes, are_told_that_there_is_no_cluster_without_waiting) {
    fake_helper helper;
    node node(helper.take_node_socket(), options_of_a_node());
    helper.greet();
    helper.say(
        replicate::protocol::failed{replicate::protocol::failure::no_cluster, false, "none yet"});
    auto const start = base::read_mono();
    auto const joined = node.join(30 * second);
    ASSERT_FALSE(joined.has_value());
    EXPECT_EQ(joined.error().message, "none yet");
    EXPECT_LT(base::read_mono() - start, 10 * second);
}

TEST(joining_nodes, refuse_a_helper_of_another_version) {
    fake_helper helper;
    node node(helper.take_node_socket(), options_of_a_node());
    helper.say(replicate::protocol::hello{replicate::protocol::protocol_version + 1, 1});
    auto const joined = node.join(second);
    ASSERT_FALSE(joined.has_value());
    EXPECT_NE(joined.error().message.find("another version"), std::string::npos);
}

TEST_F(nodes, append_rows_and_get_the_verdict) {
    for (auto const& [answer, verdict] :
         {std::pair(replicate::protocol::append_result::won, append_result::won),
          std::pair(replicate::protocol::append_result::lost, append_result::lost),
          std::pair(replicate::protocol::append_result::unavailable, append_result::unavailable)}) {
        auto result = begin([&] { return node_.append({.position = 1, .effects = "e"}); });
        std::uint32_t request = 0;
        auto const question = helper_.expect<replicate::protocol::append>(&request);
        EXPECT_EQ(question.row.position, 1u);
        EXPECT_EQ(question.row.effects, "e");
        helper_.say(replicate::protocol::appended{answer, 1}, request);
        EXPECT_EQ(result.get(), verdict);
    }
}

TEST_F(nodes, do_not_know_what_became_of_a_row_when_the_helper_ends) {
    auto result = begin([&] { return node_.append({.position = 1}); });
    helper_.expect<replicate::protocol::append>();
    helper_.say(replicate::protocol::hello{replicate::protocol::protocol_version, 2});
    EXPECT_EQ(result.get(), append_result::unknown);
    helper_.expect<replicate::protocol::configure>();
    EXPECT_EQ(node_.append({.position = 1}), append_result::unavailable);  // no engine yet
    helper_.be_ready(1);
    EXPECT_EQ(helper_.expect<replicate::protocol::tail>().position, 0u);
    auto fate = begin([&] { return node_.resolve({.position = 1}); });
    std::uint32_t request = 0;
    helper_.expect<replicate::protocol::resolve>(&request);
    helper_.say(replicate::protocol::appended{replicate::protocol::append_result::won, 1}, request);
    EXPECT_EQ(fate.get(), append_result::won);
}

TEST_F(nodes, never_take_an_unknown_row_for_one_that_was_not_sent) {
    auto fate = begin([&] { return node_.resolve({.position = 1}); });
    std::uint32_t request = 0;
    helper_.expect<replicate::protocol::resolve>(&request);
    helper_.say(replicate::protocol::appended{replicate::protocol::append_result::unavailable, 1},
                request);
    EXPECT_EQ(fate.get(), append_result::unknown);
}

TEST_F(nodes, append_nothing_while_the_engine_is_away) {
    helper_.say(replicate::protocol::engine{false, "refused"});
    ASSERT_TRUE(eventually([&] { return !node_.report().connected; }));
    EXPECT_EQ(node_.append({.position = 1}), append_result::unavailable);
    EXPECT_EQ(node_.resolve({.position = 1}), append_result::unknown);
    EXPECT_FALSE(node_.fetch(0));
    EXPECT_EQ(node_.report().engine, "refused");
}

TEST_F(nodes, keep_rows_in_order_and_without_a_gap) {
    helper_.say(replicate::protocol::rows{{row_at(1), row_at(2)}});
    helper_.say(replicate::protocol::rows{{row_at(2), row_at(3)}});  // one of them again
    ASSERT_TRUE(eventually([&] { return node_.report().head == 3; }));
    helper_.say(replicate::protocol::rows{{row_at(5)}});
    EXPECT_EQ(helper_.expect<replicate::protocol::tail>().position, 3u);  // 4 is asked for
    auto const rows = node_.rows_after(0, 100);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].position, 1u);
    EXPECT_EQ(rows[2].position, 3u);
    EXPECT_EQ(node_.rows_after(0, 100).size(), 3u);  // until the store has applied them
    node_.applied(3, {}, false);
    EXPECT_TRUE(node_.rows_after(3, 100).empty());
}

TEST_F(nodes, give_out_as_many_rows_as_fit_and_one_at_least) {
    helper_.say(replicate::protocol::rows{{row_at(1), row_at(2), row_at(3)}});
    ASSERT_TRUE(eventually([&] { return node_.report().head == 3; }));
    EXPECT_EQ(node_.rows_after(0, 1).size(), 1u);
    EXPECT_EQ(node_.rows_after(1, 6).size(), 2u);
}

TEST_F(nodes, pass_over_rows_that_the_store_has) {
    helper_.say(replicate::protocol::rows{{row_at(1), row_at(2)}});
    ASSERT_TRUE(eventually([&] { return node_.report().head == 2; }));
    node_.applied(1, {}, false);
    auto const rows = node_.rows_after(1, 100);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].position, 2u);
}

// The engine has failed over to a server that had not got row 1, and another row has its place.
TEST_F(nodes, refuse_to_go_on_with_another_history) {
    node_.begin_lease();
    helper_.say(replicate::protocol::lease{read_boot(), 0});
    auto own = row_at(2), other = row_at(2);
    own.nonce = {'a'};
    other.nonce = {'b'};
    helper_.say(replicate::protocol::rows{{row_at(1), own}});
    ASSERT_TRUE(eventually([&] { return node_.report().head == 2; }));
    node_.applied(2, own.nonce, false);
    ASSERT_TRUE(node_.holds_lease(read_boot()));
    helper_.say(replicate::protocol::rows{{other, row_at(3)}});
    ASSERT_TRUE(eventually([&] { return !node_.report().failure.empty(); }));
    EXPECT_FALSE(node_.holds_lease(read_boot()));
    EXPECT_TRUE(node_.rows_after(2, 100).empty());
    EXPECT_EQ(node_.append({.position = 3}), append_result::unavailable);
    // A renewal that was under way changes nothing.
    helper_.say(replicate::protocol::lease{read_boot(), 2});
    helper_.say(replicate::protocol::nodes{{{.name = "n2"}}});
    ASSERT_TRUE(eventually([&] { return node_.report().nodes.size() == 1; }));
    EXPECT_FALSE(node_.holds_lease(read_boot()));
}

TEST_F(nodes, notice_that_their_own_row_is_none_of_the_log) {
    auto other = row_at(1);
    other.nonce = {'b'};
    helper_.say(replicate::protocol::rows{{other, row_at(2)}});
    ASSERT_TRUE(eventually([&] { return node_.report().head == 2; }));
    node_.applied(1, {'a'}, false);
    EXPECT_FALSE(node_.report().failure.empty());
    auto const question = helper_.expect<replicate::protocol::tail>();
    EXPECT_EQ(question.position, 1u);
    EXPECT_EQ(question.nonce, replicate::protocol::identity{'a'});
}

TEST_F(nodes, hold_no_lease_once_the_engine_has_lost_rows) {
    node_.begin_lease();
    helper_.say(replicate::protocol::lease{read_boot(), 0});
    ASSERT_TRUE(eventually([&] { return node_.holds_lease(read_boot()); }));
    helper_.say(replicate::protocol::failed{replicate::protocol::failure::rows_lost, true,
                                            "rows are lost"});
    EXPECT_TRUE(eventually([&] { return !node_.holds_lease(read_boot()); }));
}

TEST_F(nodes, name_the_row_that_they_have_to_a_new_helper) {
    node_.applied(4, {'d'}, false);
    helper_.greet(2);
    helper_.be_ready(4);
    auto const question = helper_.expect<replicate::protocol::tail>();
    EXPECT_EQ(question.position, 4u);
    EXPECT_EQ(question.nonce, replicate::protocol::identity{'d'});
}

// An earlier helper appended row 4, so the one that renews the lease does not know of it.
TEST_F(nodes, ask_for_the_log_when_a_lease_tells_a_head_behind_them) {
    node_.applied(4, {'d'}, false);
    helper_.expect<replicate::protocol::applied>();
    helper_.say(replicate::protocol::lease{.start = read_boot(), .head = 4});
    EXPECT_TRUE(helper_.is_silent());
    helper_.say(replicate::protocol::lease{.start = read_boot(), .head = 3});
    auto const question = helper_.expect<replicate::protocol::tail>();
    EXPECT_EQ(question.position, 4u);
    EXPECT_EQ(question.nonce, replicate::protocol::identity{'d'});
}

TEST_F(nodes, reserve_the_next_position_when_they_fetch_what_they_lost_to) {
    auto result = begin([&] { return node_.fetch(0); });
    std::uint32_t request = 0;
    EXPECT_EQ(helper_.expect<replicate::protocol::reserve>(&request).position, 0u);
    helper_.say(replicate::protocol::rows{{row_at(1)}}, request);
    helper_.say(replicate::protocol::reserved{true, 1}, request);
    EXPECT_TRUE(result.get());
    node_.release();
    helper_.expect<replicate::protocol::release>();
    node_.release();
    EXPECT_TRUE(helper_.is_silent());
}

TEST_F(nodes, give_up_a_position_that_is_reserved_too_late) {
    EXPECT_FALSE(node_.fetch(0));
    helper_.expect<replicate::protocol::reserve>();
    node_.release();
    helper_.expect<replicate::protocol::release>();
}

TEST_F(nodes, give_up_a_reserved_position_when_they_cannot_append) {
    auto result = begin([&] { return node_.fetch(0); });
    std::uint32_t request = 0;
    helper_.expect<replicate::protocol::reserve>(&request);
    helper_.say(replicate::protocol::reserved{true, 0}, request);
    EXPECT_FALSE(result.get());
    helper_.say(replicate::protocol::engine{false, "away"});
    ASSERT_TRUE(eventually([&] { return !node_.report().connected; }));
    EXPECT_EQ(node_.append({.position = 1}), store::append_result::unavailable);
    helper_.expect<replicate::protocol::release>();
}

TEST_F(nodes, wake_the_store_when_rows_come) {
    std::atomic<int> calls = 0;
    node_.on_arrival([&] { ++calls; });
    helper_.say(replicate::protocol::rows{{row_at(1)}});
    EXPECT_TRUE(eventually([&] { return calls > 0; }));
    node_.on_arrival({});
    auto const count = calls.load();
    helper_.say(replicate::protocol::rows{{row_at(2)}});
    ASSERT_TRUE(eventually([&] { return node_.report().head == 2; }));
    EXPECT_EQ(calls, count);
}

TEST_F(nodes, hold_no_lease_before_they_have_applied_its_head) {
    node_.begin_lease();
    helper_.expect<replicate::protocol::begin_lease>();
    auto const now = read_boot();
    helper_.say(replicate::protocol::lease{now, 2});
    helper_.say(replicate::protocol::rows{{row_at(1), row_at(2)}});
    ASSERT_TRUE(eventually([&] { return node_.report().head == 2; }));
    EXPECT_FALSE(node_.holds_lease(now));
    node_.applied(2, {}, false);
    EXPECT_TRUE(node_.holds_lease(now));
    EXPECT_TRUE(node_.holds_lease(now + 30 * second - 1));
    EXPECT_FALSE(node_.holds_lease(now + 30 * second));
}

TEST(joining_nodes, take_no_lease_before_they_have_caught_up) {
    fake_helper helper;
    node node(helper.take_node_socket(), options_of_a_node());
    helper.greet();
    helper.be_ready(5);
    ASSERT_TRUE(node.join(second).has_value());
    node.follow(3, {});
    helper.expect<replicate::protocol::tail>();
    node.begin_lease();
    EXPECT_TRUE(helper.is_silent());
    node.applied(5, {}, false);
    EXPECT_EQ(helper.expect<replicate::protocol::applied>().position, 5u);
    helper.expect<replicate::protocol::begin_lease>();
}

TEST_F(nodes, take_leases_again_from_a_new_helper) {
    node_.begin_lease();
    helper_.expect<replicate::protocol::begin_lease>();
    helper_.greet(2);
    helper_.be_ready(0);
    helper_.expect<replicate::protocol::tail>();
    helper_.expect<replicate::protocol::begin_lease>();
}

TEST_F(nodes, tell_at_once_that_a_key_has_changed) {
    node_.applied(1, {}, true);
    auto const report = helper_.expect<replicate::protocol::applied>();
    EXPECT_EQ(report.position, 1u);
    EXPECT_TRUE(report.urgent);
}

TEST_F(nodes, watch_the_others_after_they_turned_something_off) {
    auto result = begin([&] { return node_.append({.position = 1, .urgent = true}); });
    std::uint32_t request = 0;
    helper_.expect<replicate::protocol::append>(&request);
    helper_.say(replicate::protocol::appended{replicate::protocol::append_result::won, 1}, request);
    EXPECT_EQ(result.get(), append_result::won);
    EXPECT_EQ(helper_.expect<replicate::protocol::watch>().position, 1u);
    helper_.say(replicate::protocol::confirmed{1, 0});
    EXPECT_EQ(node_.confirmed(), 0u);  // not while this store itself is not there
    node_.applied(1, {}, true);
    EXPECT_TRUE(eventually([&] { return node_.confirmed() == 1; }));
}

TEST_F(nodes, watch_the_others_where_what_they_know_matters) {
    node_.watch(3);
    EXPECT_EQ(helper_.expect<replicate::protocol::watch>().position, 3u);
    node_.watch(2);  // under way already
    node_.watch(4);
    EXPECT_EQ(helper_.expect<replicate::protocol::watch>().position, 4u);
}

TEST_F(nodes, know_until_when_a_silent_one_may_hold_a_lease) {
    auto const end = read_boot() + 12 * second;
    helper_.say(replicate::protocol::confirmed{0, end});
    helper_.say(replicate::protocol::nodes{{{.name = "n2"}}});
    ASSERT_TRUE(eventually([&] { return node_.report().nodes.size() == 1; }));
    auto const rest = node_.last_lease_end() - base::read_clocks().clock;
    EXPECT_GT(rest, 10'000);
    EXPECT_LE(rest, 12'001);
}

TEST_F(nodes, assume_a_whole_lease_where_only_an_earlier_position_was_watched) {
    auto result = begin([&] { return node_.append({.position = 2, .urgent = true}); });
    std::uint32_t request = 0;
    helper_.expect<replicate::protocol::append>(&request);
    helper_.say(replicate::protocol::appended{replicate::protocol::append_result::won, 2}, request);
    EXPECT_EQ(result.get(), append_result::won);
    helper_.say(replicate::protocol::confirmed{0, read_boot() + 12 * second, 1});
    helper_.say(replicate::protocol::nodes{{{.name = "n2"}}});
    ASSERT_TRUE(eventually([&] { return node_.report().nodes.size() == 1; }));
    EXPECT_GT(node_.last_lease_end() - base::read_clocks().clock, 30'000);
}

TEST_F(nodes, assume_a_whole_lease_where_nothing_is_known_of_the_others) {
    auto const rest = node_.last_lease_end() - base::read_clocks().clock;
    EXPECT_GT(rest, 30'000);
    EXPECT_LE(rest, 31'001);
}

TEST_F(nodes, have_no_lease_once_they_have_left) {
    node_.begin_lease();
    helper_.say(replicate::protocol::lease{read_boot(), 0});
    ASSERT_TRUE(eventually([&] { return node_.holds_lease(read_boot()); }));
    auto departure = begin([&] { node_.leave(2 * second); });
    std::uint32_t request = 0;
    EXPECT_EQ(helper_.expect<replicate::protocol::leave>(&request).node, "n1");
    EXPECT_FALSE(node_.holds_lease(read_boot()));
    helper_.say(replicate::protocol::completion{}, request);
    departure.get();
}

TEST_F(nodes, say_so_when_the_helper_is_gone_for_good) {
    helper_.hang_up();
    ASSERT_TRUE(eventually([&] { return !node_.report().failure.empty(); }));
    EXPECT_EQ(node_.append({.position = 1}), append_result::unavailable);
}

TEST_F(nodes, read_the_state_of_the_cluster_in_parts) {
    std::vector<std::string> keys;
    auto result = begin([&] {
        return node_.read_state(false, second, [&](auto&& records) -> base::result<void> {
            for (auto const& each : records) keys.push_back(each.key);
            return {};
        });
    });
    std::uint32_t request = 0;
    helper_.expect<replicate::protocol::read_state>(&request);
    helper_.say(replicate::protocol::state_begin{.position = 9, .head = 9, .schema = 2}, request);
    helper_.say(replicate::protocol::state_chunk{{{0, "a", "1"}, {0, "b", "2"}}}, request);
    helper_.say(replicate::protocol::state_chunk{{{1, "c", "3"}}}, request);
    helper_.say(replicate::protocol::state_end{3}, request);
    auto const begin_of_state = result.get();
    ASSERT_TRUE(begin_of_state.has_value());
    EXPECT_EQ(begin_of_state->position, 9u);
    EXPECT_EQ(keys, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(nodes, refuse_a_state_that_lacks_records) {
    auto result = begin([&] {
        return node_.read_state(false, second, [](auto&&) { return base::result<void>(); });
    });
    std::uint32_t request = 0;
    helper_.expect<replicate::protocol::read_state>(&request);
    helper_.say(replicate::protocol::state_begin{.position = 9}, request);
    helper_.say(replicate::protocol::state_chunk{{{0, "a", "1"}}}, request);
    helper_.say(replicate::protocol::state_end{2}, request);
    auto const outcome = result.get();
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().message, "the engine sent 1 of 2 records");
}

class nodes_with_limits : public nodes {
  protected:
    nodes_with_limits() {
        EXPECT_TRUE(node_.share_limits(7).has_value());
        node_.on_tokens([this] { ++news_; });
        node_.begin_lease();
    }
    ~nodes_with_limits() override { node_.on_tokens({}); }  // its thread ends with the base
    // The next question, and the answer of an engine in memory.
    replicate::protocol::quota_ask ask(std::uint32_t* request) {
        return helper_.expect<replicate::protocol::quota_ask>(request);
    }
    replicate::protocol::quota_ask serve() {
        std::uint32_t request = 0;
        auto const question = ask(&request);
        helper_.say(replicate::protocol::grant(rows_, question, "n1", [](auto&) { return true; }),
                    request);
        return question;
    }
    quota_state charge(quota_ticket& ticket) {
        return node_.quota()->admit(5, policy_, read_boot(), 1, ticket).state;
    }

    std::atomic<int> news_{0};
    replicate::protocol::quota_rows rows_;
    limit::policy const policy_ = limit::prepare(
        std::array<model::rate_limit, 1>{{{"a", 600, 60, 0}}}, std::array<std::uint8_t, 1>{0});
};

TEST_F(nodes_with_limits, ask_for_the_tokens_that_a_worker_needs) {
    auto const first = serve();
    EXPECT_EQ(first.process, 7u);
    EXPECT_EQ(first.presence, 0u);
    EXPECT_EQ(serve().presence, 1u);
    quota_ticket ticket;
    EXPECT_EQ(charge(ticket), quota_state::pending);
    auto question = serve();
    while (question.wants.empty()) question = serve();  // one that was under way
    EXPECT_EQ(question.wants.at(0).key, 5);
    int const news = news_;
    EXPECT_TRUE(eventually([&] { return charge(ticket) == quota_state::decided; }));
    EXPECT_GE(news_, news);
    EXPECT_GE(news_, 3);
    EXPECT_GE(node_.report().tokens.granted, 1u);
}

TEST_F(nodes_with_limits, count_questions_that_the_engine_or_the_helper_lost) {
    std::uint32_t request = 0;
    ask(&request);
    helper_.say(replicate::protocol::failed{replicate::protocol::failure::engine, false, "away"},
                request);
    EXPECT_TRUE(eventually([&] { return node_.report().tokens.losses == 1; }));
    EXPECT_EQ(news_, 1);
    EXPECT_EQ(ask(&request).presence, 0u) << "it tries again";
    helper_.greet(2);
    EXPECT_TRUE(eventually([&] { return news_ == 2; }));
    EXPECT_EQ(node_.report().tokens.losses, 2u);
    EXPECT_TRUE(helper_.is_silent()) << "until that helper is ready";
    helper_.be_ready(0);
    serve();
}

TEST_F(nodes_with_limits, ask_no_more_once_they_have_left) {
    serve();
    serve();
    node_.on_tokens({});
    int const news = news_;
    auto left = begin([&] { node_.leave(second); });
    std::uint32_t request = 0;
    helper_.expect<replicate::protocol::leave>(&request);
    helper_.say(replicate::protocol::completion{}, request);
    left.get();
    EXPECT_TRUE(helper_.is_silent());
    EXPECT_EQ(news_, news);
}

}  // namespace
}  // namespace latchkey::cluster
