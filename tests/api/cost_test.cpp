// What each route's dearest request costs, counted instead of timed: what it reads of the store
// (store/read_work.hpp), and the content that it makes. None is dearer than 5 ms of
// processor time; what has to be is done in steps, each in a turn of its own.
#include <algorithm>

#include "api/frame/route.hpp"
#include "dear_requests.hpp"

namespace latchkey::api {
namespace {

constexpr std::int64_t cost_max = 5'000'000;
// A list is made, hashed for its entity tag and copied.
constexpr std::int64_t cost_of_content_byte = 3;
constexpr std::int64_t cost_of_one = 100'000;  // change or key, at most

class costs : public ::testing::Test {
  protected:
    void SetUp() override {
        fill_dearly(service, sizes);
        requests = dear_requests(service, sizes);
    }
    dear_sizes sizes;
    api_fixture service{nullptr, sizes.map_bytes};
    std::vector<dear_request> requests;
};

TEST_F(costs, of_no_request_are_above_what_a_turn_bears) {
    for (auto const& each : requests) {
        auto const response = send(service, each);
        EXPECT_NE(response.status, 500) << each.line;
        if (each.line != "GET /") EXPECT_NE(response.status, 404) << each.line;
        auto const content = static_cast<std::int64_t>(response.body.size() / service.turns);
        EXPECT_LE(service.turn_cost + cost_of_content_byte * content, cost_max) << each.line;
    }
}

TEST_F(costs, are_known_of_every_route) {
    for (auto const& route : routes()) {
        auto const verb = std::string(http::name_of(route.method)) + ' ';
        bool const is_known = std::ranges::any_of(requests, [&](dear_request const& each) {
            auto const path = std::string_view(each.line).substr(each.line.find('/'));
            auto const match = find_route(route.method, path.substr(0, path.find('?')));
            return each.line.starts_with(verb) && match.route == &route;
        });
        EXPECT_TRUE(is_known) << verb << route.pattern;
    }
}

TEST_F(costs, of_a_step_of_a_stream_are_bounded) {
    for (auto const* const query : {"?after=0", "?after=0&type=key.deactivated"}) {
        auto const dearest = follow_changes(service, query);
        EXPECT_GT(dearest.count, 1u);
        EXPECT_LE(dearest.cost, step_cost_max + cost_of_one) << query;
    }
}

// What is told as the next page is the rest.
TEST_F(costs, of_deliveries_end_a_page_that_goes_on) {
    int count = 0, pages = 0;
    for (model::id bound = INT32_MAX; bound != 0; ++pages) {
        auto const page = service.request("GET /api/v1/webhooks/1/deliveries?limit=100&before=" +
                                          std::to_string(bound));
        auto const document = page.json();
        EXPECT_LE(page.body.size(), base::limits::page_bytes_max + 100'000);
        count += static_cast<int>(document.at("data").as_array().size());
        auto const& next = document.at("pagination").at("next_before");
        bound = next.is_null() ? 0 : next.as_int64();
    }
    EXPECT_EQ(count, sizes.deliveries);
    EXPECT_GT(pages, sizes.deliveries / 100);
}

TEST_F(costs, of_the_usage_of_many_keys_are_spread_over_turns) {
    auto const response = service.request("GET /api/v1/usage?top=3");
    EXPECT_GT(service.turns, 1u);
    auto const document = response.json();
    EXPECT_EQ(document.at("complete"), true);
    EXPECT_EQ(document.at("total").at("requests").as_int64(), sizes.keys + 1);
    EXPECT_EQ(document.at("data").as_array().size(), 3u);
    // Each key is read for a caller who sees a part of them.
    auto const reader = service.add_key({"usage:read"}, {.project = "dear", .rate_limits = {}});
    send(service, {.line = "GET /api/v1/usage?top=1", .key = reader});
    EXPECT_GT(service.turns, 4u);
    EXPECT_LE(service.turn_cost, step_cost_max + cost_of_one);
}

// Of keys that are read to be passed over, and are not counted: those before a far page, beside
// which a large page would be too much.
TEST_F(costs, of_far_pages_are_bounded) {
    bool is_reached = true;
    std::size_t largest = 0, far = 0;
    for (int page = 1; page <= 24; ++page) {
        auto const response =
            service.request("GET /api/v1/keys?limit=100&state=active&page=" + std::to_string(page));
        auto const content = static_cast<std::int64_t>(response.body.size());
        EXPECT_LE(service.turn_cost + cost_of_content_byte * content, cost_max) << page;
        EXPECT_TRUE(is_reached || response.status == 400) << page;
        is_reached = response.status == 200;
        if (!is_reached) continue;
        (page == 1 ? largest : far) = response.body.size();
    }
    EXPECT_FALSE(is_reached);
    EXPECT_GT(largest, base::limits::page_bytes_max);
    EXPECT_LT(far, base::limits::page_bytes_max / 3);
}

}  // namespace
}  // namespace latchkey::api
