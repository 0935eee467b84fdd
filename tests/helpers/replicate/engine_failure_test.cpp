#include <thread>

#include "fake_node.hpp"
#include "postgres.hpp"
#include "proxy.hpp"

namespace latchkey::replicate {
namespace {

using replicate::protocol::append_result;

class engine_failure_test : public engine_test {
  protected:
    void SetUp() override {
        engine_test::SetUp();
        if (IsSkipped()) return;
        proxy_ = std::make_unique<proxy>(postgres::shared().port());
        through_proxy_ = postgres::shared().over_tcp(conninfo_, proxy_->port());
    }
    static void await_engine(fake_node& node, bool connected) {
        node.wait_for<replicate::protocol::engine>(
            [&](auto const& news) { return news.connected == connected; });
    }
    // Of a row of unknown outcome, asked until the engine can tell.
    static append_result settle(fake_node& node, replicate::protocol::log_row const& row) {
        for (int tries = 0; tries < 100; ++tries) {
            auto const result = node.resolve(row).result;
            if (result != append_result::unknown) return result;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        return append_result::unknown;
    }
    // What the node is told of a row, at once or in the end, is what the engine has.
    void expect_truth(fake_node& node, replicate::protocol::log_row const& row,
                      append_result result) {
        if (result != append_result::won) result = settle(node, row);
        ASSERT_NE(result, append_result::unknown);
        bool const there = nonces_of(row.position).starts_with("\\x6f6e65");  // "one"
        EXPECT_EQ(result == append_result::won, there);
    }
    std::string nonces_of(std::uint64_t position) {
        return sql_session(conninfo_).value("SELECT nonce FROM latchkey_log WHERE position = " +
                                            std::to_string(position));
    }

    std::unique_ptr<proxy> proxy_;
    std::string through_proxy_;
};

TEST_F(engine_failure_test, an_append_whose_answer_is_lost_was_done) {
    fake_node node(through_proxy_);
    node.init();
    proxy_->drop_answers();
    auto const row = node.make_row(1, "effects");
    auto const request = node.send(replicate::protocol::append{row});
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    proxy_->cut();
    EXPECT_EQ(node.wait_for<replicate::protocol::appended>({}, request).result,
              append_result::unknown);
    EXPECT_EQ(settle(node, row), append_result::won);
    EXPECT_EQ(node.append(2).result, append_result::won);
}

TEST_F(engine_failure_test, an_append_that_did_not_arrive_is_lost_for_good) {
    fake_node node(through_proxy_);
    node.init();
    proxy_->hold();
    auto const row = node.make_row(1, "effects");
    auto const request = node.send(replicate::protocol::append{row});
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    proxy_->cut();
    EXPECT_EQ(node.wait_for<replicate::protocol::appended>({}, request).result,
              append_result::unknown);
    EXPECT_EQ(settle(node, row), append_result::lost);
    EXPECT_EQ(node.append(1).result, append_result::lost);
    EXPECT_EQ(node.append(2).result, append_result::won);
}

TEST_F(engine_failure_test, an_append_that_waits_while_its_backend_ends_is_unknown) {
    fake_node node(through_proxy_);
    node.init();
    sql_session holder(conninfo_), other(conninfo_);
    holder.run("BEGIN");
    holder.run("SELECT id FROM latchkey_cluster WHERE id = 1 FOR UPDATE");
    auto const row = node.make_row(1, "effects");
    auto const request = node.send(replicate::protocol::append{row});
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    other.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = "
        "'Lock' AND datname = current_database()");
    EXPECT_EQ(node.wait_for<replicate::protocol::appended>({}, request).result,
              append_result::unknown);
    holder.run("COMMIT");
    EXPECT_EQ(settle(node, row), append_result::lost);
}

// The statement of the first connection is still on its way when the second one asks: it must not
// come into effect later.
TEST_F(engine_failure_test, an_append_that_arrives_after_its_resolution_has_no_effect) {
    fake_node node(conninfo_);
    node.init();
    sql_session late(conninfo_);
    auto const row = node.make_row(1, "effects");
    EXPECT_EQ(node.resolve(row).result, append_result::lost);
    late.run("INSERT INTO latchkey_log SELECT 0, 1, 'one', 'x', 1, 0, '' ON CONFLICT DO NOTHING");
    EXPECT_EQ(nonces_of(1), "\\x90919adfceffffffffffffffffffffff") << "that of the row, inverted";
}

TEST_F(engine_failure_test, an_append_that_waits_too_long_is_not_done) {
    fake_node node(conninfo_);
    node.init();
    sql_session holder(conninfo_);
    holder.run("BEGIN");
    holder.run("SELECT id FROM latchkey_cluster WHERE id = 1 FOR UPDATE");
    EXPECT_EQ(node.append(1).result, append_result::unavailable);
    holder.run("COMMIT");
    EXPECT_EQ(nonces_of(1), "");
    EXPECT_EQ(node.append(1).result, append_result::won);
}

TEST_F(engine_failure_test, backends_that_are_ended_are_replaced) {
    fake_node node(conninfo_);
    node.init();
    for (std::uint64_t position = 1; position <= 5; ++position) {
        sql_session(conninfo_).run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
            "current_database() AND pid <> pg_backend_pid()");
        auto const row = node.make_row(position);
        expect_truth(node, row, node.append(row).result);
    }
}

TEST_F(engine_failure_test, the_engine_away_is_told_and_noticed_when_it_is_back) {
    fake_node node(through_proxy_);
    node.init();
    proxy_->refuse();
    proxy_->cut();
    await_engine(node, false);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // until both have noticed
    EXPECT_EQ(node.append(1).result, append_result::unavailable);
    EXPECT_EQ(node.resolve(node.make_row(1)).result, append_result::unknown);
    EXPECT_FALSE(
        node.wait_for<replicate::protocol::reserved>({}, node.send(replicate::protocol::reserve{0}))
            .granted);
    proxy_->admit();
    node.wait_for<replicate::protocol::ready>();
    EXPECT_EQ(node.append(1).result, append_result::won);
}

TEST_F(engine_failure_test, a_server_that_hangs_is_noticed_within_seconds) {
    fake_node node(through_proxy_);
    node.init();
    proxy_->hold();
    auto const start = base::read_mono();
    auto const row = node.make_row(1);
    EXPECT_EQ(node.append(row).result, append_result::unknown);
    EXPECT_LT(base::read_mono() - start, 7 * base::second);
    proxy_->cut();
    EXPECT_EQ(settle(node, row), append_result::lost);
}

TEST_F(engine_failure_test, the_next_host_is_tried_when_one_does_not_answer) {
    proxy dead(postgres::shared().port());
    dead.refuse();
    auto both = through_proxy_;
    both.replace(both.find("host=127.0.0.1"), 14, "host=127.0.0.1,127.0.0.1");
    both.replace(both.find("port="), 5, "port=" + std::to_string(dead.port()) + ",");
    fake_node node(both);
    node.init();
    EXPECT_EQ(node.append(1).result, append_result::won);
}

TEST_F(engine_failure_test, a_server_that_only_reads_is_not_taken) {
    sql_session(conninfo_).run("ALTER DATABASE " + conninfo_.substr(conninfo_.find("dbname=") + 7) +
                               " SET default_transaction_read_only = on");
    fake_node node(conninfo_);
    auto const news = node.wait_for<replicate::protocol::engine>();
    EXPECT_FALSE(news.connected);
    EXPECT_NE(news.text.find("read-only"), std::string::npos) << news.text;
}

// The server is stopped as by a signal that gives it no time, and frozen before.
TEST_F(engine_failure_test, a_crash_of_the_server_loses_and_doubles_nothing) {
    fake_node node(conninfo_);
    node.init();
    std::uint64_t position = 0;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 50; ++i) {
            auto result = append_result::unavailable;  // as long as it is not reached again
            ++position;
            while (result == append_result::unavailable) result = node.append(position).result;
            ASSERT_EQ(result, append_result::won);
        }
        postgres::shared().freeze();
        auto const row = node.make_row(++position);
        auto const request = node.send(replicate::protocol::append{row});
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        postgres::shared().stop_at_once();
        postgres::shared().start();
        expect_truth(node, row, node.wait_for<replicate::protocol::appended>({}, request).result);
    }
    EXPECT_EQ(sql_session(conninfo_).value("SELECT count(*) FROM latchkey_log"),
              std::to_string(position + 1));
}

}  // namespace
}  // namespace latchkey::replicate
