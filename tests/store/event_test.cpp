// Events: each delivery once, lists and counts, and their end.
#include <atomic>
#include <chrono>

#include "store/commands.hpp"
#include "support.hpp"

namespace latchkey::store {
namespace {

using base::problem;

constexpr std::int64_t day = 24 * 3600 * 1000;
std::atomic<std::int64_t> wall{1'700'000'000'000};

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
    return {.what = std::move(event)};
}

class events : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_;
    std::unique_ptr<snapshot> seen_;

    void SetUp() override {
        wall = 1'700'000'000'000;
        open(30 * day);
    }
    void open(std::int64_t retention) {
        seen_.reset();
        store_.reset();
        store_ = environment::open({.directory = directory_.path(),
                                    .map_bytes = 1u << 30,
                                    .sync = false,
                                    .event_retention_ms = retention,
                                    .wall = [] { return wall.load(); }})
                     .value();
        seen_ = std::make_unique<snapshot>(*store_);
    }
    model::id keep(command const& what) {
        auto const answer = one(*store_, what);
        EXPECT_EQ(answer.problem, problem::none) << answer.detail;
        auto const* const event = std::get_if<received_event>(&answer.record);
        return event != nullptr ? event->id : 0;
    }
    std::vector<model::id> list(std::optional<std::string_view> source, range const& part = {}) {
        std::vector<model::id> ids;
        seen_->renew();
        last_ = seen_->events(source, part,
                              [&](model::event_view const& event) { ids.push_back(event.id); });
        EXPECT_FALSE(seen_->damaged());
        seen_->reset();
        return ids;
    }
    // One batch, as the writer does when nothing waits; true: there are more.
    bool expire(std::size_t most) {
        auto const result = apply_group(store_->native(), {}, most);
        EXPECT_EQ(result.failure, 0);
        return result.more_expired;
    }
    listed last_;
};

using ids = std::vector<model::id>;

TEST_F(events, are_kept_with_who_sent_them) {
    auto const key = made_key(one(*store_, new_key(key_number(1, {"events:write:shop"}))));
    auto what = new_event("shop", {1}, "{ \"b\" : 2 }");
    std::get<receive_event>(what.what).delivery_id = "msg_1";
    std::get<receive_event>(what.what).verified = true;
    what.caller = key.id;
    what.needs = model::scope::events_write;
    EXPECT_EQ(keep(what), 1);
    seen_->renew();
    auto const event = seen_->event(1);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->source, "shop");
    EXPECT_EQ(event->delivery_id, "msg_1");
    EXPECT_EQ(event->key_id, key.id);
    EXPECT_TRUE(event->verified);
    EXPECT_EQ(event->received_at, wall);
    EXPECT_EQ(event->payload, "{ \"b\" : 2 }");
    EXPECT_FALSE(seen_->event(2));
    seen_->reset();
    expect_whole(*store_);

    // The scope is asked again in the transaction, for each source.
    std::get<receive_event>(what.what).source = "till";
    EXPECT_EQ(one(*store_, what).problem, problem::insufficient_scope);
    std::vector<command> both{what, what};
    std::get<receive_event>(both[0].what).source = "shop";
    auto const answers = apply(*store_, both).value();
    EXPECT_EQ(answers[0].problem, problem::none);
    EXPECT_EQ(answers[1].problem, problem::insufficient_scope);
    expect_whole(*store_);
}

TEST_F(events, of_one_delivery_are_one_for_a_day) {
    EXPECT_EQ(keep(new_event("shop", {1})), 1);
    EXPECT_EQ(keep(new_event("till", {1})), 2) << "of another source";
    EXPECT_EQ(keep(new_event("shop", {1}, R"({"other":1})")), 1);
    EXPECT_EQ(keep(new_event("shop", {2, 1})), 1) << "either mark counts";
    EXPECT_EQ(keep(new_event("shop", {2})), 3) << "what was not kept left no mark";
    wall += day - 1;
    EXPECT_EQ(keep(new_event("shop", {1})), 1);
    wall += 1;
    EXPECT_EQ(keep(new_event("shop", {1})), 4);
    EXPECT_EQ(keep(new_event("shop", {1})), 4);
    EXPECT_EQ(keep(new_event("shop")), 5) << "without a mark each is new";
    EXPECT_EQ(keep(new_event("shop")), 6);
    expect_whole(*store_);
    open(30 * day);
    EXPECT_EQ(keep(new_event("shop", {1})), 4) << "after a restart";
}

TEST_F(events, of_one_group_see_each_other) {
    std::vector<command> group(64, new_event("shop", {7}));
    for (auto const& answer : apply(*store_, std::move(group)).value())
        EXPECT_EQ(std::get<received_event>(answer.record).id, 1);
    EXPECT_EQ(list("shop"), ids{1});
}

TEST_F(events, are_listed_by_source_with_their_totals) {
    for (int i = 0; i < 5; ++i)
        for (auto const* const source : {"shop", "till", "shop-2"}) keep(new_event(source));
    EXPECT_EQ(list(std::nullopt, {.limit = 4}), (ids{1, 2, 3, 4}));
    EXPECT_EQ(last_.total, 15u);
    EXPECT_TRUE(last_.has_more);
    EXPECT_EQ(list("shop"), (ids{1, 4, 7, 10, 13}));
    EXPECT_EQ(last_.total, 5u);
    EXPECT_EQ(list("shop", {.descending = true}), (ids{13, 10, 7, 4, 1}));
    EXPECT_EQ(list("shop", {.after = 4, .limit = 2}), (ids{7, 10}));
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
    EXPECT_EQ(keep(new_event("shop", {}, std::string(256 * 1024, ' '))), 1);
    EXPECT_EQ(keep(new_event(std::string(32, 'a'))), 2);
    expect_whole(*store_);
}

TEST_F(events, go_when_their_time_is_over_and_counts_and_ids_stay_right) {
    for (unsigned i = 0; i < 300; ++i) keep(new_event(i % 3 == 0 ? "shop" : "till", {i, i + 1000}));
    wall += 29 * day;
    keep(new_event("shop", {0}));  // takes the first mark of event 1 over
    EXPECT_FALSE(expire(1000));
    EXPECT_EQ(list(std::nullopt).size(), 20u);
    EXPECT_EQ(last_.total, 301u);
    wall += day;
    int batches = 1;
    for (; expire(64); ++batches) expect_whole(*store_);
    EXPECT_EQ(batches, 5);  // of 64 events, the last of 44
    expect_whole(*store_);
    EXPECT_EQ(list(std::nullopt), ids{301});
    EXPECT_EQ(last_.total, 1u);
    EXPECT_EQ(list("shop"), ids{301});
    EXPECT_EQ(list("till"), ids{});
    EXPECT_EQ(last_.total, 0u);
    EXPECT_EQ(keep(new_event("till", {1})), 302) << "an id is never used again";
    wall += 30 * day;
    while (expire(64)) {
    }
    EXPECT_EQ(list(std::nullopt), ids{});
    EXPECT_EQ(keep(new_event("till", {1})), 303);
    open(0);
    wall += 1000 * day;
    EXPECT_FALSE(expire(64));
    EXPECT_EQ(list(std::nullopt), ids{303}) << "for ever";
    expect_whole(*store_);
}

// A writer removes them by itself, and whoever writes meanwhile does not wait for all of it.
TEST_F(events, that_expire_by_the_thousand_do_not_hold_up_other_writes) {
    constexpr int many = 20'000;
    for (int i = 0; i < many;) {
        std::vector<command> group;
        for (; group.size() < 64; ++i)
            group.push_back(new_event("shop", {static_cast<unsigned>(i)}, std::string(300, ' ')));
        ASSERT_TRUE(apply(*store_, std::move(group)));
    }
    for (int i = 0; i < 64; ++i) keep(new_event("till", {}, std::string(256 * 1024, ' ')));
    wall += 31 * day;
    writer through(*store_);
    using clock = std::chrono::steady_clock;
    auto longest = clock::duration::zero();
    int commands = 0;
    auto const left = [&] {
        list(std::nullopt, {.limit = 1});
        return last_.total;
    };
    for (auto const begun = clock::now(); left() != 0; ++commands) {
        ASSERT_LT(clock::now() - begun, std::chrono::seconds(120)) << left() << " are left";
        auto const before = clock::now();
        ASSERT_EQ(ask(through, new_user("u", std::to_string(commands) + "@example.org")).problem,
                  problem::none);
        longest = std::max(longest, clock::now() - before);
    }
    RecordProperty("commands_meanwhile", commands);
    auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count();
    RecordProperty("longest_ms", static_cast<int>(ms));
    EXPECT_GT(commands, 10);
    EXPECT_LT(ms, 1000);
    through.stop();
    expect_whole(*store_);
}

TEST_F(events, that_cannot_be_read_are_told_and_not_removed) {
    keep(new_event("shop", {1}));
    keep(new_event("shop", {2}));
    MDB_txn* txn = nullptr;
    auto& native = store_->native();
    ASSERT_EQ(::mdb_txn_begin(native.env, nullptr, 0, &txn), 0);
    auto const at = id_key(1);
    auto key = val_of(at), value = val_of("rubbish");
    ASSERT_EQ(::mdb_put(txn, native.dbi(table::events), &key, &value, 0), 0);
    ASSERT_EQ(::mdb_txn_commit(txn), 0);
    bool told = false;
    for (auto const& sentence : verify(*store_)) told |= sentence == "event 1 cannot be read";
    EXPECT_TRUE(told);
    seen_->renew();
    EXPECT_FALSE(seen_->event(1));
    EXPECT_TRUE(seen_->damaged());
    seen_->reset();
    wall += 60 * day;
    EXPECT_FALSE(expire(100));
}

}  // namespace
}  // namespace latchkey::store
