// What each route's dearest request costs, counted instead of timed: what it reads of the store
// (store/engine/read_work.hpp), and the content that it makes. None is dearer than 5 ms of
// processor time; what has to be is done in steps, each in a turn of its own.
#include <algorithm>

#include "api/route.hpp"
#include "dear_requests.hpp"

namespace latchkey::api {
namespace {

constexpr std::int64_t cost_max = 5'000'000;
// A list is made, hashed for its entity tag and copied.
constexpr std::int64_t cost_of_content_byte = 3;

class costs : public api_test {
  protected:
    void SetUp() override {
        fill_dearly(service, sizes);
        requests = dear_requests(service, sizes);
    }
    dear_sizes sizes;
    std::vector<dear_request> requests;
};

TEST_F(costs, of_no_request_are_above_what_a_turn_bears) {
    for (auto const& each : requests) {
        auto const response = service.request(each.line, each.body, each.fields);
        EXPECT_NE(response.status, 500) << each.line;
        if (each.line.find("/secret") == std::string::npos && each.line != "GET /")
            EXPECT_NE(response.status, 404) << each.line;
        auto const content = static_cast<std::int64_t>(response.body.size() / service.turns);
        EXPECT_LE(service.turn_cost + cost_of_content_byte * content, cost_max) << each.line;
    }
}

TEST_F(costs, are_known_of_every_route_that_reads) {
    for (auto const& route : routes()) {
        // Without issuers there is no metadata of a protected resource.
        if (route.method != http::method::get || route.pattern.starts_with("/.well-known/"))
            continue;
        bool const is_known = std::ranges::any_of(requests, [&](dear_request const& each) {
            auto const path = std::string_view(each.line).substr(each.line.find('/'));
            auto const match = find_route(http::method::get, path.substr(0, path.find('?')));
            return each.line.starts_with("GET ") && match.route == &route;
        });
        EXPECT_TRUE(is_known) << "GET " << route.pattern;
    }
}

TEST_F(costs, of_the_usage_of_many_keys_are_spread_over_turns) {
    auto const response = service.request("GET /api/v1/usage?top=3");
    EXPECT_GT(service.turns, 1u);
    auto const document = response.json();
    EXPECT_EQ(document.at("complete"), true);
    EXPECT_EQ(document.at("total").at("requests").as_int64(), service.last_id_of_keys());
    EXPECT_EQ(document.at("data").as_array().size(), 3u);
}

}  // namespace
}  // namespace latchkey::api
