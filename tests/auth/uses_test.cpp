// When keys were last used, as one worker saw it.
#include "auth/uses.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "../limit/allocations.hpp"

namespace latchkey::auth {
namespace {

using list = std::vector<std::pair<model::id, base::wall_ms>>;

list sorted(list taken) {
    std::sort(taken.begin(), taken.end());
    return taken;
}

TEST(uses, are_taken_once_and_remembered) {
    uses seen;
    EXPECT_TRUE(seen.empty());
    seen.note(7, 100), seen.note(8, 110), seen.note(7, 120), seen.note(7, 90);
    EXPECT_EQ(seen.last(7), 120);
    EXPECT_EQ(seen.last(9), 0);
    EXPECT_EQ(sorted(seen.take(10)), (list{{7, 120}, {8, 110}}));
    EXPECT_TRUE(seen.empty());
    EXPECT_EQ(seen.last(7), 120);
    seen.note(8, 130);
    EXPECT_EQ(seen.take(10), (list{{8, 130}}));
}

TEST(uses, are_taken_in_parts) {
    uses seen;
    for (model::id id = 1; id <= 5; ++id) seen.note(id, id);
    auto all = seen.take(2);
    EXPECT_EQ(all.size(), 2u);
    auto const rest = seen.take(9);
    all.insert(all.end(), rest.begin(), rest.end());
    EXPECT_EQ(sorted(all), (list{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}}));
}

TEST(uses, of_a_key_that_is_known_allocate_nothing) {
    if (!test::counts_allocations()) GTEST_SKIP();
    uses seen;
    seen.note(1, 1), seen.note(2, 1);
    seen.take(9);
    auto const before = test::allocations();
    for (base::wall_ms at = 2; at < 100; ++at) seen.note(1, at), seen.note(2, at);
    EXPECT_EQ(test::allocations(), before);
}

}  // namespace
}  // namespace latchkey::auth
