// Counts of use and the steps of time that they are kept by.
#include "model/usage.hpp"

#include <gtest/gtest.h>

namespace latchkey::model {
namespace {

base::wall_ms at(std::string_view text) {
    return base::parse_timestamp(text).value();
}

TEST(usage, counts_by_class_of_status) {
    usage seen;
    for (unsigned const status : {200, 201, 204, 304, 400, 404, 429, 500, 503})
        seen.count(status, status == 429);
    EXPECT_EQ(seen, (usage{{3, 1, 3, 2}, 1}));
    EXPECT_EQ(seen.requests(), 9u);
    seen += {{1, 2, 3, 4}, 2};
    EXPECT_EQ(seen, (usage{{4, 3, 6, 6}, 3}));
}

TEST(usage, is_encoded_and_decoded) {
    usage const seen{{1, 0, UINT64_MAX, 1ull << 40}, 7};
    std::string bytes = "of before";
    encode(seen, bytes);
    EXPECT_EQ(decode_usage(bytes), seen);
    EXPECT_FALSE(decode_usage(bytes + "x"));
    EXPECT_FALSE(decode_usage(std::string_view(bytes).substr(1)));
    EXPECT_FALSE(decode_usage({}));
    encode({{9, 9, 3, 9}, 4}, bytes);
    EXPECT_FALSE(decode_usage(bytes)) << "more were limited than were refused";
}

TEST(usage, has_granularities) {
    for (auto const each : granularities) EXPECT_EQ(find_granularity(name_of(each)), each);
    EXPECT_EQ(name_of(granularity::hour), "hour");
    EXPECT_FALSE(find_granularity("Hour"));
    EXPECT_FALSE(find_granularity(""));
}

TEST(usage, steps_are_aligned_to_utc) {
    auto const time = at("2026-03-04T05:06:07.008Z");
    EXPECT_EQ(start_of(granularity::minute, time), at("2026-03-04T05:06:00Z"));
    EXPECT_EQ(start_of(granularity::hour, time), at("2026-03-04T05:00:00Z"));
    EXPECT_EQ(start_of(granularity::day, time), at("2026-03-04T00:00:00Z"));
    auto const early = at("1969-12-31T23:59:30Z");
    EXPECT_EQ(start_of(granularity::minute, early), at("1969-12-31T23:59:00Z"));
    EXPECT_EQ(start_of(granularity::day, early), at("1969-12-31T00:00:00Z"));
    for (auto const each : granularities)
        EXPECT_EQ(start_of(each, start_of(each, time)), start_of(each, time));
}

TEST(usage, steps_are_kept_behind_their_end) {
    auto const now = at("2026-03-04T05:06:07.008Z");
    EXPECT_EQ(first_kept(granularity::minute, now), at("2026-03-03T05:06:00Z"));
    EXPECT_EQ(first_kept(granularity::hour, now), at("2026-02-01T05:00:00Z"));
    EXPECT_EQ(first_kept(granularity::day, now), at("2025-01-28T00:00:00Z"));
}

}  // namespace
}  // namespace latchkey::model
