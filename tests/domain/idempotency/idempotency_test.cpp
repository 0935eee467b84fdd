// Commands under an Idempotency-Key (api.md §9): carried out once, whatever the outcome.
#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "../support.hpp"
#include "base/limits.hpp"
#include "domain/idempotency/kept_outcome.hpp"
#include "domain/writer/group.hpp"
#include "store/environment_state.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

std::atomic<base::wall_ms> clock_now{1'700'000'000'000};
constexpr base::wall_ms hour = 3600 * 1000;

class idempotent_commands : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open();
    model::id key_ = get_key(one(*store_, new_key(key_number(1, {"*"})))).id;

    std::unique_ptr<environment> open() {
        clock_now = 1'700'000'000'000;
        return environment::open({.directory = directory_.path(),
                                  .map_bytes = 1u << 30,
                                  .sync = false,
                                  .wall = [] { return clock_now.load(); }})
            .value();
    }
    command with_key(unsigned key, command command, unsigned request = 0) const {
        command.idempotency = named(key, request);
        return command;
    }
    idempotency named(unsigned key, unsigned request = 0) const {
        return {key_, key_number(key).digest, key_number(request).digest};
    }
    // Is the outcome in the store, expired or not?
    bool is_stored(unsigned key) {
        snapshot view(*store_);
        view.renew();
        return view.find_outcome(named(key), 0).has_value();
    }
    std::uint64_t users() {
        snapshot view(*store_);
        view.renew();
        return view.users({}, [](auto const&) {}).total;
    }
    void TearDown() override { expect_sound(*store_); }
};

TEST_F(idempotent_commands, are_carried_out_once) {
    auto const request = with_key(7, new_user("Ann", "ann@example.org"));
    auto const first = one(*store_, request);
    EXPECT_FALSE(first.replayed);
    clock_now += hour;
    for (int i = 0; i < 3; ++i) {
        auto const again = one(*store_, request);
        EXPECT_TRUE(again.replayed);
        EXPECT_EQ(get_user(again).id, get_user(first).id);
        EXPECT_EQ(get_user(again).name, "Ann");
        EXPECT_EQ(get_user(again).created_at, get_user(first).created_at);
        EXPECT_EQ(again.time, first.time);
    }
    EXPECT_EQ(users(), 1u);
}

TEST_F(idempotent_commands, see_each_other_in_a_group) {
    auto const request = with_key(7, new_user("Ann", "ann@example.org"));
    auto const other = with_key(7, new_user("Bob", "bob@example.org"), 1);
    auto const answers = apply(*store_, {request, request, other, request}).value();
    EXPECT_FALSE(answers[0].replayed);
    EXPECT_TRUE(answers[1].replayed);
    EXPECT_EQ(get_user(answers[1]).id, get_user(answers[0]).id);
    EXPECT_EQ(answers[2].problem, problem::idempotency_key_reused);
    EXPECT_FALSE(answers[2].replayed);
    EXPECT_TRUE(answers[3].replayed);
    EXPECT_EQ(users(), 1u);
}

TEST_F(idempotent_commands, with_another_request_write_nothing) {
    one(*store_, with_key(7, new_user("Ann", "ann@example.org")));
    snapshot view(*store_);
    view.renew();
    auto const initial = view.version();
    EXPECT_EQ(one(*store_, with_key(7, new_user("Bob", "bob@example.org"), 1)).problem,
              problem::idempotency_key_reused);
    view.renew();
    EXPECT_EQ(view.version(), initial);
    EXPECT_EQ(view.find_outcome(named(7, 1), clock_now)->problem, problem::idempotency_key_reused);
    EXPECT_EQ(view.find_outcome(named(7), clock_now)->problem, problem::none);
    EXPECT_TRUE(view.find_outcome(named(7), clock_now)->replayed);
    EXPECT_FALSE(view.find_outcome(named(8), clock_now));
}

// An outcome stays even when its reason is gone; a rejection writes nothing else.
TEST_F(idempotent_commands, that_are_rejected_stay_rejected) {
    get_user(one(*store_, new_user("Ann", "ann@example.org")));
    auto invalid = with_key(3, new_post(99, "t"));
    invalid.faults = {
        {base::fault::location_kind::pointer, "/title", base::field_code::too_long, "long"}};
    auto other_version = with_key(5, {.action = change_user{.id = 1, .name = "Anna"}});
    other_version.conditions.match = tag_list{.any = false, .tags = {model::entity_tag{}}};
    auto unconditional = with_key(6, {.action = change_user{.id = 1, .name = "Anna"}});
    unconditional.conditions.required = true;
    struct {
        command request;
        problem expected;
    } const rows[] = {
        {with_key(1, new_user("Other", "ANN@example.org")), problem::email_taken},
        {with_key(2, {.action = change_user{.id = 2, .name = "x"}}), problem::not_found},
        {invalid, problem::validation_failed},
        {with_key(4, {.action = refuse{problem::not_found, "nothing"}}), problem::not_found},
        {other_version, problem::precondition_failed},
        {unconditional, problem::precondition_required},
    };
    std::vector<outcome> first;
    for (auto const& row : rows) {
        first.push_back(one(*store_, row.request));
        EXPECT_EQ(first.back().problem, row.expected);
        EXPECT_FALSE(first.back().replayed);
    }
    EXPECT_EQ(users(), 1u);
    ASSERT_EQ(one(*store_, {.action = change_user{.id = 1, .email = "a@b.c"}}).problem,
              problem::none);
    get_user(one(*store_, new_user("Bob", "bob@example.org")));
    for (std::size_t i = 0; i < std::size(rows); ++i) {
        auto const again = one(*store_, rows[i].request);
        EXPECT_TRUE(again.replayed);
        EXPECT_EQ(again.problem, rows[i].expected);
        EXPECT_EQ(again.detail, first[i].detail);
        ASSERT_EQ(again.faults.size(), first[i].faults.size());
        for (std::size_t k = 0; k < again.faults.size(); ++k) {
            EXPECT_EQ(again.faults[k].location, first[i].faults[k].location);
            EXPECT_EQ(again.faults[k].code, first[i].faults[k].code);
            EXPECT_EQ(again.faults[k].detail, first[i].faults[k].detail);
        }
    }
    EXPECT_EQ(first[2].faults.size(), 2u);
    EXPECT_EQ(users(), 2u);
}

// api.md §9: outcomes of the request itself are kept, not those about its sender, its rate, or the
// state of the service.
TEST_F(idempotent_commands, are_kept_by_their_status) {
    std::map<int, bool> const expected = {
        {200, true},  {400, false}, {401, false}, {403, false}, {404, true},  {405, false},
        {406, false}, {408, false}, {409, true},  {410, false}, {412, true},  {413, false},
        {414, false}, {415, false}, {417, false}, {422, true},  {428, true},  {429, false},
        {431, false}, {500, false}, {501, false}, {503, false}, {505, false}, {507, false}};
    for (auto const& entry : base::problems) {
        ASSERT_TRUE(expected.contains(entry.status)) << entry.status;
        EXPECT_EQ(is_kept(entry.code), expected.at(entry.status)) << entry.name;
    }
}

TEST_F(idempotent_commands, that_were_not_admitted_may_be_repeated) {
    auto request = with_key(1, new_user("Ann", "ann@example.org"));
    request.caller = 77;
    EXPECT_EQ(one(*store_, request).problem, problem::key_invalid);
    request.caller = key_;
    request.required_scope = model::scope::keys_verify;
    get_key(one(*store_, new_key(key_number(2, {"users:write"}))));
    request.caller = 2;
    EXPECT_EQ(one(*store_, request).problem, problem::insufficient_scope);
    auto huge = with_key(1, new_user(std::string(5000, 'x'), "ann@example.org"));
    EXPECT_EQ(one(*store_, huge).problem, problem::internal_error);
    EXPECT_FALSE(is_stored(1));
    request.required_scope = model::scope::users_write;
    EXPECT_FALSE(one(*store_, request).replayed);
    // A caller that has lost its rights does not get the outcome either.
    ASSERT_EQ(one(*store_, {.action = deactivate_key{2}}).problem, problem::none);
    EXPECT_EQ(one(*store_, request).problem, problem::key_deactivated);
}

TEST_F(idempotent_commands, of_different_keys_are_independent) {
    get_key(one(*store_, new_key(key_number(2))));
    auto mine = with_key(1, new_user("Ann", "ann@example.org"));
    auto theirs = with_key(1, new_user("Bob", "bob@example.org"));
    theirs.idempotency->lineage = 2;
    EXPECT_EQ(get_user(one(*store_, mine)).id, 1);
    EXPECT_EQ(get_user(one(*store_, theirs)).id, 2);
    EXPECT_EQ(get_user(one(*store_, with_key(2, new_user("Eve", "eve@example.org")))).id, 3);
    EXPECT_TRUE(one(*store_, mine).replayed);
    EXPECT_TRUE(one(*store_, theirs).replayed);
}

TEST_F(idempotent_commands, of_a_rotated_key_share_its_lineage) {
    model::id last = key_;
    for (unsigned i = 10; i < 13; ++i) {
        auto const next = get_key(one(*store_, {.action = rotate_key{.id = last,
                                                                     .digest = key_number(i).digest,
                                                                     .start = "lkeyNEXT",
                                                                     .last4 = "abcd",
                                                                     .overlap_ms = hour}}));
        EXPECT_EQ(next.line(), key_);
        EXPECT_EQ(next.replaces, last);
        last = next.id;
    }
    snapshot view(*store_);
    view.renew();
    EXPECT_EQ(view.key(last)->line(), key_);
    EXPECT_EQ(view.key(key_)->line(), key_);
}

TEST_F(idempotent_commands, replay_every_kind_of_record) {
    auto const first = [&](unsigned key, command request) {
        auto const result = one(*store_, with_key(key, request));
        EXPECT_EQ(result.problem, problem::none);
        auto again = one(*store_, with_key(key, request));
        EXPECT_TRUE(again.replayed);
        EXPECT_EQ(again.record.index(), result.record.index());
        EXPECT_EQ(again.last_used_at, result.last_used_at);
        std::string left, right;
        again.replayed = false;
        encode(kept_outcome{1, {}, result}, left);
        encode(kept_outcome{1, {}, again}, right);
        EXPECT_EQ(left, right);
        return again;
    };
    get_user(first(1, new_user("Zoë \"x\"", "zoe@example.org")));
    auto const body = std::string(model::post_body_bytes_max, '\1');
    EXPECT_EQ(get_post(first(2, new_post(1, "t", model::post_status::published, body))).body, body);
    auto record = key_number(9, {"users:*", "events:write:github"});
    for (int i = 0; i < 40; ++i) record.metadata["m" + std::to_string(i)] = std::string(300, 'v');
    EXPECT_EQ(get_key(first(3, new_key(record))).metadata.size(), 40u);
    ASSERT_EQ(one(*store_, {.action = note_key_uses{.uses = {{.key = 2, .last_used = 5}}}}).problem,
              problem::none);
    EXPECT_EQ(first(4, {.action = deactivate_key{2}}).last_used_at, 5);
    first(5, {.action = delete_user{1}});
}

TEST_F(idempotent_commands, are_new_after_a_day) {
    auto const request = with_key(7, {.action = create_user{"Ann", "ann@example.org"}});
    EXPECT_FALSE(one(*store_, request).replayed);
    clock_now += idempotency_ms - 1;
    EXPECT_TRUE(one(*store_, request).replayed);
    clock_now += 1;
    snapshot view(*store_);
    view.renew();
    EXPECT_FALSE(view.find_outcome(named(7), clock_now));
    view.reset();
    // Carried out again, and the new outcome is kept for another day; so for another request.
    EXPECT_EQ(one(*store_, request).problem, problem::email_taken);
    expect_sound(*store_);
    clock_now += 23 * hour;
    EXPECT_EQ(one(*store_, request).problem, problem::email_taken);
    EXPECT_TRUE(one(*store_, request).replayed);
    clock_now += hour;
    EXPECT_FALSE(one(*store_, with_key(7, new_user("Bob", "bob@example.org"), 1)).replayed);
}

TEST_F(idempotent_commands, expire_in_batches) {
    constexpr unsigned many = 700, batch = 100;
    for (unsigned i = 0; i < many;) {
        std::vector<command> group;
        for (; group.size() < 50; ++i)
            group.push_back(with_key(i, {.action = delete_user{1'000'000}}));
        ASSERT_TRUE(apply(*store_, std::move(group)));
        ++clock_now;
    }
    auto const remaining = [&] {
        unsigned count = 0;
        for (unsigned i = 0; i < many; ++i) count += is_stored(i);
        return count;
    };
    auto& native = store_->native();
    EXPECT_FALSE(apply_group(native, {}, batch).committed);
    clock_now += 2 * idempotency_ms;
    // The command line removes none.
    EXPECT_FALSE(apply_group(native, {}, 0).committed);
    EXPECT_EQ(remaining(), many);
    auto result = apply_group(native, {}, batch);
    EXPECT_TRUE(result.more_expired);
    EXPECT_EQ(remaining(), many - batch);
    expect_sound(*store_);
    // With many commands twice as many are removed, so that they never pile up.
    std::vector<command> group;
    std::vector<job> jobs;
    std::vector<outcome> answers(batch);
    for (unsigned i = 0; i < batch; ++i)
        group.push_back(with_key(1000 + i, {.action = delete_user{1'000'000}}));
    for (unsigned i = 0; i < batch; ++i) jobs.push_back({&group[i], &answers[i]});
    EXPECT_EQ(apply_group(native, jobs, batch).job_count, batch);
    EXPECT_EQ(remaining(), many - 3 * batch);
    EXPECT_TRUE(is_stored(1000));
    int rounds = 0;
    while (apply_group(native, {}, batch).more_expired) ++rounds;
    EXPECT_EQ(rounds, 3);
    EXPECT_EQ(remaining(), 0u);
    EXPECT_TRUE(is_stored(1000));
    EXPECT_FALSE(apply_group(native, {}, batch).committed);
}

TEST_F(idempotent_commands, are_removed_by_an_idle_writer) {
    for (unsigned i = 0; i < 20; ++i) one(*store_, with_key(i, {.action = delete_user{1'000'000}}));
    clock_now += idempotency_ms;
    writer store_writer(*store_);
    for (int i = 0; i < 1000 && is_stored(19); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (unsigned i = 0; i < 20; ++i) EXPECT_FALSE(is_stored(i));
}

TEST_F(idempotent_commands, through_the_writer_from_many_threads) {
    writer store_writer(*store_);
    std::vector<std::thread> all;
    std::atomic<int> fresh{0}, replayed{0}, wrong{0};
    for (unsigned t = 0; t < 4; ++t)
        all.emplace_back([&] {
            for (unsigned i = 0; i < 100; ++i) {
                auto const name = "u" + std::to_string(i) + "@example.org";
                auto const answer = ask(store_writer, with_key(i, new_user(name, name)));
                ++(answer.replayed ? replayed : fresh);
                auto const* const user = std::get_if<model::user>(&answer.record);
                if (user == nullptr || user->name != name) ++wrong;
            }
        });
    for (auto& thread : all) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(fresh, 100);
    EXPECT_EQ(replayed, 300);
    EXPECT_EQ(users(), 100u);
}

// Deletions and deactivations still work in a full store, with a key or without.
TEST(idempotent_commands_in_a_full_store, are_not_kept) {
    temporary_directory const directory;
    auto const store = open_store(directory.path(), 2 << 20);
    get_key(one(*store, new_key(key_number(1, {"*"}))));
    get_user(one(*store, new_user("Ann", "ann@example.org")));
    for (std::size_t const bytes : {20'000, 0}) {
        std::string const body(bytes, 'b');
        while (one(*store, new_post(1, "t", model::post_status::draft, body)).problem !=
               problem::storage_full)
            continue;
    }
    auto const with_key = [](unsigned key, command request) {
        request.idempotency = {1, key_number(key).digest, {}};
        return request;
    };
    auto const is_stored = [&](unsigned key) {
        snapshot view(*store);
        view.renew();
        return view.find_outcome({1, key_number(key).digest, {}}, 0).has_value();
    };
    EXPECT_EQ(one(*store, with_key(1, new_user("Bob", "bob@example.org"))).problem,
              problem::storage_full);
    EXPECT_EQ(one(*store, with_key(2, new_user("Eve", "ann@example.org"))).problem,
              problem::email_taken);
    EXPECT_EQ(one(*store, with_key(3, {.action = deactivate_key{1}})).problem, problem::none);
    for (unsigned i = 1; i < 4; ++i) EXPECT_FALSE(is_stored(i));
    EXPECT_EQ(one(*store, with_key(3, {.action = deactivate_key{1}})).problem, problem::none);
    expect_sound(*store);
}

TEST(kept_outcomes, that_are_truncated_or_changed_are_refused) {
    outcome answer;
    answer.problem = problem::validation_failed;
    answer.detail = "why";
    answer.faults = {
        {base::fault::location_kind::pointer, std::string(70'000, 'n'),
         base::field_code::unknown_field, "is not known"},
        {base::fault::location_kind::header, "If-Match", base::field_code::required, ""}};
    answer.record = model::user{3, "Ann", "ann@example.org", 1, 2};
    std::string bytes;
    encode(kept_outcome{77, key_number(4).digest, answer}, bytes);
    auto const whole = decode_kept_outcome(bytes);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->expires_at, 77);
    EXPECT_EQ(whole->request, key_number(4).digest);
    EXPECT_EQ(whole->result.faults.at(0).location.size(), 70'000u);
    EXPECT_EQ(whole->result.faults.at(1).kind, base::fault::location_kind::header);
    EXPECT_FALSE(decode_kept_outcome(bytes + "x"));
    std::string bare;
    encode(kept_outcome{77, key_number(4).digest, {}}, bare);
    EXPECT_TRUE(decode_kept_outcome(bare));
    EXPECT_FALSE(decode_kept_outcome(bare + "x"));
    // It ends with the number of faults and the kind of the record, both 0.
    outcome one_fault;
    one_fault.faults = {{base::fault::location_kind::header, "a", base::field_code::required, "b"}};
    std::string with_fault;
    encode(kept_outcome{77, key_number(4).digest, one_fault}, with_fault);
    auto const begin = bare.size() - 2;
    auto const fault = with_fault.substr(begin + 1, with_fault.size() - bare.size());
    auto const encoded = [&](std::size_t count, std::string const& each) {
        auto result = bare.substr(0, begin) + static_cast<char>(count);
        for (std::size_t i = 0; i < count; ++i) result += each;
        return decode_kept_outcome(result + '\0').has_value();
    };
    EXPECT_TRUE(encoded(1, fault));
    EXPECT_TRUE(encoded(base::limits::faults_max, fault));
    EXPECT_FALSE(encoded(base::limits::faults_max + 1, fault));
    EXPECT_FALSE(encoded(1, '\3' + fault.substr(1))) << "at a place that does not exist";
    for (std::size_t size = 0; size < bytes.size(); size += size < 200 ? 1 : 97)
        EXPECT_FALSE(decode_kept_outcome(std::string_view(bytes).substr(0, size))) << size;
    auto copy = bytes;
    copy[0] = 2;
    EXPECT_FALSE(decode_kept_outcome(copy));
    for (std::size_t offset = 0; offset < 200; ++offset)
        for (int const value : {0, 1, 127, 255}) {
            copy = bytes;
            copy[offset] = static_cast<char>(value);
            decode_kept_outcome(copy);  // must not crash
        }
}

}  // namespace
}  // namespace latchkey::domain
