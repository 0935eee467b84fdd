#include "server/observe/metrics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <thread>

#include "api/frame/route.hpp"
#include "server/observe/readiness.hpp"

namespace latchkey::server {
namespace {

TEST(histogram, has_buckets_without_gaps_that_are_within_one_percent) {
    std::size_t last = 0;
    for (std::uint64_t value = 0; value < 300'000; ++value) {
        auto const bucket = histogram::bucket_of(value);
        ASSERT_TRUE(bucket == last || bucket == last + 1) << value;
        last = bucket;
    }
    std::mt19937_64 random(7);
    for (int i = 0; i < 200'000; ++i) {
        auto const value = random() >> (27 + random() % 37);
        auto const bucket = histogram::bucket_of(value);
        ASSERT_LT(bucket, histogram::buckets);
        if (value > histogram::longest) continue;
        auto const middle = histogram::middle_of(bucket);
        ASSERT_EQ(histogram::bucket_of(middle), bucket);
        auto const error = std::abs(static_cast<double>(middle) - static_cast<double>(value));
        ASSERT_LE(error, 0.01 * static_cast<double>(value)) << value;
    }
    EXPECT_EQ(histogram::bucket_of(histogram::longest), histogram::buckets - 1);
    EXPECT_EQ(histogram::bucket_of(std::numeric_limits<std::uint64_t>::max()),
              histogram::buckets - 1);
}

TEST(histogram, counts_the_durations_up_to_a_bound) {
    histogram durations;
    for (base::mono_ns i = 1; i <= 1000; ++i) durations.record(i * 1'000'000);
    durations.record(-5);  // a clock of another core
    histogram::reading read;
    durations.add_to(read);
    durations.add_to(read);  // two workers
    EXPECT_EQ(read.count(), 2002u);
    EXPECT_EQ(read.sum_ns, 2 * 500'500 * 1'000'000ull);
    EXPECT_NEAR(static_cast<double>(read.up_to(500'000'000)), 1002, 12);
    EXPECT_EQ(read.up_to(2'000'000'000), 2002u);
    EXPECT_EQ(read.up_to(100'000), 2u);
}

TEST(histogram, counts_a_duration_that_is_the_bound) {
    histogram durations;
    for (base::mono_ns const each : {4, 5, 6}) durations.record(each);
    histogram::reading read;
    durations.add_to(read);
    EXPECT_EQ(read.up_to(5), 2u);
}

TEST(counter, loses_no_increment_while_other_threads_read) {
    counter events;
    std::thread reader([&] {
        std::uint64_t previous = 0;
        while (previous < 100'000) {
            auto const now = events.read();
            ASSERT_GE(now, previous);
            previous = now;
        }
    });
    for (int i = 0; i < 100'000; ++i) events.add();
    reader.join();
    EXPECT_EQ(events.read(), 100'000u);
}

TEST(worker_metrics, count_a_malformed_request_without_a_route) {
    worker_metrics metrics;
    metrics.record_request(nullptr, 400, base::problem::malformed_request, 1000);
    auto const nowhere = api::routes().size();
    EXPECT_EQ(metrics.requests(nowhere, http::method::other, 3), 1u);
    EXPECT_EQ(metrics.problems[static_cast<std::size_t>(base::problem::malformed_request)].read(),
              1u);
    histogram::reading read;
    metrics.durations(nowhere).add_to(read);
    EXPECT_EQ(read.count(), 1u);
}

// What the problems of the contract are counted as must be their own status, not their class.
TEST(status_codes, have_a_place_each) {
    std::set<std::size_t> places;
    for (auto const& each : base::problems) {
        auto const slot = slot_of(each.status);
        EXPECT_EQ(status_slots[slot].code, each.status) << each.name;
        places.insert(slot);
    }
    for (unsigned const status : {201, 202, 204, 302, 304})
        EXPECT_EQ(status_slots[slot_of(status)].code, status);
    for (auto const& [status, expected] :
         {std::pair{299u, 2}, {418u, 4}, {599u, 5}, {100u, 1}, {0u, 1}, {999u, 5}}) {
        EXPECT_EQ(status_slots[slot_of(status)].code, 0) << status;
        EXPECT_EQ(status_slots[slot_of(status)].status_class, expected) << status;
    }
}

TEST(worker_metrics, count_requests_by_exact_status) {
    worker_metrics metrics;
    for (unsigned const status : {404u, 404u, 418u, 401u})
        metrics.record_request(nullptr, static_cast<std::uint16_t>(status),
                               base::problem::malformed_request, 1000);
    auto const nowhere = api::routes().size();
    EXPECT_EQ(metrics.requests_of_slot(nowhere, http::method::other, slot_of(404)), 2u);
    EXPECT_EQ(metrics.requests_of_slot(nowhere, http::method::other, slot_of(401)), 1u);
    EXPECT_EQ(metrics.requests(nowhere, http::method::other, 3), 4u);
    EXPECT_EQ(metrics.requests(nowhere, http::method::other, 4), 0u);
}

TEST(readiness, names_the_check_that_fails) {
    http::response answer;
    readiness_check const good[] = {{"store", ""}, {"accepting", ""}};
    answer_readiness(good, answer);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body,
              "{\"status\":\"ready\",\"checks\":{\"store\":\"ok\",\"accepting\":\"ok\"}}\n");
    answer.clear();
    readiness_check const bad[] = {{"store", ""}, {"accepting", "draining"}};
    answer_readiness(bad, answer);
    EXPECT_EQ(answer.status, 503);
    EXPECT_NE(answer.body.find(R"("accepting":"draining")"), std::string::npos);
}

}  // namespace
}  // namespace latchkey::server
