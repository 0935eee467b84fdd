#include "fake_node.hpp"
#include "postgres.hpp"

namespace latchkey::replicate {
namespace {

using replicate::protocol::append_result;

class tail_test : public engine_test {};

TEST_F(tail_test, rows_of_others_come_in_their_order) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    two.wait_for<replicate::protocol::ready>();
    two.send(replicate::protocol::tail{0});
    for (std::uint64_t position = 1; position <= 100; ++position) {
        auto row = one.make_row(position, "effects " + std::to_string(position));
        row.urgent = position % 2 == 0;
        ASSERT_EQ(one.append(row).result, append_result::won);
    }
    auto const rows = two.rows_until(100);
    ASSERT_EQ(rows.size(), 100u);
    for (std::uint64_t position = 1; position <= 100; ++position) {
        auto expected = one.make_row(position, "effects " + std::to_string(position));
        expected.urgent = position % 2 == 0;
        EXPECT_TRUE(rows[position - 1] == expected) << position;
    }
}

TEST_F(tail_test, a_tail_begins_where_it_is_told_to) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init(7);
    for (std::uint64_t position = 8; position <= 20; ++position) one.append(position);
    two.wait_for<replicate::protocol::ready>();
    two.send(replicate::protocol::tail{15});
    EXPECT_EQ(two.rows_until(20).front().position, 16u);
    two.send(replicate::protocol::tail{18});
    EXPECT_EQ(two.rows_until(20).front().position, 19u);
}

TEST_F(tail_test, what_a_node_appended_does_not_come_back_to_it) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    two.wait_for<replicate::protocol::ready>();
    one.send(replicate::protocol::tail{0});
    EXPECT_EQ(one.append(1).result, append_result::won);
    EXPECT_EQ(one.append(2).result, append_result::won);
    EXPECT_EQ(two.append(3).result, append_result::won);
    auto const rows = one.rows_until(3);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].nonce, two.make_row(3).nonce);
}

TEST_F(tail_test, the_row_that_won_comes_to_the_one_that_lost) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    two.wait_for<replicate::protocol::ready>();
    two.send(replicate::protocol::tail{0});
    EXPECT_EQ(one.append(1, "first").result, append_result::won);
    EXPECT_EQ(two.append(1, "second").result, append_result::lost);
    EXPECT_EQ(two.rows_until(1)[0].effects, "first");
    EXPECT_EQ(two.append(2).result, append_result::won);
}

TEST_F(tail_test, rows_of_all_sizes_come_whole) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    std::vector<std::size_t> const sizes{0,        1,        262'144, 262'145,   5,
                                         3u << 20, 9u << 20, 262'144, 12u << 20, 7};
    std::uint64_t position = 0;
    for (auto const size : sizes)
        ASSERT_EQ(one.append(++position, std::string(size, 'e')).result, append_result::won);
    two.wait_for<replicate::protocol::ready>();
    two.send(replicate::protocol::tail{0});
    auto const rows = two.rows_until(position);
    ASSERT_EQ(rows.size(), sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_EQ(rows[i].position, i + 1);
        EXPECT_EQ(rows[i].effects.size(), sizes[i]);
    }
}

TEST_F(tail_test, a_node_beyond_the_log_is_told_that_rows_are_lost) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    one.append(1);
    two.wait_for<replicate::protocol::ready>();
    two.send(replicate::protocol::tail{2});
    auto const failure = two.wait_for<replicate::protocol::failed>();
    EXPECT_EQ(failure.reason, replicate::protocol::failure::rows_lost);
    EXPECT_TRUE(failure.fatal);
}

TEST_F(tail_test, a_node_behind_the_log_is_told_that_its_rows_are_gone) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    for (std::uint64_t position = 1; position <= 10; ++position) one.append(position);
    sql_session(conninfo_).run("DELETE FROM latchkey_log WHERE position < 6");
    two.wait_for<replicate::protocol::ready>();
    two.send(replicate::protocol::tail{6});
    EXPECT_EQ(two.rows_until(10).size(), 4u);
    fake_node three(conninfo_, {.name = "three"});
    EXPECT_EQ(three.wait_for<replicate::protocol::ready>().first, 6u);
    three.send(replicate::protocol::tail{5});
    auto const failure = three.wait_for<replicate::protocol::failed>();
    EXPECT_EQ(failure.reason, replicate::protocol::failure::rows_gone);
    EXPECT_TRUE(failure.fatal);
}

// An engine that failed over to a server without the last rows, and took others since: a node that
// asks for the rows after them notices at once, one that does not at its next connection.
TEST_F(tail_test, rows_that_became_others_are_noticed) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    two.wait_for<replicate::protocol::ready>();
    two.send(replicate::protocol::tail{0});
    one.append(1);
    one.append(2);
    two.rows_until(2);
    sql_session sql(conninfo_);
    sql.run("UPDATE latchkey_log SET nonce = 'another' WHERE position = 2");
    EXPECT_EQ(two.wait_for<replicate::protocol::failed>().reason,
              replicate::protocol::failure::rows_lost);
    sql.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
        "current_database() AND pid <> pg_backend_pid()");
    EXPECT_EQ(one.wait_for<replicate::protocol::failed>().reason,
              replicate::protocol::failure::rows_lost);
}

TEST_F(tail_test, a_last_row_that_goes_away_is_noticed_by_who_asks_for_the_next) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    two.wait_for<replicate::protocol::ready>();
    two.send(replicate::protocol::tail{0});
    one.append(1);
    two.rows_until(1);
    sql_session(conninfo_).run("DELETE FROM latchkey_log WHERE position = 1");
    EXPECT_EQ(two.wait_for<replicate::protocol::failed>().reason,
              replicate::protocol::failure::rows_lost);
}

// A primary that stood still is another's predecessor: for a moment it answers as if it were not.
TEST_F(tail_test, a_server_that_lacks_rows_may_be_followed_by_one_that_has_them) {
    fake_node one(conninfo_, {.lease_ms = 30'000});
    one.init();
    one.append(1);
    one.append(2);
    sql_session sql(conninfo_);
    sql.run("CREATE TABLE kept AS SELECT * FROM latchkey_log WHERE position > 1");
    sql.run("DELETE FROM latchkey_log WHERE position > 1");
    sql.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
        "current_database() AND pid <> pg_backend_pid()");
    one.wait_for<replicate::protocol::engine>(
        [](auto const& news) { return news.text.find("lacks rows") != std::string::npos; });
    EXPECT_FALSE(one.hears<replicate::protocol::failed>(base::second));
    sql.run("INSERT INTO latchkey_log SELECT * FROM kept");
    one.wait_for<replicate::protocol::ready>();
    EXPECT_EQ(one.append(3).result, append_result::won);
}

TEST_F(tail_test, a_node_stops_when_rows_are_still_lost_at_the_end_of_its_lease) {
    fake_node one(conninfo_, {.lease_ms = 1000});
    one.init();
    one.append(1);
    sql_session sql(conninfo_);
    sql.run("DELETE FROM latchkey_log WHERE position = 1");
    sql.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
        "current_database() AND pid <> pg_backend_pid()");
    auto const failure = one.wait_for<replicate::protocol::failed>();
    EXPECT_EQ(failure.reason, replicate::protocol::failure::rows_lost);
    EXPECT_TRUE(failure.fatal);
}

// The same for a node that was started again, whose store knows the nonce of its last row.
TEST_F(tail_test, a_row_that_became_another_one_is_noticed_by_its_nonce) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    one.append(1);
    two.wait_for<replicate::protocol::ready>();
    two.send(replicate::protocol::tail{1, one.make_row(1).nonce});
    one.append(2);
    EXPECT_EQ(two.rows_until(2).size(), 1u);
    two.send(replicate::protocol::tail{1, identity_from("another")});
    two.send(replicate::protocol::applied{1, true});
    two.send(replicate::protocol::begin_lease{});
    EXPECT_EQ(two.wait_for<replicate::protocol::failed>().reason,
              replicate::protocol::failure::rows_lost);
    EXPECT_FALSE(two.hears<replicate::protocol::lease>(base::second / 2));
}

TEST_F(tail_test, nothing_is_appended_to_another_history) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    one.append(1);
    two.wait_for<replicate::protocol::ready>();
    auto const append = [&](replicate::protocol::identity const& previous) {
        auto row = two.make_row(2);
        row.previous = previous;
        return two.wait_for<replicate::protocol::appended>(
            {}, two.send(replicate::protocol::append{row}));
    };
    EXPECT_EQ(append(identity_from("another")).result, append_result::lost);
    EXPECT_EQ(append(one.make_row(1).nonce).result, append_result::won);
    auto const request = two.send(replicate::protocol::reserve{2, identity_from("another")});
    EXPECT_FALSE(two.wait_for<replicate::protocol::reserved>({}, request).granted);
}

TEST_F(tail_test, a_new_helper_goes_on_with_the_node) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    one.append(1);
    two.wait_for<replicate::protocol::ready>();
    two.send(replicate::protocol::tail{0});
    two.rows_until(1);
    two.restart_helper();
    two.wait_for<replicate::protocol::ready>();
    two.send(replicate::protocol::tail{1});
    one.append(2);
    EXPECT_EQ(two.rows_until(2).size(), 1u);
    EXPECT_EQ(two.append(3).result, append_result::won);
}

}  // namespace
}  // namespace latchkey::replicate
