// GET /keys/{id}/usage (api.md §4), and which requests count.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "../harness.hpp"

namespace latchkey::api {
namespace {

constexpr std::int64_t minute = 60'000, hour = 60 * minute, day = 24 * hour;

class usage : public api_test {
  protected:
    // A time in the middle of a minute, an hour and a day.
    usage() { service.now.wall = service.now.wall / day * day + 10 * hour + 30 * minute + 30'000; }

    static std::string path(model::id id, std::string_view query = {}) {
        return "GET /api/v1/keys/" + std::to_string(id) + "/usage" + std::string(query);
    }
    reply get(model::id id, std::string_view query = {}) {
        service.report_uses();
        return service.request(path(id, query));
    }
    // "requests:2xx,3xx,4xx,5xx:limited" of all points together.
    std::string sum(reply const& response) {
        std::int64_t requests = 0, limited = 0;
        std::array<std::int64_t, 4> by_status{};
        auto const document = response.json();
        for (auto const& point : document.at("data").as_array()) {
            requests += point.at("requests").as_int64();
            limited += point.at("limited").as_int64();
            auto const& classes = point.at("by_status").as_object();
            EXPECT_EQ(classes.size(), by_status.size());
            for (std::size_t i = 0; i < by_status.size(); ++i)
                by_status[i] += classes.at(model::usage::classes[i]).as_int64();
        }
        auto text = std::to_string(requests);
        for (std::size_t i = 0; i < by_status.size(); ++i)
            text += (i == 0 ? ":" : ",") + std::to_string(by_status[i]);
        return text + ":" + std::to_string(limited);
    }
    std::string sum(model::id id) { return sum(get(id)); }
    static std::size_t points(reply const& response) {
        return response.json().at("data").as_array().size();
    }
    static std::string text(base::wall_ms time) {
        std::string result(base::timestamp_bytes, ' ');
        base::format_timestamp(time, result.data());
        return result;
    }
    reply as(std::string const& key, std::string_view line, std::string_view body = {}) {
        return service.request_anonymous(line, body, {bearer(key)});
    }
};

TEST_F(usage, counts_every_response_to_a_known_key) {
    auto const key = service.add_key({"users:read", "users:write"});
    auto const id = service.last_key();
    EXPECT_EQ(sum(id), "0:0,0,0,0:0");
    EXPECT_EQ(as(key, "GET /api/v1/users").status, 200);
    EXPECT_EQ(as(key, "HEAD /api/v1/users").status, 200);
    EXPECT_EQ(as(key, "OPTIONS /api/v1/users").status, 204);
    EXPECT_EQ(as(key, "POST /api/v1/users", R"({"name":"A","email":"a@b.c"})").status, 201);
    EXPECT_EQ(sum(id), "4:4,0,0,0:0");
    EXPECT_EQ(as(key, "GET /api/v1/nothing").status, 404);
    EXPECT_EQ(as(key, "PUT /api/v1/users").status, 405);
    EXPECT_EQ(as(key, "GET /api/v1/posts").status, 403);
    EXPECT_EQ(as(key, "GET /api/v1/users?x=1").status, 400);
    EXPECT_EQ(as(key, "POST /api/v1/users", "{").status, 400);
    EXPECT_EQ(as(key, "POST /api/v1/users", "{}").status, 422);
    EXPECT_EQ(as(key, "POST /api/v1/users", R"({"name":"A","email":"a@b.c"})").status, 409);
    EXPECT_EQ(as(key, "GET /auth").status, 200);
    EXPECT_EQ(sum(id), "12:5,0,7,0:0");
    service.next_outcome = domain::outcome{.problem = base::problem::overloaded};
    EXPECT_EQ(as(key, "POST /api/v1/users", R"({"name":"A","email":"b@b.c"})").status, 503);
    // In whichever way the key was sent.
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users?api_key=" + key).status, 200);
    EXPECT_EQ(
        service.request_anonymous("POST /api/v1/users", R"({"api_key":")" + key + "\"}").status,
        422);
    EXPECT_EQ(sum(id), "15:6,0,8,1:0");
}

TEST_F(usage, counts_deactivated_keys_and_nothing_without_a_key) {
    auto const key = service.add_key({"*"}, {.deactivated_at = 5,
                                             .deactivation_reason = model::deactivation::manual,
                                             .rate_limits = {}});
    auto const id = service.last_key();
    EXPECT_EQ(as(key, "GET /api/v1/users").code(), "key_deactivated");
    EXPECT_EQ(sum(id), "1:0,0,1,0:0");
    EXPECT_EQ(service.request("GET /api/v1/keys/" + std::to_string(id)).at("/last_used_at"),
              "null");
    service.request_anonymous("GET /api/v1/users");
    as(auth::unknown_key(), "GET /api/v1/users");
    service.request_anonymous("GET /healthz", {}, {bearer(key)});
    service.peer.tls = false;
    EXPECT_EQ(as(key, "GET /api/v1/users").code(), "https_required");
    service.peer.tls = true;
    EXPECT_EQ(sum(id), "1:0,0,1,0:0");
}

TEST_F(usage, shows_limited_requests) {
    auto const key = service.add_key({"users:read"}, {.rate_limits = {{"minute", 2, 60, 0}}});
    auto const id = service.last_key();
    for (int i = 0; i < 5; ++i) as(key, "GET /api/v1/users");
    EXPECT_EQ(sum(id), "5:2,0,3,0:3");
    // A masked 429 counts as a 429.
    EXPECT_EQ(as(key, "GET /auth?limit_status=403").status, 403);
    EXPECT_EQ(sum(id), "6:2,0,4,0:4");
    service.advance(60'000);
    EXPECT_EQ(as(key, "GET /api/v1/posts").status, 403);
    EXPECT_EQ(sum(id), "7:2,0,5,0:4");
}

TEST_F(usage, counts_verifications_of_a_key) {
    auto const asker = service.add_key({"keys:verify"});
    auto const asking = service.last_key();
    auto const key = service.add_key({"users:read"}, {.rate_limits = {{"minute", 2, 60, 0}}});
    auto const id = service.last_key();
    auto const verify = [&](std::string const& more) {
        return as(asker, "POST /api/v1/keys/verify", R"({"key":")" + key + '"' + more + '}')
            .at("/code");
    };
    EXPECT_EQ(verify(""), "\"VALID\"");
    EXPECT_EQ(verify(R"(,"scopes":["posts:read"])"), "\"INSUFFICIENT_SCOPE\"");
    EXPECT_EQ(verify(""), "\"RATE_LIMITED\"");
    EXPECT_EQ(sum(id), "3:1,0,2,0:1");
    EXPECT_EQ(verify(R"(,"cost":0)"), "\"VALID\"");
    EXPECT_EQ(sum(id), "3:1,0,2,0:1");
    EXPECT_EQ(sum(asking), "4:4,0,0,0:0");
    service.request("POST /api/v1/keys/" + std::to_string(id) + "/deactivate");
    EXPECT_EQ(verify(""), "\"DEACTIVATED\"");
    EXPECT_EQ(sum(id), "4:1,0,3,0:1");
    // A key of another project does not exist for the caller.
    auto const other = service.add_key({"*"}, {.project = "other", .rate_limits = {}});
    auto const other_id = service.last_key();
    as(asker, "POST /api/v1/keys/verify", R"({"key":")" + other + "\"}");
    EXPECT_EQ(sum(other_id), "0:0,0,0,0:0");
}

TEST_F(usage, has_a_point_for_each_hour_of_a_day) {
    auto const key = service.add_key({"users:read"});
    auto const id = service.last_key();
    as(key, "GET /api/v1/users");
    service.advance(70 * minute);
    as(key, "GET /api/v1/users"), as(key, "GET /api/v1/posts");
    auto const response = get(id);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.field("Cache-Control"), "private, no-cache");
    EXPECT_EQ(response.field("Content-Type"), "application/json; charset=utf-8");
    ASSERT_EQ(points(response), 24u);
    auto const now_hour = service.now.wall / hour * hour;
    EXPECT_EQ(response.at("/data/23"), R"({"start":")" + text(now_hour) +
                                           R"(","requests":2,"by_status":{"2xx":1,"3xx":0,"4xx":1,)"
                                           R"("5xx":0},"limited":0})");
    EXPECT_EQ(response.at("/data/22/requests"), "1");
    EXPECT_EQ(response.at("/data/21/requests"), "0");
    EXPECT_EQ(response.at("/data/0/start"), '"' + text(now_hour - 23 * hour) + '"');
    EXPECT_EQ(service.request("HEAD /api/v1/keys/" + std::to_string(id) + "/usage").status, 200);
}

TEST_F(usage, covers_the_requested_time) {
    auto const key = service.add_key({"users:read"});
    auto const id = service.last_key();
    as(key, "GET /api/v1/users");
    auto const now = service.now.wall, start = now / minute * minute;
    auto response = get(id, "?granularity=minute");
    ASSERT_EQ(points(response), 1440u);
    EXPECT_EQ(response.at("/data/1439/start"), '"' + text(start) + '"');
    EXPECT_EQ(response.at("/data/1439/requests"), "1");
    // From the minute that contains `from`, without the one that begins at `to`.
    response =
        get(id, "?granularity=minute&from=" + text(start - 2 * minute + 1) + "&to=" + text(start));
    EXPECT_EQ(points(response), 2u);
    EXPECT_EQ(response.at("/data/0/start"), '"' + text(start - 2 * minute) + '"');
    response = get(id, "?granularity=minute&to=" + text(start + 1) + "&from=" + text(start));
    EXPECT_EQ(sum(response), "1:1,0,0,0:0");
    EXPECT_EQ(points(response), 1u);
    // The same time with an offset, percent-encoded.
    auto offset = text(start + 2 * hour);
    offset.back() = '+', offset += "02:00";
    offset.replace(offset.find('+'), 1, "%2B");
    response = get(id, "?granularity=minute&from=" + offset);
    EXPECT_EQ(response.at("/data/0/start"), '"' + text(start) + '"');
    EXPECT_EQ(points(response), 1u);
    response = get(id, "?granularity=day&from=" + text(now - 3 * day));
    EXPECT_EQ(points(response), 4u);
    EXPECT_EQ(response.at("/data/3/requests"), "1");
    EXPECT_EQ(points(get(id, "?to=" + text(now - 5 * day))), 24u);
}

TEST_F(usage, has_no_points_outside_of_the_kept_time) {
    auto const id = service.last_key();
    auto const now = service.now.wall;
    // In the future.
    auto response = get(id, "?from=" + text(now - hour) + "&to=" + text(now + day));
    EXPECT_EQ(points(response), 2u);
    EXPECT_EQ(points(get(id, "?from=" + text(now + hour) + "&to=" + text(now + day))), 0u);
    // Older than what is kept.
    response = get(
        id, "?granularity=minute&from=" + text(now - 26 * hour) + "&to=" + text(now - 23 * hour));
    EXPECT_EQ(points(response), 61u);
    EXPECT_EQ(response.at("/data/0/start"), '"' + text((now - day) / minute * minute) + '"');
    EXPECT_EQ(points(get(id, "?granularity=day&from=" + text(now - 500 * day))), 401u);
    EXPECT_EQ(points(get(id, "?from=" + text(now - 50 * day) + "&to=" + text(now - 40 * day))), 0u);
}

TEST_F(usage, refuses_invalid_queries) {
    auto const id = service.last_key();
    auto const now = service.now.wall;
    struct {
        std::string query, parameter, code;
    } const rows[] = {
        {"?granularity=second", "granularity", "not_in_enum"},
        {"?granularity=", "granularity", "not_in_enum"},
        {"?granularity=HOUR", "granularity", "not_in_enum"},
        {"?from=yesterday", "from", "invalid_format"},
        {"?from=", "from", "invalid_format"},
        {"?from=2026-01-02", "from", "invalid_format"},
        {"?to=2026-02-30T00:00:00Z", "to", "invalid_format"},
        {"?to=1767225600", "to", "invalid_format"},
        {"?from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z", "from", "out_of_range"},
        {"?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from", "out_of_range"},
        {"?from=" + text(now + 1), "from", "out_of_range"},
        {"?granularity=minute&from=" + text(now - 2 * day), "from", "out_of_range"},
        {"?from=0000-01-01T00:00:00Z&to=9999-12-31T23:59:59Z", "from", "out_of_range"},
        {"?page=1", "page", "unknown_field"},
        {"?from=2026-01-02T00:00:00Z&from=2026-01-02T00:00:00Z", "from", "invalid_format"},
    };
    for (auto const& row : rows) {
        auto const response = get(id, row.query);
        EXPECT_EQ(response.status, 400) << row.query;
        EXPECT_EQ(response.code(), "invalid_parameter") << row.query;
        EXPECT_EQ(response.faults(),
                  (std::map<std::string, std::string>{{row.parameter, row.code}}))
            << row.query;
        // The query is checked before the existence of the key (api.md §3).
        EXPECT_EQ(get(999'999, row.query).status, 400) << row.query;
    }
    auto const wide = get(id, "?granularity=minute&from=" + text(now - 2 * day));
    for (auto const* const word : {"2881", "1440", "reduce", "coarser"})
        EXPECT_NE(wide.at("/detail").find(word), std::string::npos) << wide.at("/detail");
    // Exactly the limit.
    auto const start = now / minute * minute;
    EXPECT_EQ(
        get(id, "?granularity=minute&from=" + text(start - 1440 * minute) + "&to=" + text(start))
            .status,
        200);
    EXPECT_EQ(get(id, "?granularity=minute&from=" + text(start - 1440 * minute) +
                          "&to=" + text(start + 1))
                  .status,
              400);
}

TEST_F(usage, needs_its_scope_and_stays_in_the_project) {
    auto const key = service.add_key({"users:read"}, {.project = "mine", .rate_limits = {}});
    auto const id = service.last_key();
    auto const reader = service.add_key({"usage:read"}, {.project = "mine", .rate_limits = {}});
    auto const other = service.add_key({"usage:read"}, {.project = "other", .rate_limits = {}});
    as(key, "GET /api/v1/users");
    service.report_uses();
    EXPECT_EQ(sum(as(reader, path(id))), "1:1,0,0,0:0");
    EXPECT_EQ(as(other, path(id)).code(), "not_found");
    EXPECT_EQ(as(other, path(999'999)).body.size(), as(other, path(id)).body.size());
    EXPECT_EQ(sum(service.request(path(id))), "1:1,0,0,0:0");
    auto const refusal = as(key, path(id));
    EXPECT_EQ(refusal.code(), "insufficient_scope");
    EXPECT_NE(refusal.field("WWW-Authenticate").find("usage:read"), std::string::npos);
    EXPECT_EQ(
        as(service.add_key({"*:read"}, {.project = "mine", .rate_limits = {}}), path(id)).status,
        200);
    EXPECT_EQ(service.request(path(999'999)).code(), "not_found");
    EXPECT_EQ(service.request("GET /api/v1/keys/0/usage").code(), "not_found");
    EXPECT_EQ(service.request("GET /api/v1/keys/current/usage").code(), "not_found");
    auto const wrong = service.request("POST /api/v1/keys/1/usage", "{}");
    EXPECT_EQ(wrong.status, 405);
    EXPECT_EQ(wrong.field("Allow"), "GET, HEAD, OPTIONS");
}

// A point exists from the moment at which its hour begins.
TEST_F(usage, has_the_hour_that_begins_now) {
    service.add_key({"users:read"});
    service.now.wall += hour / 2 - 30'000;
    auto const begin = service.now.wall;
    ASSERT_EQ(begin % hour, 0);
    auto const starts = get(service.last_key()).json().at("data").as_array();
    EXPECT_EQ(starts.back().at("start").as_string(), text(begin));
    --service.now.wall;
    auto const points_before = get(service.last_key()).json().at("data").as_array();
    EXPECT_EQ(points_before.back().at("start").as_string(), text(begin - hour));
}

}  // namespace
}  // namespace latchkey::api
