#include <set>

#include "fake_node.hpp"
#include "postgres.hpp"

namespace latchkey::replicate {
namespace {

using replicate::protocol::append_result;

class append_test : public engine_test {
  protected:
    std::string count_rows(std::string const& condition = "true") {
        return sql_session(conninfo_).value(
            "SELECT count(*) FROM latchkey_log WHERE position > 0 AND " + condition);
    }
};

TEST_F(append_test, a_row_is_won_once) {
    fake_node node(conninfo_);
    node.init();
    EXPECT_EQ(node.append(1, "effects").result, append_result::won);
    EXPECT_EQ(node.append(2).result, append_result::won);
    EXPECT_EQ(node.append(2).result, append_result::lost);
    EXPECT_EQ(node.append(1).result, append_result::lost);
    EXPECT_EQ(count_rows(), "2");
    EXPECT_EQ(sql_session(conninfo_).value(
                  "SELECT convert_from(effects, 'UTF8') FROM latchkey_log WHERE position = 1"),
              "effects");
}

TEST_F(append_test, no_row_is_appended_after_a_gap) {
    fake_node node(conninfo_);
    node.init();
    EXPECT_EQ(node.append(3).result, append_result::lost);
    EXPECT_EQ(count_rows(), "0");
}

TEST_F(append_test, a_row_of_16_mib_is_won_and_comes_back_whole) {
    fake_node node(conninfo_), reader(conninfo_, {.name = "two"});
    node.init();
    std::string const effects(replicate::protocol::effects_bytes_max, '\xff');
    EXPECT_EQ(node.append(1, effects).result, append_result::won);
    reader.send(replicate::protocol::tail{0});
    auto const rows = reader.rows_until(1);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_TRUE(rows[0].effects == effects);
}

TEST_F(append_test, one_of_two_wins_each_row) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    two.wait_for<replicate::protocol::ready>();
    std::set<std::string> winners;
    for (std::uint64_t position = 1; position <= 200; ++position) {
        auto const first = one.send(replicate::protocol::append{one.make_row(position)});
        auto const second = two.send(replicate::protocol::append{two.make_row(position)});
        bool const one_won =
            one.wait_for<replicate::protocol::appended>({}, first).result == append_result::won;
        bool const two_won =
            two.wait_for<replicate::protocol::appended>({}, second).result == append_result::won;
        ASSERT_NE(one_won, two_won) << position;
        winners.insert(one_won ? "one" : "two");
    }
    EXPECT_EQ(count_rows(), "200");
}

TEST_F(append_test, what_is_known_of_a_row_can_be_asked_again) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    two.wait_for<replicate::protocol::ready>();
    EXPECT_EQ(one.append(1).result, append_result::won);
    EXPECT_EQ(one.resolve(one.make_row(1)).result, append_result::won);
    EXPECT_EQ(two.resolve(two.make_row(1)).result, append_result::lost);
    EXPECT_EQ(count_rows(), "1");
}

TEST_F(append_test, a_row_that_is_not_there_is_made_impossible) {
    fake_node node(conninfo_);
    node.init();
    EXPECT_EQ(node.resolve(node.make_row(1)).result, append_result::lost);
    EXPECT_EQ(node.append(1).result, append_result::lost);
    EXPECT_EQ(count_rows("position = 1 AND effects = ''"), "1");
    EXPECT_EQ(node.append(2).result, append_result::won);
}

TEST_F(append_test, a_reservation_keeps_others_waiting_until_its_append) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    two.wait_for<replicate::protocol::ready>();
    EXPECT_EQ(two.append(1).result, append_result::won);
    auto const reservation = one.send(replicate::protocol::reserve{0});
    EXPECT_EQ(one.rows_until(1).size(), 1u);
    auto const reserved = one.wait_for<replicate::protocol::reserved>({}, reservation);
    EXPECT_TRUE(reserved.granted);
    EXPECT_EQ(reserved.head, 1u);
    auto const other = two.send(replicate::protocol::append{two.make_row(2)});
    EXPECT_FALSE(two.hears<replicate::protocol::appended>(100 * base::millisecond));
    EXPECT_EQ(one.append(2).result, append_result::won);
    EXPECT_EQ(two.wait_for<replicate::protocol::appended>({}, other).result, append_result::lost);
}

TEST_F(append_test, a_reservation_ends_by_release_or_by_itself) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    two.wait_for<replicate::protocol::ready>();
    for (bool const released : {true, false}) {
        auto const position = released ? 1u : 2u;
        EXPECT_TRUE(one.wait_for<replicate::protocol::reserved>(
                           {}, one.send(replicate::protocol::reserve{position - 1}))
                        .granted);
        if (released) one.send(replicate::protocol::release{});
        EXPECT_EQ(two.append(position).result, append_result::won);
        if (released) one.send(replicate::protocol::tail{1});
    }
    EXPECT_EQ(one.append(2).result, append_result::lost);
    EXPECT_EQ(one.append(3).result, append_result::won);
}

TEST_F(append_test, a_reservation_of_a_helper_that_hangs_ends) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    two.wait_for<replicate::protocol::ready>();
    EXPECT_TRUE(
        one.wait_for<replicate::protocol::reserved>({}, one.send(replicate::protocol::reserve{0}))
            .granted);
    one.stop_helper();
    EXPECT_EQ(two.append(1).result, append_result::won);
    one.continue_helper();
    EXPECT_NE(one.append(1).result, append_result::won);
    EXPECT_EQ(one.resolve(one.make_row(1)).result, append_result::lost);
}

// More than a page of the log, and one row that no page holds.
TEST_F(append_test, a_reservation_brings_all_rows_that_are_missing) {
    fake_node node(conninfo_);
    node.init();
    sql_session(conninfo_).run(
        "INSERT INTO latchkey_log SELECT 0, i, 'x', decode(lpad(to_hex(i), 32, '0'), 'hex'), 1, 0, "
        "convert_to(repeat('x', CASE WHEN i = 70 THEN 300000 ELSE 100 END), 'UTF8') FROM "
        "generate_series(1, 150) AS i");
    auto const reservation = node.send(replicate::protocol::reserve{0});
    auto const rows = node.rows_until(150);
    ASSERT_EQ(rows.size(), 150u);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].position, i + 1);
        EXPECT_EQ(rows[i].effects.size(), i == 69 ? 300000u : 100u);
        EXPECT_EQ(rows[i].nonce.back(), static_cast<char>(i + 1));
    }
    auto const reserved = node.wait_for<replicate::protocol::reserved>({}, reservation);
    EXPECT_TRUE(reserved.granted);
    EXPECT_EQ(reserved.head, 150u);
    EXPECT_EQ(node.append(151).result, append_result::won);
}

TEST_F(append_test, a_reservation_far_behind_the_log_is_refused) {
    fake_node node(conninfo_);
    node.init();
    sql_session(conninfo_).run(
        "INSERT INTO latchkey_log SELECT 0, i, 'x', '', 1, 0, '' FROM "
        "generate_series(1, 1001) AS i");
    EXPECT_FALSE(
        node.wait_for<replicate::protocol::reserved>({}, node.send(replicate::protocol::reserve{0}))
            .granted);
    EXPECT_TRUE(node.wait_for<replicate::protocol::reserved>(
                        {}, node.send(replicate::protocol::reserve{1001}))
                    .granted);
    EXPECT_EQ(node.append(1002).result, append_result::won);
}

TEST_F(append_test, a_command_without_a_lease_has_no_line) {
    fake_node node(conninfo_);
    node.init();
    EXPECT_EQ(node.append(1).result, append_result::won);
    node.send(replicate::protocol::applied{1, true});
    EXPECT_EQ(node.close(), 0);
    EXPECT_EQ(sql_session(conninfo_).value("SELECT count(*) FROM latchkey_node"), "0");
}

}  // namespace
}  // namespace latchkey::replicate
