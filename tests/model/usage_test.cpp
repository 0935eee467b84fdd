// Usage counters and the steps of time that they are stored by.
#include "model/usage.hpp"

#include <gtest/gtest.h>

namespace latchkey::model {
namespace {

base::wall_ms time_of(std::string_view text) {
    return base::parse_timestamp(text).value();
}

TEST(usage, counts_by_class_of_status) {
    usage counts;
    for (unsigned const status : {200, 201, 204, 304, 400, 404, 429, 500, 503})
        counts.count(status, status == 429);
    EXPECT_EQ(counts, (usage{{3, 1, 3, 2}, 1}));
    EXPECT_EQ(counts.requests(), 9u);
    counts += {{1, 2, 3, 4}, 2};
    EXPECT_EQ(counts, (usage{{4, 3, 6, 6}, 3}));
}

TEST(usage, is_encoded_and_decoded) {
    usage const counts{{1, 0, UINT64_MAX, 1ull << 40}, 7};
    std::string bytes = "previous content";
    encode(counts, bytes);
    EXPECT_EQ(decode_usage(bytes), counts);
    EXPECT_FALSE(decode_usage(bytes + "x"));
    EXPECT_FALSE(decode_usage(std::string_view(bytes).substr(1)));
    EXPECT_FALSE(decode_usage({}));
    encode({{9, 9, 3, 9}, 4}, bytes);
    EXPECT_FALSE(decode_usage(bytes)) << "more limited than 4xx";
}

TEST(usage, has_granularities) {
    for (auto const each : granularities) EXPECT_EQ(find_granularity(name_of(each)), each);
    EXPECT_EQ(name_of(granularity::hour), "hour");
    EXPECT_FALSE(find_granularity("Hour"));
    EXPECT_FALSE(find_granularity(""));
}

TEST(usage, steps_are_aligned_to_utc) {
    auto const time = time_of("2026-03-04T05:06:07.008Z");
    EXPECT_EQ(start_of(granularity::minute, time), time_of("2026-03-04T05:06:00Z"));
    EXPECT_EQ(start_of(granularity::hour, time), time_of("2026-03-04T05:00:00Z"));
    EXPECT_EQ(start_of(granularity::day, time), time_of("2026-03-04T00:00:00Z"));
    auto const early = time_of("1969-12-31T23:59:30Z");
    EXPECT_EQ(start_of(granularity::minute, early), time_of("1969-12-31T23:59:00Z"));
    EXPECT_EQ(start_of(granularity::day, early), time_of("1969-12-31T00:00:00Z"));
    for (auto const each : granularities)
        EXPECT_EQ(start_of(each, start_of(each, time)), start_of(each, time));
}

TEST(usage, steps_are_retained_after_their_end) {
    auto const now = time_of("2026-03-04T05:06:07.008Z");
    EXPECT_EQ(first_retained(granularity::minute, now), time_of("2026-03-03T05:06:00Z"));
    EXPECT_EQ(first_retained(granularity::hour, now), time_of("2026-02-01T05:00:00Z"));
    EXPECT_EQ(first_retained(granularity::day, now), time_of("2025-01-28T00:00:00Z"));
}

}  // namespace
}  // namespace latchkey::model
