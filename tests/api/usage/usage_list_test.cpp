// GET /usage, the usage of many keys, and GET /service (api.md §4, §18).
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <deque>

#include "../harness.hpp"

namespace latchkey::api {
namespace {

constexpr std::int64_t list_hour = 3'600'000, minute_ms = 60'000;
constexpr std::int64_t minutes_max = 1440;  // that are kept

class usage_list : public api_test {
  protected:
    // In the middle of an hour.
    usage_list() { service.now.wall = service.now.wall / list_hour * list_hour + list_hour / 2; }

    model::id use(std::string_view project, int times) {
        auto const key = service.add_key({"users:read"}, {.project = std::string(project)});
        auto const id = service.last_key();
        for (int i = 0; i < times; ++i)
            EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {bearer(key)}).status,
                      200);
        return id;
    }
    // "key:requests" of each of `data`, then the total.
    std::string list(std::string const& query, std::string const& key = {}) {
        service.report_uses();
        auto const response = service.request_anonymous("GET /api/v1/usage" + query, {},
                                                        {bearer(key.empty() ? service.key : key)});
        if (response.status != 200) return response.code();
        auto const document = response.json();
        std::string text;
        for (auto const& each : document.at("data").as_array()) {
            auto const sum = each.at("requests").as_int64();
            std::int64_t counted = 0;
            for (auto const& point : each.at("points").as_array())
                counted += point.at("requests").as_int64();
            EXPECT_EQ(sum, counted);
            text += std::to_string(each.at("key_id").as_int64()) + ":" + std::to_string(sum) + " ";
        }
        EXPECT_EQ(document.at("complete"), true);
        return text + std::to_string(document.at("total").at("requests").as_int64());
    }
    // A key that is used in each minute of which the use is kept.
    void use_always() {
        auto const key = use("a", 0);
        domain::note_key_uses batch;
        for (std::int64_t i = 0; i < minutes_max; ++i) {
            auto const minute = service.now.wall / minute_ms - i;
            domain::key_use each{.key = key, .minute = minute * minute_ms, .counted = {}};
            each.counted.count(200, false);
            batch.uses.push_back(each);
            if (batch.uses.size() < domain::key_uses_max && i + 1 < minutes_max) continue;
            service.commit({.action = std::exchange(batch, {}), .required_scope = std::nullopt});
        }
    }
};

// One of those that are in progress at a time.
struct report_request {
    std::string text;
    http::request request;
    http::framing framing;
    http::response response;
    api::exchange exchange;

    next_step begin(api_fixture& service) {
        text = request_text("GET /api/v1/usage?granularity=minute&top=1", {bearer(service.key)});
        http::parser(service.http_limits).read_head(text, request, framing);
        return exchange.begin(service.services(), request, framing, service.peer, service.now,
                              response);
    }
    // The status of the answer.
    int end(api_fixture& service) {
        while (exchange.resume(service.services(), request, service.now, response) !=
               next_step::respond) {
        }
        return response.status;
    }
};

TEST_F(usage_list, has_the_keys_that_are_named) {
    auto const first = use("a", 3), second = use("b", 2);
    auto const ids = std::to_string(first) + "," + std::to_string(second);
    auto const one = std::to_string(first) + ":3 ", two = std::to_string(second) + ":2 ";
    EXPECT_EQ(list("?key_id=" + ids), one + two + "5");
    EXPECT_EQ(list("?key_id=" + ids + "," + std::to_string(first)), one + two + "5");
    EXPECT_EQ(list("?key_id=999999," + std::to_string(second)), two + "2");
}

TEST_F(usage_list, has_the_busiest_keys_and_the_sum_of_all) {
    auto const quiet = use("a", 1), busy = use("a", 4);
    auto const some = use("a", 2);
    auto const reader = service.add_key({"usage:read"}, {.project = "a"});
    auto const expected =
        std::to_string(busy) + ":4 " + std::to_string(some) + ":2 " + std::to_string(quiet) + ":1 ";
    EXPECT_EQ(list("", reader), expected + "7");
    EXPECT_EQ(list("?top=2", reader).substr(0, 4), expected.substr(0, 4));
}

TEST_F(usage_list, shows_the_keys_of_the_own_project_alone) {
    auto const own = use("a", 1), other = use("b", 5);
    auto const reader = service.add_key({"usage:read"}, {.project = "a"});
    EXPECT_EQ(list("", reader), std::to_string(own) + ":1 1");
    EXPECT_EQ(list("?key_id=" + std::to_string(other), reader), "0");
}

TEST_F(usage_list, says_when_it_has_not_counted_all) {
    auto const complete = [&] {
        auto const response = service.request("GET /api/v1/usage?granularity=minute&top=1");
        return response.at("/complete");
    };
    for (std::size_t i = 1; i * minutes_max <= base::limits::usage_records_max; ++i) use_always();
    EXPECT_EQ(complete(), "true");
    use_always();
    EXPECT_EQ(complete(), "false");
}

// Each has what it has read so far until its last turn.
TEST_F(usage_list, in_progress_are_bounded_in_number) {
    constexpr std::size_t reports_max = 32;
    for (int i = 0; i < 4; ++i) use_always();
    EXPECT_EQ(service.request("GET /api/v1/users").status, 200) << "sees what was committed";
    std::deque<report_request> all;
    auto const begin = [&] { return all.emplace_back().begin(service); };
    for (std::size_t i = 0; i < reports_max; ++i) ASSERT_EQ(begin(), next_step::await_turn) << i;
    EXPECT_EQ(begin(), next_step::respond);
    EXPECT_EQ(all.back().response.status, 503);
    EXPECT_EQ(all.front().end(service), 200);
    EXPECT_EQ(begin(), next_step::await_turn) << "one has ended";
    all[1].exchange.end();
    EXPECT_EQ(begin(), next_step::await_turn) << "one was given up";
}

TEST_F(usage_list, refuses_what_is_no_query) {
    EXPECT_EQ(list("?key_id="), "invalid_parameter");
    EXPECT_EQ(list("?key_id=1,"), "invalid_parameter");
    EXPECT_EQ(list("?key_id=1,x"), "invalid_parameter");
    EXPECT_EQ(list("?top=0"), "invalid_parameter");
    EXPECT_EQ(list("?top=101"), "invalid_parameter");
    EXPECT_EQ(list("?top=5&key_id=1"), "conflicting_parameters");
    EXPECT_EQ(list("?granularity=year"), "invalid_parameter");
    EXPECT_EQ(list("?top=11&granularity=minute"), "invalid_parameter");
    EXPECT_EQ(list("?top=10&granularity=minute").find("invalid"), std::string::npos);
    std::string ids = "1";
    for (int i = 2; i <= 101; ++i) ids += "," + std::to_string(i);
    EXPECT_EQ(list("?key_id=" + ids), "invalid_parameter");
}

TEST_F(usage_list, needs_its_scope) {
    EXPECT_EQ(list("", service.add_key({"keys:read"})), "insufficient_scope");
}

TEST_F(usage_list, of_the_whole_service) {
    report_source const source = [] {
        return service_report{.started_at = 1'000,
                              .requests = {1, 2, 3, 4},
                              .limited = 5,
                              .failed_authentications = 6,
                              .connections = 7,
                              .streams = 8,
                              .duration_count = 10,
                              .duration_sum_ns = 1'500'000'000,
                              .durations = {{.bound_ns = 2'500'000, .count = 9}},
                              .nodes = {{.name = "a\"b",
                                         .is_self = true,
                                         .is_alive = true,
                                         .lag_rows = 3,
                                         .version = "1.2.3"}}};
    };
    service.services().report = &source;
    auto const response = service.request("GET /api/v1/service");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.at("/requests/5xx"), "4");
    EXPECT_EQ(response.at("/failed_authentications"), "6");
    EXPECT_EQ(response.at("/latency/sum_seconds"), "1.5E0");
    EXPECT_EQ(response.at("/latency/buckets/0/le"), "2.5E-3");
    EXPECT_EQ(response.at("/latency/buckets/1/le"), "null");
    EXPECT_EQ(response.at("/latency/buckets/1/count"), "10");
    EXPECT_EQ(response.at("/nodes/0/name"), R"("a\"b")");
    EXPECT_EQ(response.at("/nodes/0/lag_rows"), "3");
    EXPECT_EQ(
        service
            .request_anonymous("GET /api/v1/service", {}, {bearer(service.add_key({"usage:read"}))})
            .code(),
        "insufficient_scope");
}

}  // namespace
}  // namespace latchkey::api
