// The last ids that there are: each is assigned and found like any other, the next one is refused,
// and what is there goes on working. Those of keys, which end earlier, are in key_life_test.
#include "../raw_records.hpp"
#include "domain/events/event_index.hpp"
#include "domain/webhooks/webhook_record.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

constexpr model::id last_id = base::limits::id_max;

class id_bounds : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = environment::open({.directory = directory_.path(),
                                                             .map_bytes = 1u << 30,
                                                             .sync = false,
                                                             .records_changes = true})
                                              .value();
    snapshot snapshot_{*store_};

    snapshot& now() {
        snapshot_.renew();
        return snapshot_;
    }
    void TearDown() override {
        EXPECT_EQ(now().damaged(), false);
        snapshot_.reset();
        expect_sound(*store_);
    }
};

TEST_F(id_bounds, users_and_posts_end_at_the_largest_number_of_json) {
    put_counters(*store_, [](counters& all) { all.last_user = all.last_post = last_id - 1; });
    EXPECT_EQ(get_user(one(*store_, new_user("a", "a@e.org"))).id, last_id);
    auto const one_more = one(*store_, new_user("b", "b@e.org"));
    EXPECT_EQ(one_more.problem, problem::storage_full);
    EXPECT_EQ(get_post(one(*store_, new_post(last_id, "t"))).id, last_id);
    EXPECT_EQ(one(*store_, new_post(last_id, "u")).problem, problem::storage_full);
    EXPECT_EQ(get_user(one(*store_, {.action = change_user{.id = last_id, .name = "c"}})).name,
              "c");
    EXPECT_EQ(now().user(last_id)->name, "c");
    EXPECT_EQ(now().post(last_id)->user_id, last_id);
    EXPECT_EQ(one(*store_, {.action = delete_post{.id = last_id}}).problem, problem::none);
    EXPECT_EQ(one(*store_, {.action = delete_user{.id = last_id}}).problem, problem::none);
    EXPECT_EQ(one(*store_, new_user("a", "a@e.org")).problem, problem::storage_full)
        << "no id is used again";
}

TEST_F(id_bounds, webhooks_and_events_as_well) {
    std::string bytes;
    encode(webhook_head{last_id - 1, 0}, bytes);
    put_raw_record(*store_, table::index, key_bytes{tag::webhook_head}, bytes);
    auto const webhook = [] {
        model::webhook_secret const secret{base::secret(std::string(32, 'a')),
                                           base::secret(std::string(32, 'b')), 0};
        return command{
            .action = create_webhook{
                {.url = "https://example.com/hook", .description = {}, .project = {}}, secret}};
    };
    auto const answer = one(*store_, webhook());
    ASSERT_EQ(answer.problem, problem::none);
    EXPECT_EQ(std::get<webhook_outcome>(answer.record).entry.webhook.id, last_id);
    EXPECT_EQ(one(*store_, webhook()).problem, problem::storage_full);
    EXPECT_EQ(one(*store_, {.action = delete_webhook{.id = last_id}}).problem, problem::none);
    EXPECT_EQ(one(*store_, webhook()).problem, problem::storage_full);

    encode(event_head{.last = last_id - 1}, bytes);
    put_raw_record(*store_, table::index, key_bytes{tag::event_head}, bytes);
    command const event{.action = receive_event{.source = "s", .payload = "{}"}};
    auto const receipt = one(*store_, event);
    ASSERT_EQ(receipt.problem, problem::none);
    EXPECT_EQ(std::get<received_event>(receipt.record).id, last_id);
    EXPECT_EQ(one(*store_, event).problem, problem::storage_full);
}

}  // namespace
}  // namespace latchkey::domain
