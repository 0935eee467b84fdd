#include <map>
#include <thread>

#include "effect_bytes.hpp"
#include "fake_node.hpp"
#include "postgres.hpp"

namespace latchkey::replicate {
namespace {

using replicate::protocol::append_result;
using state_map = std::map<std::pair<int, std::string>, std::string>;

class state_test : public engine_test {
  protected:
    struct reading {
        replicate::protocol::state_begin begin;
        state_map records;
    };

    static reading read(fake_node& node, bool fold) {
        reading result;
        auto const request = node.send(replicate::protocol::read_state{fold});
        result.begin = node.wait_for<replicate::protocol::state_begin>({}, request);
        std::vector<replicate::protocol::state_record> records;
        bool complete = false;
        while (!complete && !HasFailure()) {
            auto const parcel = node.next(request);
            if (auto const* end = std::get_if<replicate::protocol::state_end>(&parcel)) {
                complete = true;
                EXPECT_EQ(end->records, records.size());
            } else if (auto const* chunk = std::get_if<replicate::protocol::state_chunk>(&parcel)) {
                records.insert(records.end(), chunk->records.begin(), chunk->records.end());
            }
        }
        for (std::size_t i = 1; i < records.size(); ++i)
            EXPECT_LT(std::pair(records[i - 1].table, records[i - 1].key),
                      std::pair(records[i].table, records[i].key));
        for (auto& each : records) result.records[{each.table, each.key}] = std::move(each.value);
        return result;
    }
};

TEST_F(state_test, an_empty_cluster_has_an_empty_state) {
    fake_node node(conninfo_);
    node.init(5);
    auto const state = read(node, false);
    EXPECT_EQ(state.begin.position, 5u);
    EXPECT_EQ(state.begin.head, 5u);
    EXPECT_TRUE(state.records.empty());
}

TEST_F(state_test, a_state_that_was_taken_over_is_given_back) {
    fake_node node(conninfo_);
    std::vector<replicate::protocol::state_record> records;
    for (int i = 0; i < 3000; ++i) {
        std::string key;
        base::append(key, i);
        records.push_back({static_cast<std::uint8_t>(i % 3), key, std::string(i % 50, '\0')});
    }
    records.push_back({4, "large", std::string(2u << 20, 'x')});
    node.init(7, records);
    auto const state = read(node, false);
    EXPECT_EQ(state.begin.position, 7u);
    EXPECT_EQ(state.begin.schema, 1u);
    ASSERT_EQ(state.records.size(), records.size());
    for (auto const& each : records)
        EXPECT_EQ(state.records.at({each.table, each.key}), each.value);
}

TEST_F(state_test, an_interrupted_init_begins_again) {
    {
        fake_node first(conninfo_);
        first.wait_for<replicate::protocol::completion>(
            {}, first.send(replicate::protocol::init_begin{identity_from("first")}));
        first.wait_for<replicate::protocol::completion>(
            {}, first.send(replicate::protocol::state_chunk{{{1, "old", "value"}}}));
    }
    fake_node second(conninfo_);
    second.init(0, {{1, "new", "value"}});
    auto const state = read(second, false);
    EXPECT_EQ(state.records, (state_map{{{1, "new"}, "value"}}));
}

TEST_F(state_test, an_init_that_was_begun_again_elsewhere_takes_nothing_more) {
    fake_node first(conninfo_), second(conninfo_);
    first.wait_for<replicate::protocol::completion>(
        {}, first.send(replicate::protocol::init_begin{identity_from("first")}));
    second.wait_for<replicate::protocol::completion>(
        {}, second.send(replicate::protocol::init_begin{test_cluster}));
    auto const refusal = first.wait_for<replicate::protocol::failed>(
        {}, first.send(replicate::protocol::state_chunk{{{1, "old", "value"}}}));
    EXPECT_EQ(refusal.reason, replicate::protocol::failure::engine);
    second.wait_for<replicate::protocol::completion>(
        {}, second.send(replicate::protocol::init_end{0, 1}));
    second.wait_for<replicate::protocol::ready>();
    EXPECT_TRUE(read(second, false).records.empty());
}

TEST_F(state_test, rows_are_folded_into_the_state) {
    fake_node node(conninfo_);
    node.init(0, {{1, "a", "0"}, {1, "b", "0"}, {1, "r1", "0"}, {1, "r2", "0"}, {1, "r3", "0"}});
    node.append(1, put_effect(1, "a", "1") + erase_effect(1, "b") + put_effect(2, "c", "1"));
    node.append(2, put_effect(1, "r0", "2") + range_effect(1, "r", "s", 3) +
                       put_effect(1, "r1", "2") + append_effect(3, "d", "2"));
    node.append(3);
    auto const unfolded = read(node, false);
    EXPECT_EQ(unfolded.begin.position, 0u);
    EXPECT_EQ(unfolded.begin.head, 3u);
    EXPECT_EQ(unfolded.records.size(), 5u);
    auto const state = read(node, true);
    EXPECT_EQ(state.begin.position, 3u);
    EXPECT_EQ(state.records, (state_map{{{1, "a"}, "1"},
                                        {{1, "r1"}, "2"},
                                        {{1, "r3"}, "0"},
                                        {{2, "c"}, "1"},
                                        {{3, "d"}, "2"}}));
}

// The records beside those that a test erases. LATCHKEY_RECORDS=1000000 is a cluster that has run
// for weeks.
std::uint64_t record_count() {
    auto const* const text = std::getenv("LATCHKEY_RECORDS");
    return text != nullptr ? std::stoull(text) : 40'000;
}

// Counted, since time depends on the machine: the server's statistics of its index tell what was
// read of the state.
TEST_F(state_test, a_fold_reads_no_more_records_than_it_erases) {
    {
        fake_node maker(conninfo_);
        maker.init();
    }
    auto const count = record_count(), erased = count / 100;
    sql_session sql(conninfo_);
    auto const key = [](std::string const& number) {
        return "decode(lpad(to_hex(" + number + "), 8, '0'), 'hex')";
    };
    sql.run("INSERT INTO latchkey_record SELECT 2 + i % 2, " + key("i / 2") +
            ", convert_to(repeat('x', 100), 'UTF8') FROM generate_series(0, " +
            std::to_string(count - 1) + ") AS i");
    sql.run(
        "INSERT INTO latchkey_log SELECT 0, i, 'x', decode(repeat('00', 16), 'hex'), 1, 0, "
        "'\\x03'::bytea || decode(lpad(to_hex(2 + i % 2), 2, '0'), 'hex') || '\\x0004'::bytea || " +
        key("i * 7") + " FROM generate_series(1, " + std::to_string(erased) + ") AS i");
    sql.run("INSERT INTO latchkey_log SELECT 0, " + std::to_string(erased + 1) +
            ", 'x', decode(repeat('00', 16), 'hex'), 1, 0, '\\x04020004'::bytea || " +
            key(std::to_string(count / 3)) + " || '\\x0004'::bytea || " +
            key(std::to_string(count / 2)) + " || '\\x00000064'::bytea");
    auto const reads = [&] {
        return std::stoull(
            sql.value("SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE "
                      "relname = 'latchkey_record'"));
    };
    // One that starts now: it folds up to the head that it knows.
    fake_node node(conninfo_, {.name = "two"});
    node.wait_for<replicate::protocol::ready>();
    auto const start = reads();
    auto const state = read(node, true);
    EXPECT_EQ(state.begin.position, erased + 1);
    EXPECT_EQ(state.records.size(), count - erased - 100);
    // The session's numbers are complete when it has ended.
    EXPECT_EQ(node.close(), 0);
    auto const deadline = base::read_mono() + 20 * base::second;
    while (sql.value("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                     "AND pid <> pg_backend_pid()") != "0" &&
           base::read_mono() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    auto const records = state.records.size();
    EXPECT_GE(reads() - start, records);
    EXPECT_LE(reads() - start - records, 2 * (erased + 100) + 100);
}

// The bytes behind a statement that takes its time wait on this side: a connection whose buffers
// they would fill looks dead. The server sleeps for longer than its silence may last.
TEST_F(state_test, a_slow_statement_of_a_large_fold_is_waited_for) {
    fake_node maker(conninfo_);
    maker.init();
    sql_session sql(conninfo_);
    sql.run(
        "CREATE FUNCTION wait_once() RETURNS trigger AS $$ BEGIN PERFORM pg_sleep(3); RETURN NEW; "
        "END $$ LANGUAGE plpgsql");
    sql.run(
        "CREATE TRIGGER slow BEFORE INSERT ON latchkey_record FOR EACH ROW WHEN (NEW.key = "
        "'\\x00000001'::bytea) EXECUTE FUNCTION wait_once()");
    sql.run(
        "INSERT INTO latchkey_log SELECT 0, i, 'x', decode(repeat('00', 16), 'hex'), 1, 0, "
        "'\\x01010004'::bytea || decode(lpad(to_hex(i), 8, '0'), 'hex') || '\\x00001000'::bytea || "
        "convert_to(repeat('x', 4096), 'UTF8') FROM generate_series(1, 2500) AS i");
    auto& server = postgres::shared();
    fake_node node(server.over_tcp(conninfo_, server.port()) + " tcp_user_timeout=700",
                   {.name = "two"});
    node.wait_for<replicate::protocol::ready>();
    auto const state = read(node, true);
    EXPECT_EQ(state.begin.position, 2500u);
    EXPECT_EQ(state.records.size(), 2500u);
}

// The reason is that of the statement that failed, whatever becomes of the connection after it.
TEST_F(state_test, the_first_error_of_a_fold_is_told) {
    fake_node node(conninfo_);
    node.init();
    node.append(1, put_effect(1, "a", "1"));
    node.append(2, put_effect(1, "b", "1"));
    sql_session sql(conninfo_);
    sql.run(
        "CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN PERFORM pg_terminate_backend("
        "pg_backend_pid()); RETURN NEW; END $$ LANGUAGE plpgsql");
    sql.run(
        "CREATE TRIGGER refuse BEFORE INSERT ON latchkey_record FOR EACH ROW EXECUTE FUNCTION "
        "refuse()");
    auto const request = node.send(replicate::protocol::read_state{true});
    auto const complaint = node.wait_for<replicate::protocol::failed>();
    EXPECT_NE(complaint.text.find("could not be folded"), std::string::npos) << complaint.text;
    EXPECT_NE(complaint.text.find("terminating connection"), std::string::npos) << complaint.text;
    auto const refusal = node.wait_for<replicate::protocol::failed>({}, request);
    EXPECT_NE(refusal.text.find("terminating connection"), std::string::npos) << refusal.text;
}

TEST_F(state_test, two_that_fold_at_once_do_it_once) {
    fake_node one(conninfo_), two(conninfo_, {.name = "two"});
    one.init();
    two.wait_for<replicate::protocol::ready>();
    state_map expected;
    for (std::uint64_t position = 1; position <= 300; ++position) {
        auto const key = std::to_string(position % 37);
        one.append(position, put_effect(1, key, std::to_string(position)));
        expected[{1, key}] = std::to_string(position);
    }
    two.send(replicate::protocol::tail{300});
    one.send(replicate::protocol::read_state{true});
    auto const state = read(two, true);
    EXPECT_EQ(state.records, expected);
    EXPECT_EQ(state.begin.position, 300u);
}

TEST_F(state_test, effects_that_make_no_sense_stop_the_fold_and_are_told) {
    fake_node node(conninfo_);
    node.init();
    node.append(1, put_effect(1, "a", "1"));
    node.append(2, "?");
    auto const request = node.send(replicate::protocol::read_state{true});
    EXPECT_NE(node.wait_for<replicate::protocol::failed>().text.find("row 2"), std::string::npos);
    EXPECT_EQ(node.wait_for<replicate::protocol::state_begin>({}, request).position, 0u);
}

TEST_F(state_test, a_living_node_folds_and_removes_what_no_node_needs) {
    fake_node maker(conninfo_), node(conninfo_, {.name = "two", .lease_ms = 1500});
    maker.init();
    sql_session sql(conninfo_);
    sql.run(
        "INSERT INTO latchkey_log SELECT 0, i, 'x', decode(repeat('00', 16), 'hex'), 1, 0, "
        "'\\x0101000161000000016b'::bytea FROM generate_series(1, 15000) AS i");
    node.wait_for<replicate::protocol::ready>();
    node.send(replicate::protocol::tail{14'000});
    node.rows_until(15'000);
    node.send(replicate::protocol::applied{15'000, false});
    node.send(replicate::protocol::begin_lease{});
    auto const deadline = base::read_mono() + 20 * base::second;
    while (sql.value("SELECT min(position) FROM latchkey_log") != "5000" &&
           base::read_mono() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(sql.value("SELECT min(position) FROM latchkey_log"), "5000");
    EXPECT_EQ(sql.value("SELECT folded FROM latchkey_fold"), "15000");
    EXPECT_EQ(sql.value("SELECT count(*) FROM latchkey_record"), "1");
    EXPECT_EQ(node.append(15'001).result, append_result::won);
}

TEST_F(state_test, a_joining_node_keeps_the_rows_that_it_will_need) {
    fake_node maker(conninfo_), joining(conninfo_, {.name = "joining", .lease_ms = 1500});
    maker.init(0, {{1, "a", "0"}});
    joining.wait_for<replicate::protocol::ready>();
    EXPECT_EQ(read(joining, false).begin.position, 0u);
    sql_session sql(conninfo_);
    sql.run(
        "INSERT INTO latchkey_log SELECT 0, i, 'x', decode(repeat('00', 16), 'hex'), 1, 0, "
        "'\\x0101000161000000016b'::bytea FROM generate_series(1, 15000) AS i");
    fake_node node(conninfo_, {.name = "two", .lease_ms = 1500});
    node.wait_for<replicate::protocol::ready>();
    node.send(replicate::protocol::tail{15'000});
    node.send(replicate::protocol::begin_lease{});
    auto const deadline = base::read_mono() + 20 * base::second;
    while (sql.value("SELECT folded FROM latchkey_fold") != "15000" && base::read_mono() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_EQ(sql.value("SELECT min(position) FROM latchkey_log"), "0");
    EXPECT_EQ(sql.value("SELECT lease_ms FROM latchkey_node WHERE name = 'joining'"), "0");
    joining.send(replicate::protocol::tail{0});
    EXPECT_EQ(joining.rows_until(15'000).size(), 15'000u);
}

TEST_F(state_test, a_large_state_comes_in_chunks_and_does_not_hold_up_appends) {
    fake_node node(conninfo_);
    node.init();
    sql_session(conninfo_).run(
        "INSERT INTO latchkey_record SELECT 1 + i % 2, decode(lpad(to_hex(i), 8, '0'), "
        "'hex'), convert_to(repeat('x', 400), 'UTF8') FROM generate_series(1, 100000) AS i");
    auto const request = node.send(replicate::protocol::read_state{});
    auto const append = node.send(replicate::protocol::append{node.make_row(1)});
    node.wait_for<replicate::protocol::appended>({}, append);
    auto const end = node.wait_for<replicate::protocol::state_end>({}, request);
    EXPECT_EQ(end.records, 100'000u);
}

}  // namespace
}  // namespace latchkey::replicate
