// What lists of keys read (store/read_work.hpp) where a filter is on what no index has, and
// where an index has it.
#include "../support.hpp"
#include "store/read_work.hpp"

namespace latchkey::domain {
namespace {

constexpr unsigned key_count = 300;
constexpr std::int64_t cost_of_key = 5'000;  // at most, with its metadata

class key_list_costs : public ::testing::Test {
  protected:
    void SetUp() override {
        std::vector<command> commands;
        for (unsigned i = 1; i <= key_count; ++i) {
            auto record = key_number(i, {"users:read"});
            if (i == key_count) record.start = "lkeyWXYZ";
            for (int member = 0; member < 50; ++member)
                record.metadata[std::to_string(member)] = "text";
            commands.push_back(new_key(std::move(record)));
            if (commands.size() < 64 && i < key_count) continue;
            for (auto const& each : apply(*store_, std::exchange(commands, {})).value())
                ASSERT_EQ(each.problem, base::problem::none);
        }
    }
    // What one list costs; `result` is what it tells.
    std::int64_t cost_of(key_filter const& filter, range const& part) {
        snapshot seen(*store_);
        seen.renew();
        ids_.clear();
        result_ = seen.keys(filter, part,
                            [&](model::key const& key, base::wall_ms) { ids_.push_back(key.id); });
        return seen.work().cost();
    }

    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open_store(directory_.path());
    list_result result_;
    std::vector<model::id> ids_;
};

TEST_F(key_list_costs, of_a_start_are_those_of_its_index) {
    auto const whole_cost = cost_of({.state = model::key_state::expired}, {});
    ASSERT_GT(whole_cost, key_count * cost_of_key / 2);
    auto const cost = cost_of({.start = "lkeyWXYZ"}, {});
    EXPECT_EQ(ids_, std::vector<model::id>{key_count});
    EXPECT_EQ(result_.total, 1u);
    EXPECT_LT(cost, 4 * cost_of_key);
}

// The total ends at the bound, the page at half of it.
TEST_F(key_list_costs, of_a_page_beside_those_of_a_total_are_half) {
    constexpr std::int64_t cost_max = 40 * cost_of_key;
    auto const cost = cost_of({.state = model::key_state::expired}, {.cost_max = cost_max});
    EXPECT_FALSE(result_.is_counted);
    EXPECT_TRUE(result_.has_more && result_.is_cut);
    EXPECT_GE(cost, cost_max + cost_max / 2);
    EXPECT_LT(cost, cost_max + cost_max / 2 + 3 * cost_of_key);
}

}  // namespace
}  // namespace latchkey::domain
