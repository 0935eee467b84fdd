// Nodes that share a log: who wins, what is decided again, and what stays equal.
#include "domain/writer/replication.hpp"

#include "cluster_fixture.hpp"
#include "domain/admin/bulk_load.hpp"
#include "domain/writer/confirmation.hpp"
#include "domain/writer/group.hpp"
#include "store/checksum.hpp"
#include "store/layout.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

class replication : public cluster_test {
  protected:
    outcome create(node& node, std::string const& name) {
        return one(*node.store, new_user(name, name + "@example.org"));
    }
    // The first node appends before the second one does, which does not hear of it.
    void lose_to_the_first(std::string const& name) {
        second().log.arrives = false;
        second().log.before_append = [this, name] {
            create(first(), name);
            second().log.before_append = nullptr;  // the end of `name`
        };
    }
};

TEST_F(replication, rows_of_one_node_make_the_same_store_of_another) {
    auto const user = create(first(), "ann");
    EXPECT_EQ(get_user(user).id, 1);
    EXPECT_EQ(user.position, 1u);
    EXPECT_EQ(first().store->node()->position, 1u);
    EXPECT_EQ(second().store->node()->position, 0u);
    expect_equal();
    snapshot shown(*second().store);
    shown.renew();
    EXPECT_EQ(shown.position(), 1u);
    ASSERT_TRUE(shown.user(1));
    EXPECT_EQ(shown.user(1)->name, "ann");
}

TEST_F(replication, two_nodes_write_in_turns) {
    for (int i = 0; i < 20; ++i) {
        auto const outcome = create(*nodes[i % 2], "user" + std::to_string(i));
        EXPECT_EQ(get_user(outcome).id, i + 1);
        EXPECT_EQ(outcome.position, static_cast<std::uint64_t>(i + 1));
    }
    EXPECT_EQ(engine.head(), 20u);
    expect_equal();
}

TEST_F(replication, a_row_that_loses_is_decided_again_with_what_came_before) {
    second().log.arrives = false;
    second().log.before_append = [&] {
        second().log.before_append = nullptr;
        create(first(), "same");
    };
    EXPECT_EQ(create(second(), "same").problem, problem::email_taken);
    EXPECT_EQ(second().log.appends(), 1u);
    EXPECT_EQ(engine.head(), 1u);
    expect_equal();
}

TEST_F(replication, an_idempotency_key_counts_on_every_node) {
    auto const request = [] { return new_user_once(7); };
    one(*first().store, new_key(key_number(1)));
    catch_up(second());
    second().log.arrives = false;
    auto const original = one(*first().store, request());
    auto const repeat = one(*second().store, request());
    EXPECT_TRUE(repeat.replayed);
    EXPECT_EQ(get_user(repeat).id, get_user(original).id);
    expect_equal();
}

TEST_F(replication, a_node_that_lost_waits_for_its_turn_until_nothing_is_missing) {
    lose_to_the_first("ann");
    create(second(), "bob");
    EXPECT_EQ(second().log.appends(), 2u);
    EXPECT_EQ(second().log.fetches(), 1u);
    create(first(), "cid");
    create(second(), "dan");
    EXPECT_EQ(second().log.appends(), 3u) << "no row is lost while others append";
    EXPECT_EQ(second().log.fetches(), 2u);
    create(second(), "eve");
    EXPECT_EQ(second().log.fetches(), 3u) << "which brings nothing";
    create(second(), "fay");
    EXPECT_EQ(second().log.fetches(), 3u);
    EXPECT_EQ(second().log.releases(), 0u);
    expect_equal();
}

TEST_F(replication, a_turn_without_a_row_is_given_up) {
    lose_to_the_first("same");
    EXPECT_EQ(create(second(), "same").problem, problem::email_taken);
    EXPECT_EQ(second().log.releases(), 1u);
    EXPECT_EQ(create(second(), "same").problem, problem::email_taken);
    EXPECT_EQ(second().log.fetches(), 2u);
    EXPECT_EQ(second().log.releases(), 2u);
    EXPECT_EQ(create(second(), "same").problem, problem::email_taken);
    EXPECT_EQ(second().log.fetches(), 2u);
    EXPECT_EQ(second().log.releases(), 2u);
}

// The key is committed before anything is decided, in the same turn.
TEST_F(replication, a_turn_lasts_while_urgent_rows_are_applied) {
    second().log.arrives = false;
    second().log.before_append = [&] {
        second().log.before_append = nullptr;
        one(*first().store, new_key(key_number(1)));
    };
    create(second(), "ann");
    EXPECT_EQ(second().log.appends(), 2u);
    EXPECT_EQ(second().log.fetches(), 1u);
    create(first(), "bob");
    create(second(), "cid");
    EXPECT_EQ(second().log.appends(), 3u);
    EXPECT_EQ(second().log.fetches(), 2u);
    expect_equal();
}

// Others may create keys all the time.
TEST_F(replication, a_group_does_not_wait_for_the_last_urgent_row) {
    int keys = 0;
    second().log.before_rows = [&] {
        if (keys < 100) one(*first().store, new_key(key_number(++keys)));
    };
    EXPECT_EQ(create(second(), "ann").problem, problem::none);
    EXPECT_GT(keys, 1);
    EXPECT_LT(keys, 100);
    second().log.before_rows = nullptr;
    expect_equal();
}

TEST_F(replication, a_group_is_decided_at_the_time_of_its_last_command) {
    auto const late = new_user("ann", "ann@example.org");
    outcome outcome;
    job const jobs[] = {{&late, &outcome}};
    base::wall_ms arrival = 0;
    auto const await_the_command = [&] {
        auto const begin = base::read_clocks().wall;
        while (arrival <= begin + 1) arrival = base::read_clocks().wall;
        return std::span(jobs);
    };
    EXPECT_EQ(apply_group(first().store->native(), await_the_command, 0).job_count, 1u);
    EXPECT_GE(get_user(outcome).created_at, arrival);
}

TEST_F(replication, a_group_that_is_decided_again_takes_in_what_has_come) {
    auto const early = new_user("bob", "bob@example.org"),
               late = new_user("cid", "cid@example.org");
    outcome early_outcome, late_outcome;
    job const jobs[] = {{&early, &early_outcome}, {&late, &late_outcome}};
    std::size_t collections = 0;
    lose_to_the_first("ann");
    auto const result = apply_group(
        second().store->native(), [&] { return std::span(jobs).first(++collections); }, 0);
    EXPECT_EQ(collections, 2u);
    EXPECT_EQ(result.job_count, 2u);
    EXPECT_EQ(get_user(early_outcome).id, 2);
    EXPECT_EQ(get_user(late_outcome).id, 3);
    EXPECT_EQ(engine.head(), 2u) << "one row";
    expect_equal();
}

TEST_F(replication, who_always_loses_is_refusal) {
    int number = 0;
    second().log.before_append = [&] { create(first(), "fast" + std::to_string(number++)); };
    std::vector<command> commands;
    commands.push_back(new_user("slow", "slow@example.org"));
    auto const outcomes = apply(*second().store, std::move(commands));
    EXPECT_FALSE(outcomes);
    EXPECT_GE(number, rounds_max);
    second().log.before_append = nullptr;
    expect_equal();
}

TEST_F(replication, what_changes_nothing_is_no_row) {
    create(first(), "ann");
    auto const repeat = create(first(), "ann");
    EXPECT_EQ(repeat.problem, problem::email_taken);
    EXPECT_EQ(repeat.position, 1u);
    EXPECT_EQ(engine.head(), 1u);
}

TEST_F(replication, rows_name_the_row_that_they_come_after) {
    create(first(), "ann");
    catch_up(second());
    create(second(), "bob");
    EXPECT_EQ(engine.rows()[1].previous, engine.rows()[0].nonce);
    EXPECT_EQ(second().store->node()->nonce, engine.rows()[1].nonce);
    second().close();
    second().open();
    create(second(), "cid");
    EXPECT_EQ(engine.rows()[2].previous, engine.rows()[1].nonce);
}

// A version before this one kept no nonce beside the position.
TEST_F(replication, a_store_without_the_nonce_of_its_row_goes_on) {
    create(first(), "ann");
    auto& native = first().store->native();
    auto const place = *first().store->node();
    std::string content;
    encode(place, content);
    content.resize(content.size() - place.nonce.size());
    MDB_txn* txn = nullptr;
    ASSERT_EQ(::mdb_txn_begin(native.env, nullptr, 0, &txn), 0);
    ASSERT_EQ(put_checked(txn, native.dbi(table::index), table::index, key_bytes{tag::position},
                          content, 0),
              0);
    ASSERT_EQ(::mdb_txn_commit(txn), 0);
    EXPECT_EQ(first().store->node()->position, place.position);
    EXPECT_EQ(first().store->node()->schema, place.schema);
    EXPECT_EQ(first().store->node()->nonce, row_nonce{});
    create(first(), "bob");
    EXPECT_EQ(engine.rows()[1].previous, row_nonce{}) << "nothing to compare";
    EXPECT_EQ(first().store->node()->nonce, engine.rows()[1].nonce);
    expect_equal();
}

TEST_F(replication, an_unknown_row_that_is_there_is_applied_once) {
    first().log.arrives = false;
    first().log.fail_next(append_fault::unknown_won);
    auto const outcome = create(first(), "ann");
    EXPECT_EQ(get_user(outcome).id, 1);
    EXPECT_EQ(outcome.position, 1u) << "others have it from there on, not before";
    EXPECT_EQ(engine.head(), 1u);
    EXPECT_EQ(apply_arrived_rows(first().store->native()), 0);
    EXPECT_EQ(first().store->node()->position, 1u) << "its own row need not arrive";
    expect_equal();
    EXPECT_EQ(get_user(create(second(), "bob")).id, 2);
}

TEST_F(replication, an_unknown_row_that_is_not_there_is_decided_again) {
    first().log.fail_next(append_fault::unknown_lost);
    EXPECT_EQ(get_user(create(first(), "ann")).id, 1);
    EXPECT_EQ(engine.head(), 1u);
    EXPECT_EQ(first().log.appends(), 2u);
    expect_equal();
}

TEST_F(replication, nothing_is_decided_while_a_row_is_unknown) {
    auto& store = first().store->native();
    auto const early = new_user("ann", "ann@example.org"), late = new_user("bob", "bob@x.org");
    outcome early_outcome, late_outcome;
    job const early_job[] = {{&early, &early_outcome}}, late_job[] = {{&late, &late_outcome}};
    first().log.fail_next(append_fault::unknown_lost);
    auto const result = apply_group(store, early_job, 0);
    EXPECT_TRUE(result.unresolved);
    EXPECT_EQ(result.job_count, 1u);
    EXPECT_FALSE(apply_group(store, late_job, 0).committed);
    EXPECT_EQ(late_outcome.problem, problem::behind);
    EXPECT_EQ(first().log.appends(), 1u);
    EXPECT_EQ(resolve_own_row(store), append_result::lost);
    EXPECT_TRUE(apply_group(store, late_job, 0).committed);
    EXPECT_EQ(get_user(late_outcome).id, 1);
    expect_equal();
}

TEST_F(replication, without_the_engine_nothing_is_written) {
    create(first(), "ann");
    first().log.set_away(true);
    std::vector<command> commands;
    commands.push_back(new_user("bob", "bob@example.org"));
    auto const refusal = apply(*first().store, std::move(commands));
    ASSERT_FALSE(refusal);
    EXPECT_NE(refusal.error().message.find("the log of the cluster cannot be reached"),
              std::string::npos);
    first().log.set_away(false);
    EXPECT_EQ(get_user(create(first(), "bob")).id, 2);
    expect_equal();
}

TEST_F(replication, a_crash_between_log_and_store_is_mended_at_the_start) {
    create(first(), "ann");
    first().log.fail_next(append_fault::crash_after);
    EXPECT_THROW(create(first(), "bob"), node_crash);
    first().close();
    first().open();
    EXPECT_EQ(first().store->node()->position, 1u);
    EXPECT_EQ(create(first(), "bob").problem, problem::email_taken);
    EXPECT_EQ(first().store->node()->position, 2u);
    expect_equal();
}

TEST_F(replication, a_crash_before_the_append_leaves_nothing) {
    first().log.fail_next(append_fault::crash_before);
    EXPECT_THROW(create(first(), "ann"), node_crash);
    first().close();
    first().open();
    EXPECT_EQ(get_user(create(first(), "ann")).id, 1);
    expect_equal();
}

TEST_F(replication, a_node_without_its_log_cannot_write) {
    create(first(), "ann");
    first().store->detach();
    std::vector<command> commands;
    commands.push_back(new_user("bob", "bob@example.org"));
    auto const refusal = apply(*first().store, std::move(commands));
    ASSERT_FALSE(refusal);
    EXPECT_NE(refusal.error().message.find("need the cluster's log"), std::string::npos)
        << refusal.error().message;
    snapshot shown(*first().store);
    shown.renew();
    EXPECT_TRUE(shown.user(1));
}

TEST_F(replication, another_cluster_is_refusal) {
    first().store->detach();
    EXPECT_FALSE(first().store->attach(first().log, cluster_id{'o'}));
    temporary_directory directory;
    auto const alone = open_store(directory.path());
    EXPECT_FALSE(alone->node());
    EXPECT_FALSE(alone->attach(first().log, test_cluster));
}

TEST_F(replication, rows_of_a_newer_schema_are_not_applied) {
    create(first(), "ann");
    second().log.set_schema(row_schema() + 1);
    EXPECT_EQ(apply_arrived_rows(second().store->native()), commit_fate::row_newer);
    EXPECT_EQ(second().store->node()->position, 0u);
    second().log.set_schema(0);
    expect_equal();
}

// Before the cluster of its sibling begins.
struct older_program {
    older_program() { other_row_schema = schema_of_bearers - 1; }
    ~older_program() { other_row_schema = 0; }
};
class older_cluster : older_program, public cluster_test {};

// A node of the version before cannot read a record for tokens, so there is none until all can.
TEST_F(older_cluster, has_records_for_tokens_once_its_schema_has_them) {
    other_row_schema = 0;
    model::key record{.kind = model::key_kind::jwt, .name = "job"};
    record.issuer = "https://id.example.com";
    record.subject = "job";
    auto const refusal = one(*first().store, new_key(record));
    EXPECT_EQ(refusal.problem, base::problem::behind);
    EXPECT_NE(refusal.detail.find("latchkey cluster upgrade"), std::string::npos);
    one(*first().store, new_key(key_number(1)));
    one(*first().store, {.action = raise_schema{}});
    auto const key = get_key(one(*first().store, new_key(record)));
    EXPECT_EQ(key.subject, "job");
    EXPECT_EQ(one(*second().store, new_key(record)).problem, base::problem::subject_taken);
    expect_equal();
}

// Of a key with keys:verify_all it would think that it is damaged.
TEST_F(older_cluster, has_keys_that_verify_all_once_its_schema_has_them) {
    other_row_schema = 0;
    auto const wide = new_key(key_number(2, {"keys:verify_all"}));
    EXPECT_EQ(one(*first().store, wide).problem, base::problem::behind);
    auto const key = get_key(one(*first().store, new_key(key_number(1))));
    change_key widening{.id = key.id};
    widening.scopes = key_number(2, {"keys:verify_all"}).scopes;
    EXPECT_EQ(one(*first().store, {.action = widening}).problem, base::problem::behind);
    one(*first().store, {.action = raise_schema{}});
    EXPECT_EQ(one(*first().store, {.action = widening}).problem, base::problem::none);
    EXPECT_EQ(one(*second().store, wide).problem, base::problem::none);
    expect_equal();
}

// An upgrade: nodes of both programs write what the older one reads, until they are told otherwise.
TEST_F(replication, the_schema_of_rows_is_raised_by_a_command) {
    std::uint32_t const schema = row_schema();
    create(first(), "ann");
    other_row_schema = schema + 1;
    create(first(), "bob");
    EXPECT_EQ(engine.rows().back().schema, schema);
    one(*first().store, {.action = raise_schema{}});
    EXPECT_EQ(engine.rows().back().schema, schema + 1);
    auto const head = engine.head();
    one(*first().store, {.action = raise_schema{}});
    EXPECT_EQ(engine.head(), head) << "a repeat changes nothing";
    first().close();
    first().open();
    create(first(), "cid");
    EXPECT_EQ(engine.rows().back().schema, schema + 1);
    EXPECT_EQ(first().store->node()->schema, schema + 1);

    other_row_schema = 0;
    auto const appends = second().log.appends();
    std::vector<command> commands;
    commands.push_back(new_user("eve", "eve@example.org"));
    EXPECT_FALSE(apply(*second().store, std::move(commands)));
    EXPECT_EQ(second().store->node()->position, head - 1) << "what is older is applied";
    EXPECT_EQ(second().log.appends(), appends) << "nothing is decided before what cannot be read";
    EXPECT_EQ(apply_arrived_rows(second().store->native()), commit_fate::row_newer);
    first().store->detach();
    auto const refusal = first().store->attach(first().log, test_cluster);
    ASSERT_FALSE(refusal);
    EXPECT_NE(refusal.error().message.find("upgrade this node"), std::string::npos);
    other_row_schema = schema + 1;
    ASSERT_TRUE(first().store->attach(first().log, test_cluster));
    catch_up(second());
    create(second(), "dee");
    EXPECT_EQ(engine.rows().back().schema, schema + 1);
    expect_equal();
    other_row_schema = 0;
}

TEST_F(replication, rows_that_cannot_be_read_are_not_applied) {
    log_row row{.position = 1, .schema = row_schema(), .effects = std::string("\x09\x02")};
    EXPECT_EQ(first().log.append(row), append_result::won);
    EXPECT_EQ(apply_arrived_rows(first().store->native()), MDB_CORRUPTED);
    EXPECT_EQ(first().store->node()->position, 0u);
}

TEST_F(replication, many_rows_are_applied_in_several_transactions) {
    constexpr int rows = 300;
    second().log.arrives = false;
    auto const user = get_user(create(first(), "ann")).id;
    for (int i = 0; i < rows; ++i)
        one(*first().store, new_post(user, "post", {}, std::string(60'000, 'x')));
    auto const version = [&] {
        snapshot shown(*second().store);
        shown.renew();
        return shown.version();
    };
    auto const previous = version();
    expect_equal();
    EXPECT_GT(version(), previous + 3);
    EXPECT_LT(version(), previous + 20);
}

TEST_F(replication, a_full_node_falls_behind_and_skips_nothing) {
    second().close();
    second().open({.map_bytes = 2u << 20, .sync = false});
    auto const user = get_user(create(first(), "ann")).id;
    for (int i = 0; i < 40; ++i)
        one(*first().store, new_post(user, "post", {}, std::string(60'000, 'x')));
    EXPECT_EQ(apply_arrived_rows(second().store->native()), commit_fate::rows_blocked);
    auto const position = second().store->node()->position;
    EXPECT_LT(position, engine.head());
    EXPECT_EQ(create(first(), "bob").problem, problem::none);
    EXPECT_EQ(apply_arrived_rows(second().store->native()), commit_fate::rows_blocked);
    expect_sound(*second().store);
    second().close();
    second().open({.map_bytes = 1u << 30, .sync = false});
    expect_equal();
}

TEST_F(replication, clean_up_is_a_row_like_any_other) {
    auto const user = get_user(create(first(), "ann")).id;
    for (int i = 0; i < 1500; i += 50) {
        std::vector<command> commands;
        for (int j = 0; j < 50; ++j) commands.push_back(new_post(user, "post"));
        ASSERT_TRUE(apply(*first().store, std::move(commands)));
    }
    one(*second().store, {.action = delete_user{user}});
    expect_equal();
    snapshot shown(*first().store);
    shown.renew();
    EXPECT_EQ(shown.posts({}, {.limit = 0}, [](auto const&) {}).total, 0u);
}

TEST_F(replication, free_pages_move_no_position) {
    create(first(), "ann");
    transaction txn(first().store->native());
    EXPECT_EQ(txn.commit_pages(), 0);
    EXPECT_EQ(first().store->node()->position, 1u);
    EXPECT_EQ(engine.head(), 1u);
    expect_equal();
}

TEST_F(replication, a_change_of_a_key_reaches_the_snapshots_of_others) {
    auto const key = get_key(one(*first().store, new_key(key_number(1))));
    catch_up(second());
    snapshot shown(*second().store);
    shown.renew();
    auto const epoch = shown.key_epoch();
    EXPECT_EQ(epoch, 1u);
    one(*first().store, {.action = deactivate_key{key.id}});
    catch_up(second());
    shown.renew();
    EXPECT_EQ(shown.key_epoch(), 2u);
    auto const digests = shown.keys_changed_since(epoch);
    ASSERT_TRUE(digests);
    EXPECT_EQ(*digests, std::vector{key.digest});
    EXPECT_EQ(shown.key(key.id)->deactivation_reason, model::deactivation::manual);
}

TEST_F(replication, rows_say_whether_a_key_changes) {
    std::vector<command> commands;
    commands.push_back(new_key(key_number(1)));
    commands.push_back({.action = deactivate_key{1}});
    commands.push_back({.action = reactivate_key{1}});
    commands.push_back({.action = change_key{.id = 1, .name = "other"}});
    commands.push_back({.action = rotate_key{.id = 1, .digest = key_number(2).digest}});
    commands.push_back({.action = note_key_uses{{{.key = 1, .last_used = 5}}}});
    for (auto& each : commands) one(*first().store, std::move(each));
    std::vector<bool> urgent;
    for (auto const& row : engine.rows()) urgent.push_back(row.urgent);
    EXPECT_EQ(urgent, (std::vector{true, true, true, true, true, false}));
}

TEST_F(replication, a_change_of_a_key_is_not_held_up_by_a_group) {
    for (bool const urgent : {false, true}) {
        auto const number = urgent ? 1u : 2u;
        auto const key = get_key(one(*first().store, new_key(key_number(number)))).id;
        catch_up(second());
        if (urgent)
            one(*first().store, {.action = deactivate_key{key}});
        else
            create(first(), "ann");
        second().log.fail_next(append_fault::away);
        std::vector<command> commands;
        commands.push_back(new_user("bob", "bob@example.org"));
        EXPECT_FALSE(apply(*second().store, std::move(commands)));
        auto const position = second().store->node()->position;
        EXPECT_EQ(position, engine.head() - (urgent ? 0 : 1));
    }
    expect_equal();
}

TEST_F(replication, every_kind_of_command_is_replicated) {
    std::vector<command> commands;
    commands.push_back(new_user("ann", "ann@example.org"));
    commands.push_back(new_user("bob", "bob@example.org"));
    commands.push_back({.action = change_user{.id = 1, .name = "anna", .email = "anna@x.org"}});
    commands.push_back(new_post(1, "one"));
    commands.push_back(new_post(2, "two", model::post_status::published, "text"));
    commands.push_back(
        {.action = change_post{.id = 1, .title = "uno", .status = model::post_status::published}});
    commands.push_back({.action = delete_post{1}});
    commands.push_back({.action = delete_user{2}});
    commands.push_back(new_key(key_number(1, {"*"})));
    commands.push_back({.action = change_key{.id = 1, .name = "other"}});
    commands.push_back(
        {.action = rotate_key{.id = 1, .digest = key_number(2).digest, .overlap_ms = 3'600'000}});
    commands.push_back({.action = deactivate_key{1}});
    commands.push_back({.action = reactivate_key{1}});
    commands.push_back({.action = note_key_uses{{{.key = 2, .last_used = 60'000}}}});
    commands.push_back({.action = receive_event{.source = "shop", .payload = "{}"}});
    commands.push_back({.action = put_event_secret{.source = "shop", .secret = base::secret("s")}});
    commands.push_back({.action = delete_event_secret{"shop"}});
    commands.push_back({.action = end_sessions{1}});
    commands.push_back({.action = note_key_times{{1, 2}}});
    commands.push_back(
        {.action = create_webhook{
             {.url = "https://example.com/hook", .description = {}, .project = {}},
             {base::secret(std::string(32, 'a')), base::secret(std::string(32, 'b'))}}});
    commands.push_back({.action = change_webhook{
                            .id = 1, .headers = {{"authorization", "Bearer x"}}, .expected = {}}});
    commands.push_back(
        {.action = rotate_webhook_secret{
             .id = 1,
             .secret = {base::secret(std::string(32, 'c')), base::secret(std::string(32, 'd'))}}});
    commands.push_back({.action = test_webhook{1}});
    commands.push_back({.action = replay_webhook{.id = 1, .sequences = {}, .first = 1, .last = 3}});
    commands.push_back(
        {.action = note_deliveries{
             {{.webhook = 1,
               .progress = model::webhook_progress{2, 0},
               .deliveries = {{.sequence = 2, .attempts = {{.time = 5, .status = 500}}}},
               .replays = {}}}}});
    commands.push_back({.action = take_delivery_lease{"one", 1000}});
    commands.push_back({.action = delete_webhook{1}});
    commands.push_back(new_user_once(9));
    for (std::size_t i = 0; i < commands.size(); ++i) {
        auto& writing = *nodes[i % 2];
        auto const kind = commands[i];
        auto const outcome = one(*writing.store, std::move(commands[i]));
        EXPECT_EQ(outcome.problem, problem::none) << i << outcome.detail;
        EXPECT_EQ(outcome.position, engine.head());
        EXPECT_EQ(engine.rows().back().urgent, switch_of(kind, outcome) != key_switch::none)
            << i << ": what others wait for is applied at once, the rest is not";
        expect_equal();
    }
}

TEST_F(replication, a_bulk_load_is_rows) {
    auto load = bulk_load::begin(*first().store, {.identity = 1, .new_users = 3000});
    ASSERT_TRUE(load);
    int number = 0;
    while (number < 3000) {
        std::vector<model::user> batch;
        for (int i = 0; i < 500; ++i, ++number) {
            auto const name = "u" + std::to_string(number);
            batch.push_back({.name = name, .email = name + "@example.org"});
        }
        // Another node writes in between, and during the load's own transaction.
        second().log.before_append = nullptr;
        create(second(), "x" + std::to_string(number));
        bool raced = false;
        first().log.before_append = [&] {
            if (!std::exchange(raced, true)) create(second(), "y" + std::to_string(number));
        };
        auto const refusals = load->add(std::span(batch), {.complete = number == 3000});
        ASSERT_TRUE(refusals) << refusals.error().message;
        EXPECT_TRUE(refusals->empty());
    }
    first().log.before_append = nullptr;
    first().log.fail_next(append_fault::unknown_won);
    ASSERT_TRUE(load->add(std::span<model::post>(), {.complete = true}));
    first().log.fail_next(append_fault::unknown_lost);
    ASSERT_TRUE(load->finish());
    expect_equal();
    snapshot shown(*second().store);
    shown.renew();
    EXPECT_EQ(shown.users({.limit = 0}, [](auto const&) {}).total, 3012u);
}

}  // namespace
}  // namespace latchkey::domain
