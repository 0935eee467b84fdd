#include <algorithm>
#include <thread>

#include "fake_node.hpp"
#include "postgres.hpp"
#include "proxy.hpp"

namespace latchkey::replicate {
namespace {

using replicate::protocol::append_result;

constexpr std::uint32_t lease_ms = 1500;

class lease_test : public engine_test {
  protected:
    // A node with a lease, at `position`.
    static void begin(fake_node& node, std::uint64_t position) {
        node.wait_for<replicate::protocol::ready>();
        node.send(replicate::protocol::tail{position});
        node.send(replicate::protocol::applied{position, true});
        node.send(replicate::protocol::begin_lease{});
        node.wait_for<replicate::protocol::lease>();
    }
    static void await_confirmation(fake_node& node, std::uint64_t position) {
        node.wait_for<replicate::protocol::confirmed>(
            [&](auto const& each) { return each.position == position; });
    }
    static node_options options(std::string name) {
        return {.name = std::move(name), .lease_ms = lease_ms};
    }
};

TEST_F(lease_test, a_lease_is_renewed_again_and_again) {
    fake_node maker(conninfo_), node(conninfo_, options("two"));
    maker.init();
    maker.append(1);
    begin(node, 1);
    auto previous = node.wait_for<replicate::protocol::lease>();
    EXPECT_EQ(previous.head, 1u);
    for (int i = 0; i < 4; ++i) {
        auto const next = node.wait_for<replicate::protocol::lease>();
        EXPECT_GT(next.start, previous.start);
        EXPECT_LT(next.start - previous.start, lease_ms / 2 * base::millisecond);
        previous = next;
    }
}

TEST_F(lease_test, rows_that_have_only_arrived_confirm_nothing) {
    fake_node maker(conninfo_), one(conninfo_, options("one"));
    maker.init();
    begin(one, 0);
    fake_node two(conninfo_, options("two"));
    begin(two, 0);
    EXPECT_EQ(one.append(1).result, append_result::won);
    two.send(replicate::protocol::tail{1});
    two.wait_for<replicate::protocol::lease>();
    one.send(replicate::protocol::watch{1});
    EXPECT_EQ(one.wait_for<replicate::protocol::confirmed>().position, 0u);
    two.send(replicate::protocol::applied{1, true});
    await_confirmation(one, 1);
}

// What a node has applied may be of a history that the engine has lost, and the log have another row
// there by now: that one is not confirmed by it.
TEST_F(lease_test, a_position_beyond_the_rows_that_were_seen_confirms_nothing) {
    fake_node maker(conninfo_), one(conninfo_, options("one"));
    maker.init();
    begin(one, 0);
    fake_node two(conninfo_, options("two"));
    begin(two, 0);
    EXPECT_EQ(one.append(1).result, append_result::won);
    one.send(replicate::protocol::applied{1, true});
    two.rows_until(1);
    two.send(replicate::protocol::applied{2, true});
    one.send(replicate::protocol::watch{1});
    await_confirmation(one, 1);
    two.wait_for<replicate::protocol::lease>();
    EXPECT_EQ(sql_session(conninfo_).value("SELECT position FROM latchkey_node WHERE name = 'two'"),
              "1");
    EXPECT_EQ(one.append(2).result, append_result::won);
    one.send(replicate::protocol::applied{2, true});
    one.send(replicate::protocol::watch{2});
    await_confirmation(one, 2);
}

TEST_F(lease_test, every_node_with_a_lease_confirms) {
    fake_node maker(conninfo_), one(conninfo_, options("one"));
    maker.init();
    begin(one, 0);
    fake_node two(conninfo_, options("two"));
    begin(two, 0);
    EXPECT_EQ(one.append(1).result, append_result::won);
    one.send(replicate::protocol::watch{1});
    auto const waiting = one.wait_for<replicate::protocol::confirmed>();
    EXPECT_EQ(waiting.position, 0u);
    EXPECT_GT(waiting.lease_end, 0);
    two.rows_until(1);
    two.send(replicate::protocol::applied{1, true});
    auto const start = base::read_mono();
    await_confirmation(one, 1);
    EXPECT_LT(base::read_mono() - start, 500 * base::millisecond);
}

// The lines of the nodes are on their way while a lease begins and a row is appended: they say
// nothing of that row.
TEST_F(lease_test, lines_that_were_read_before_the_watch_confirm_nothing) {
    proxy proxy(postgres::shared().port());
    fake_node maker(conninfo_), one(postgres::shared().over_tcp(conninfo_, proxy.port()),
                                    {.name = "one", .lease_ms = 30'000});
    maker.init();
    // Of its questions only that for the lines comes in this time: no tail, a long lease.
    one.wait_for<replicate::protocol::ready>();
    one.send(replicate::protocol::begin_lease{});
    one.wait_for<replicate::protocol::lease>();
    proxy.hold_answers();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    fake_node two(conninfo_, options("two"));
    begin(two, 0);
    EXPECT_EQ(maker.append(1).result, append_result::won);
    one.send(replicate::protocol::watch{1});
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    proxy.pass_answers();
    EXPECT_EQ(one.wait_for<replicate::protocol::confirmed>().position, 0u);
}

TEST_F(lease_test, a_node_that_is_alone_is_confirmed_at_once) {
    fake_node maker(conninfo_), one(conninfo_, options("one"));
    maker.init();
    begin(one, 0);
    EXPECT_EQ(one.append(1).result, append_result::won);
    one.send(replicate::protocol::watch{1});
    EXPECT_EQ(one.wait_for<replicate::protocol::confirmed>().position, 1u);
}

TEST_F(lease_test, a_dead_node_is_waited_for_until_its_lease_has_ended) {
    fake_node maker(conninfo_), one(conninfo_, options("one"));
    maker.init();
    begin(one, 0);
    auto const start = base::read_mono();
    {
        fake_node two(conninfo_, options("two"));
        begin(two, 0);
    }
    EXPECT_EQ(one.append(1).result, append_result::won);
    one.send(replicate::protocol::watch{1});
    EXPECT_EQ(one.wait_for<replicate::protocol::confirmed>().position, 0u);
    await_confirmation(one, 1);
    auto const elapsed = base::read_mono() - start;
    EXPECT_GE(elapsed, (lease_ms + 500) * base::millisecond);
    EXPECT_LT(elapsed, (lease_ms + 4000) * base::millisecond);
    EXPECT_EQ(one.append(2).result, append_result::won);
    one.send(replicate::protocol::watch{2});
    EXPECT_EQ(one.wait_for<replicate::protocol::confirmed>().position, 2u);
}

TEST_F(lease_test, a_helper_that_hangs_loses_its_lease_too) {
    fake_node maker(conninfo_), one(conninfo_, options("one")), two(conninfo_, options("two"));
    maker.init();
    begin(one, 0);
    begin(two, 0);
    two.stop_helper();
    EXPECT_EQ(one.append(1).result, append_result::won);
    one.send(replicate::protocol::watch{1});
    EXPECT_EQ(one.wait_for<replicate::protocol::confirmed>().position, 0u);
    await_confirmation(one, 1);
    two.continue_helper();
    EXPECT_EQ(two.rows_until(1).size(), 1u);
    one.wait_for<replicate::protocol::nodes>([](auto const& news) {
        return std::ranges::all_of(news.list, [](auto const& each) { return each.alive; });
    });
}

TEST_F(lease_test, a_node_that_leaves_is_waited_for_no_longer) {
    fake_node maker(conninfo_), one(conninfo_, options("one")), two(conninfo_, options("two"));
    maker.init();
    begin(one, 0);
    begin(two, 0);
    two.wait_for<replicate::protocol::completion>({}, two.send(replicate::protocol::leave{"two"}));
    EXPECT_EQ(one.append(1).result, append_result::won);
    auto const start = base::read_mono();
    one.send(replicate::protocol::watch{1});
    await_confirmation(one, 1);
    EXPECT_LT(base::read_mono() - start, base::second);
    // And comes back.
    two.send(replicate::protocol::begin_lease{});
    two.wait_for<replicate::protocol::lease>();
    EXPECT_EQ(
        sql_session(conninfo_).value("SELECT count(*) FROM latchkey_node WHERE left_at IS NULL"),
        "2");
}

TEST_F(lease_test, only_a_node_that_is_gone_can_be_made_to_leave) {
    fake_node maker(conninfo_);
    maker.init();
    auto const none = maker.wait_for<replicate::protocol::failed>(
        {}, maker.send(replicate::protocol::leave{"nobody"}));
    EXPECT_EQ(none.reason, replicate::protocol::failure::engine);
    {
        fake_node two(conninfo_, options("two"));
        begin(two, 0);
        auto const refusal = maker.wait_for<replicate::protocol::failed>(
            {}, maker.send(replicate::protocol::leave{"two"}));
        EXPECT_EQ(refusal.reason, replicate::protocol::failure::name_taken);
        EXPECT_FALSE(refusal.fatal);
    }
    maker.wait_for<replicate::protocol::completion>({},
                                                    maker.send(replicate::protocol::leave{"two"}));
    EXPECT_EQ(
        sql_session(conninfo_).value("SELECT count(*) FROM latchkey_node WHERE left_at IS NULL"),
        "0");
}

TEST_F(lease_test, a_name_belongs_to_one_running_node) {
    fake_node maker(conninfo_), two(conninfo_, options("two"));
    maker.init();
    begin(two, 0);
    auto other_options = options("two");
    other_options.instance = identity_from("another folder");
    fake_node other(conninfo_, other_options);
    other.wait_for<replicate::protocol::ready>();
    other.send(replicate::protocol::tail{0});
    other.send(replicate::protocol::begin_lease{});
    auto const refusal =
        other.wait_for<replicate::protocol::failed>([](auto const& each) { return each.fatal; });
    EXPECT_EQ(refusal.reason, replicate::protocol::failure::name_taken);
    two.wait_for<replicate::protocol::lease>();
}

TEST_F(lease_test, a_new_folder_takes_the_name_over_when_the_lease_of_the_old_one_has_ended) {
    fake_node maker(conninfo_);
    maker.init();
    auto const start = base::read_mono();
    {
        fake_node two(conninfo_, options("two"));
        begin(two, 0);
    }
    auto other_options = options("two");
    other_options.instance = identity_from("another folder");
    fake_node other(conninfo_, other_options);
    begin(other, 0);
    EXPECT_GE(base::read_mono() - start, lease_ms * base::millisecond);
}

TEST_F(lease_test, copies_of_one_folder_are_noticed) {
    fake_node maker(conninfo_), one(conninfo_, options("one"));
    maker.init();
    begin(one, 0);
    fake_node copy(conninfo_, options("one"));
    copy.wait_for<replicate::protocol::ready>();
    copy.send(replicate::protocol::begin_lease{});
    EXPECT_EQ(one.wait_for<replicate::protocol::failed>().reason,
              replicate::protocol::failure::name_taken);
}

TEST_F(lease_test, a_restarted_helper_goes_on_with_the_lease) {
    fake_node maker(conninfo_), one(conninfo_, options("one"));
    maker.init();
    begin(one, 0);
    one.restart_helper();
    begin(one, 0);
    one.wait_for<replicate::protocol::lease>();
    one.wait_for<replicate::protocol::lease>();
}

TEST_F(lease_test, the_status_shows_all_nodes) {
    fake_node maker(conninfo_), one(conninfo_, options("one"));
    maker.init();
    maker.append(1);
    begin(one, 1);
    one.send(replicate::protocol::applied{1, false});
    maker.wait_for<replicate::protocol::nodes>([](auto const& news) {
        return news.list.size() == 1 && news.list[0].position == 1 && news.list[0].alive;
    });
    sql_session sql(conninfo_);
    auto const folded = [&] { return std::stoull(sql.value("SELECT folded FROM latchkey_fold")); };
    auto const folded_before = folded();  // a node that lives folds the log some time
    auto const report = maker.wait_for<replicate::protocol::status_report>(
        {}, maker.send(replicate::protocol::status{}));
    EXPECT_TRUE(report.server.starts_with("PostgreSQL 1")) << report.server;
    EXPECT_EQ(report.cluster, test_cluster);
    EXPECT_EQ(report.head, 1u);
    EXPECT_GE(report.folded, folded_before);
    EXPECT_LE(report.folded, folded());
    EXPECT_FALSE(report.standby_synchronous);
    ASSERT_EQ(report.nodes.size(), 1u);
    EXPECT_EQ(report.nodes[0].name, "one");
    EXPECT_EQ(report.nodes[0].lease_ms, lease_ms);
    EXPECT_EQ(report.nodes[0].version, "1.2.3");
}

}  // namespace
}  // namespace latchkey::replicate
