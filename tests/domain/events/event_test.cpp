// Events: each delivery once, lists and counts, expiry.
#include <atomic>
#include <chrono>

#include "../support.hpp"
#include "domain/events/event_lists.hpp"
#include "domain/writer/group.hpp"
#include "store/checksum.hpp"
#include "store/environment_state.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

constexpr std::int64_t day = 24 * 3600 * 1000;
std::atomic<std::int64_t> event_clock{1'700'000'000'000};

model::event_mark mark_number(unsigned number) {
    model::event_mark mark{};
    for (std::size_t i = 0; i < sizeof number; ++i)
        mark[i] = static_cast<unsigned char>(number >> (8 * i));
    return mark;
}

command new_event(std::string source, std::vector<unsigned> marks = {},
                  std::string payload = R"({"a": 1})") {
    receive_event event{.source = std::move(source), .payload = std::move(payload)};
    for (auto const number : marks) event.marks.push_back(mark_number(number));
    return {.action = std::move(event)};
}

class events : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_;
    std::unique_ptr<snapshot> snapshot_;

    void SetUp() override {
        event_clock = 1'700'000'000'000;
        open(30 * day);
    }
    void open(std::int64_t retention) {
        snapshot_.reset();
        store_.reset();
        store_ = environment::open({.directory = directory_.path(),
                                    .map_bytes = 1u << 30,
                                    .sync = false,
                                    .event_retention_ms = retention,
                                    .wall = [] { return event_clock.load(); }})
                     .value();
        snapshot_ = std::make_unique<snapshot>(*store_);
    }
    model::id receive(command const& request) {
        auto const answer = one(*store_, request);
        EXPECT_EQ(answer.problem, problem::none) << answer.detail;
        auto const* const event = std::get_if<received_event>(&answer.record);
        return event != nullptr ? event->id : 0;
    }
    std::vector<model::id> list(std::optional<std::string_view> source, range const& part = {}) {
        std::vector<model::id> ids;
        snapshot_->renew();
        last_ = list_events(*snapshot_, source, part,
                            [&](model::event_view const& event) { ids.push_back(event.id); });
        EXPECT_FALSE(snapshot_->damaged());
        snapshot_->reset();
        return ids;
    }
    // One batch of an idle writer; true: there are more.
    bool expire(std::size_t most) {
        auto const result = apply_group(store_->native(), {}, most);
        EXPECT_EQ(result.failure, 0);
        return result.more_expired;
    }
    list_result last_;
};

using ids = std::vector<model::id>;

TEST_F(events, are_stored_with_their_sender) {
    auto const key = get_key(one(*store_, new_key(key_number(1, {"events:write:shop"}))));
    auto request = new_event("shop", {1}, "{ \"b\" : 2 }");
    std::get<receive_event>(request.action).delivery_id = "msg_1";
    std::get<receive_event>(request.action).verified = true;
    request.caller = key.id;
    request.required_scope = model::scope::events_write;
    EXPECT_EQ(receive(request), 1);
    snapshot_->renew();
    auto const event = find_event(*snapshot_, 1);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->source, "shop");
    EXPECT_EQ(event->delivery_id, "msg_1");
    EXPECT_EQ(event->key_id, key.id);
    EXPECT_TRUE(event->verified);
    EXPECT_EQ(event->received_at, event_clock);
    EXPECT_EQ(event->payload, "{ \"b\" : 2 }");
    EXPECT_FALSE(find_event(*snapshot_, 2));
    snapshot_->reset();
    expect_sound(*store_);

    // The scope is checked again in the transaction, for each source.
    std::get<receive_event>(request.action).source = "till";
    EXPECT_EQ(one(*store_, request).problem, problem::insufficient_scope);
    std::vector<command> both{request, request};
    std::get<receive_event>(both[0].action).source = "shop";
    auto const answers = apply(*store_, both).value();
    EXPECT_EQ(answers[0].problem, problem::none);
    EXPECT_EQ(answers[1].problem, problem::insufficient_scope);
    expect_sound(*store_);
}

TEST_F(events, of_one_delivery_are_one_for_a_day) {
    EXPECT_EQ(receive(new_event("shop", {1})), 1);
    EXPECT_EQ(receive(new_event("till", {1})), 2) << "of another source";
    EXPECT_EQ(receive(new_event("shop", {1}, R"({"other":1})")), 1);
    EXPECT_EQ(receive(new_event("shop", {2, 1})), 1) << "either mark counts";
    EXPECT_EQ(receive(new_event("shop", {2})), 3) << "what was not kept left no mark";
    event_clock += day - 1;
    EXPECT_EQ(receive(new_event("shop", {1})), 1);
    event_clock += 1;
    EXPECT_EQ(receive(new_event("shop", {1})), 4);
    EXPECT_EQ(receive(new_event("shop", {1})), 4);
    EXPECT_EQ(receive(new_event("shop")), 5) << "without a mark each is new";
    EXPECT_EQ(receive(new_event("shop")), 6);
    expect_sound(*store_);
    open(30 * day);
    EXPECT_EQ(receive(new_event("shop", {1})), 4) << "after a restart";
}

TEST_F(events, of_one_group_see_each_other) {
    std::vector<command> group(64, new_event("shop", {7}));
    for (auto const& answer : apply(*store_, std::move(group)).value())
        EXPECT_EQ(std::get<received_event>(answer.record).id, 1);
    EXPECT_EQ(list("shop"), ids{1});
}

TEST_F(events, are_listed_by_source_with_their_totals) {
    for (int i = 0; i < 5; ++i)
        for (auto const* const source : {"shop", "till", "shop-2"}) receive(new_event(source));
    EXPECT_EQ(list(std::nullopt, {.limit = 4}), (ids{1, 2, 3, 4}));
    EXPECT_EQ(last_.total, 15u);
    EXPECT_TRUE(last_.has_more);
    EXPECT_EQ(list("shop"), (ids{1, 4, 7, 10, 13}));
    EXPECT_EQ(last_.total, 5u);
    EXPECT_EQ(list("shop", {.descending = true}), (ids{13, 10, 7, 4, 1}));
    EXPECT_EQ(list("shop", {.after_id = 4, .limit = 2}), (ids{7, 10}));
    EXPECT_EQ(list("shop", {.skip = 4}), ids{13});
    EXPECT_EQ(list("sho"), ids{});
    EXPECT_EQ(list("nobody"), ids{});
    EXPECT_EQ(last_.total, 0u);
}

TEST_F(events, beyond_their_bounds_are_refused) {
    EXPECT_EQ(one(*store_, new_event("Shop")).problem, problem::internal_error);
    EXPECT_EQ(one(*store_, new_event("")).problem, problem::internal_error);
    EXPECT_EQ(one(*store_, new_event("shop", {1, 2, 3})).problem, problem::internal_error);
    EXPECT_EQ(one(*store_, new_event("shop", {}, std::string(256 * 1024 + 1, ' '))).problem,
              problem::internal_error);
    EXPECT_EQ(receive(new_event("shop", {}, std::string(256 * 1024, ' '))), 1);
    EXPECT_EQ(receive(new_event(std::string(32, 'a'))), 2);
    expect_sound(*store_);
}

TEST_F(events, expire_with_correct_counts_and_ids) {
    for (unsigned i = 0; i < 300; ++i)
        receive(new_event(i % 3 == 0 ? "shop" : "till", {i, i + 1000}));
    event_clock += 29 * day;
    receive(new_event("shop", {0}));  // takes over the first mark of event 1
    EXPECT_FALSE(expire(1000));
    EXPECT_EQ(list(std::nullopt).size(), 20u);
    EXPECT_EQ(last_.total, 301u);
    event_clock += day;
    int batches = 1;
    for (; expire(64); ++batches) expect_sound(*store_);
    EXPECT_EQ(batches, 5);  // of 64 events, the last of 44
    expect_sound(*store_);
    EXPECT_EQ(list(std::nullopt), ids{301});
    EXPECT_EQ(last_.total, 1u);
    EXPECT_EQ(list("shop"), ids{301});
    EXPECT_EQ(list("till"), ids{});
    EXPECT_EQ(last_.total, 0u);
    EXPECT_EQ(receive(new_event("till", {1})), 302) << "an id is never used again";
    event_clock += 30 * day;
    while (expire(64)) {
    }
    EXPECT_EQ(list(std::nullopt), ids{});
    EXPECT_EQ(receive(new_event("till", {1})), 303);
    open(0);
    event_clock += 1000 * day;
    EXPECT_FALSE(expire(64));
    EXPECT_EQ(list(std::nullopt), ids{303}) << "for ever";
    expect_sound(*store_);
}

// The writer removes them in batches, and commands do not wait for all of them.
TEST_F(events, that_expire_by_the_thousand_do_not_delay_writes) {
    constexpr int many = 20'000;
    for (int i = 0; i < many;) {
        std::vector<command> group;
        for (; group.size() < 64; ++i)
            group.push_back(new_event("shop", {static_cast<unsigned>(i)}, std::string(300, ' ')));
        ASSERT_TRUE(apply(*store_, std::move(group)));
    }
    for (int i = 0; i < 64; ++i) receive(new_event("till", {}, std::string(256 * 1024, ' ')));
    event_clock += 31 * day;
    writer store_writer(*store_);
    using clock = std::chrono::steady_clock;
    auto longest = clock::duration::zero();
    int commands = 0;
    auto const left = [&] {
        list(std::nullopt, {.limit = 1});
        return last_.total;
    };
    for (auto const start = clock::now(); left() != 0; ++commands) {
        ASSERT_LT(clock::now() - start, std::chrono::seconds(120)) << left() << " are left";
        auto const submitted = clock::now();
        ASSERT_EQ(
            ask(store_writer, new_user("u", std::to_string(commands) + "@example.org")).problem,
            problem::none);
        longest = std::max(longest, clock::now() - submitted);
    }
    RecordProperty("commands_meanwhile", commands);
    auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count();
    RecordProperty("longest_ms", static_cast<int>(ms));
    EXPECT_GT(commands, 10);
    EXPECT_LT(ms, 1000);
    store_writer.stop();
    expect_sound(*store_);
}

TEST_F(events, that_are_unreadable_are_reported_and_not_removed) {
    receive(new_event("shop", {1}));
    receive(new_event("shop", {2}));
    MDB_txn* txn = nullptr;
    auto& native = store_->native();
    ASSERT_EQ(::mdb_txn_begin(native.env, nullptr, 0, &txn), 0);
    ASSERT_EQ(put_checked(txn, native.dbi(table::events), table::events, id_key(1), "rubbish", 0),
              0);
    ASSERT_EQ(::mdb_txn_commit(txn), 0);
    bool reported = false;
    for (auto const& sentence : check_consistency(*store_))
        reported |= sentence == "event 1 cannot be read";
    EXPECT_TRUE(reported);
    snapshot_->renew();
    EXPECT_FALSE(find_event(*snapshot_, 1));
    EXPECT_TRUE(snapshot_->damaged());
    snapshot_->reset();
    event_clock += 60 * day;
    EXPECT_FALSE(expire(100));
}

}  // namespace
}  // namespace latchkey::domain
