// Parts of lists that end early: by the bytes of what was made of them, and by the cost of what was
// read and is not in the list (domain/frame/list_part.hpp).
#include "../support.hpp"
#include "domain/frame/list_part.hpp"

namespace latchkey::domain {
namespace {

// The even numbers from 2 to 2000; a step costs 100.
struct even_walk {
    bool first() { return set(1); }
    bool last() { return set(2000); }
    bool at_or_above(model::id id) { return set(id); }
    bool below(model::id id) { return set(id - 1); }
    bool next() { return set(number + 1); }
    bool previous() { return set(number - 1); }
    model::id id() const { return number; }
    read_work const& work() const { return sum; }

    bool set(model::id id) {
        sum.bytes += 400;
        number = id;
        return id >= 1 && id <= 2000;
    }
    model::id number = 0;
    read_work sum;
};

list_result part_of(range const& part, std::string& output, int divisor = 2) {
    even_walk walk;
    return list_part(
               walk, part, 1000, [&] { return walk.id() % divisor == 0; },
               [&] {
                   output += std::to_string(walk.id()) + ' ';
                   return true;
               })
        .emit();
}

TEST(list_parts, end_where_the_output_is_full) {
    std::string output;
    auto const part = part_of({.output = &output, .output_bytes_max = 5}, output);
    EXPECT_EQ(output, "2 4 6 ");
    EXPECT_TRUE(part.has_more && part.is_cut);
    EXPECT_EQ(part.last, 6);
    output.clear();
    auto const whole = part_of({.limit = 2, .output = &output, .output_bytes_max = 5}, output);
    EXPECT_TRUE(whole.has_more);
    EXPECT_FALSE(whole.is_cut);
}

TEST(list_parts, end_where_much_was_read_in_vain_and_go_on_behind_it) {
    std::string output;
    range part{.limit = 3, .cost_max = 20'000};
    int parts = 0;
    for (;; ++parts) {
        auto const result = part_of(part, output, 900);
        EXPECT_FALSE(result.is_out_of_reach);
        if (!result.has_more) break;
        ASSERT_GT(result.last, part.after_id);
        part.after_id = result.last;
        ASSERT_LT(parts, 20);
    }
    EXPECT_EQ(output, "900 1800 ");
    EXPECT_GT(parts, 5);
    output.clear();
    part = {.after_id = 1900, .limit = 3, .descending = true, .cost_max = 20'000};
    while (true) {
        auto const result = part_of(part, output, 900);
        if (!result.has_more) break;
        part.after_id = result.last;
    }
    EXPECT_EQ(output, "1800 900 ");
}

TEST(list_parts, that_begin_too_far_away_are_out_of_reach) {
    std::string output;
    for (std::uint64_t const skip : {1u, 999u}) {
        auto const result = part_of({.skip = skip, .cost_max = 20'000}, output, 900);
        EXPECT_TRUE(result.is_out_of_reach) << skip;
        EXPECT_FALSE(result.has_more);
    }
    EXPECT_EQ(output, "");
    EXPECT_FALSE(part_of({.skip = 1, .cost_max = 400'000}, output, 900).is_out_of_reach);
    EXPECT_EQ(output, "1800 ");
}

TEST(list_parts, that_begin_behind_many_of_the_list_are_out_of_reach_too) {
    std::string output;
    for (std::uint64_t const skip : {400u, 600u}) {
        EXPECT_TRUE(part_of({.skip = skip, .skip_cost_max = 20'000}, output).is_out_of_reach);
        EXPECT_FALSE(
            part_of({.skip = skip, .limit = 1, .skip_cost_max = 90'000}, output).is_out_of_reach);
    }
    EXPECT_EQ(output, "802 1202 ");
    output.clear();
    auto const part = part_of(
        {.skip = 400, .output = &output, .output_bytes_max = 30, .skip_cost_max = 90'000}, output);
    EXPECT_EQ(output, "802 804 ");
    EXPECT_TRUE(part.is_cut);
}

list_result filtered_part_of(range const& part, std::uint64_t candidates, std::string& output) {
    even_walk walk;
    output.clear();
    return filtered_part(
        walk, part, candidates, [&] { return walk.id() % 2 == 0; },
        [&] {
            output += std::to_string(walk.id()) + ' ';
            return true;
        });
}

// Counting the walk costs 200,000.
TEST(filtered_parts, are_counted_where_they_are_few_and_cheap) {
    std::string output;
    range part{.limit = 4, .output = &output, .output_bytes_max = 8, .cost_max = 1'000'000};
    auto const counted = filtered_part_of(part, 2000, output);
    EXPECT_TRUE(counted.is_counted);
    EXPECT_EQ(counted.total, 1000u);
    EXPECT_EQ(output, "2 4 6 8 ");
    EXPECT_FALSE(filtered_part_of(part, 2001, output).is_counted);
    EXPECT_EQ(output, "2 4 6 8 ");
    part.cost_max = 400'000;  // not both: what counting takes, and a large page
    EXPECT_TRUE(filtered_part_of(part, 2000, output).is_counted);
    EXPECT_EQ(output, "2 ");
    part.cost_max = 100'000;
    auto const uncounted = filtered_part_of(part, 2000, output);
    EXPECT_FALSE(uncounted.is_counted);
    EXPECT_EQ(uncounted.total, 0u);
    EXPECT_TRUE(uncounted.has_more && uncounted.is_cut);
    part.cost_max = INT64_MAX;
    EXPECT_EQ(filtered_part_of(part, 1'000'000, output).total, 1000u);
    EXPECT_EQ(output, "2 4 6 8 ");
}

}  // namespace
}  // namespace latchkey::domain
