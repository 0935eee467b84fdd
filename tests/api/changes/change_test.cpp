// GET /changes (api.md §16): what is told, in which order, and to whom.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "../dear_requests.hpp"
#include "api/frame/request_context.hpp"
#include "base/limits.hpp"

namespace latchkey::api {
namespace {

class changes : public api_test {
  protected:
    // What came before the test: the keys of the fixture.
    changes() { bound_ = last(); }

    reply get(std::string const& query = {}) {
        return service.request("GET /api/v1/changes?" + query);
    }
    reply get_as(std::string const& key, std::string const& query = {}) {
        return service.request_anonymous("GET /api/v1/changes?" + query, {}, {bearer(key)});
    }
    model::id last() { return std::stoll(get("after=latest").at("/pagination/next_after")); }
    std::string beyond() const { return "after=" + std::to_string(bound_); }
    // "type subject" of each.
    static std::vector<std::string> told(reply const& page) {
        std::vector<std::string> all;
        auto const document = page.json();
        for (auto const& each : document.at("data").as_array()) {
            auto const& data = each.at("data").as_object();
            all.push_back(std::string(each.at("type").as_string()) + " " +
                          (data.contains("id") ? std::to_string(data.at("id").as_int64())
                                               : std::string(data.at("source").as_string())));
        }
        return all;
    }

    model::id bound_ = 0;
};

using texts = std::vector<std::string>;

TEST_F(changes, tell_each_kind_of_record_as_the_api_shows_it) {
    auto const user = service.request("POST /api/v1/users", R"({"name":"A\"","email":"a@b.cd"})");
    auto const post =
        service.request("POST /api/v1/posts", R"({"user_id":1,"title":"T","body":"B"})");
    auto const key = service.request("POST /api/v1/keys", R"({"name":"k","scopes":["*"]})");
    service.request("POST /api/v1/events/shop", R"({"a":[1.50]})");
    service.request("PUT /api/v1/events/shop/secret", "{}");
    auto const page = get(beyond());
    EXPECT_EQ(page.status, 200);
    auto const key_id = std::to_string(key.id());
    EXPECT_EQ(told(page), (texts{"user.created 1", "post.created 1", "key.created " + key_id,
                                 "event.received 1", "event_secret.changed shop"}));
    EXPECT_EQ(page.at("/data/0/data"), user.at(""));
    EXPECT_EQ(page.at("/data/1/data"), post.at(""));
    auto shown_count = key.json().as_object();
    shown_count.erase("key");
    EXPECT_EQ(page.json().at_pointer("/data/2/data"), boost::json::value(shown_count));
    EXPECT_EQ(page.at("/data/3/data"), service.request("GET /api/v1/events/1").at(""));
    EXPECT_EQ(page.at("/data/4/data"), R"({"source":"shop","format":"standard","removed":false})");
    EXPECT_EQ(page.at("/data/0/sequence"), std::to_string(bound_ + 1));
    EXPECT_EQ(page.at("/data/0/key_id"), user.status == 201 ? std::to_string(1) : "");
    EXPECT_EQ(page.at("/data/0/occurred_at"), page.at("/data/0/data/created_at"));
    EXPECT_EQ(page.field("Cache-Control"), "private, no-cache");
    EXPECT_EQ(page.body.find("whsec_"), page.body.npos);
}

TEST_F(changes, tell_what_a_post_and_a_key_went_through) {
    service.add_user();
    service.add_post(1);
    bound_ = last();
    auto const patch = [&](std::string_view line, std::string_view body) {
        EXPECT_EQ(service.request(line, body).status, 200) << line << body;
    };
    patch("PATCH /api/v1/posts/1", R"({"title":"Other"})");
    patch("PATCH /api/v1/posts/1", R"({"status":"published"})");
    patch("PATCH /api/v1/posts/1", R"({"status":"archived"})");
    patch("PATCH /api/v1/users/1", R"({"name":"Other"})");
    service.add_key({"users:read"});
    auto const id = std::to_string(service.last_key());
    patch("PATCH /api/v1/keys/" + id, R"({"name":"other"})");
    patch("POST /api/v1/keys/" + id + "/deactivate", "");
    patch("POST /api/v1/keys/" + id + "/reactivate", "");
    auto const rotated = service.request("POST /api/v1/keys/" + id + "/rotate");
    auto const next = std::to_string(rotated.id());
    EXPECT_EQ(service.request("DELETE /api/v1/users/1").status, 204);
    auto const page = get(beyond());
    EXPECT_EQ(told(page),
              (texts{"post.updated 1", "post.published 1", "post.archived 1", "user.updated 1",
                     "key.created " + id, "key.updated " + id, "key.deactivated " + id,
                     "key.reactivated " + id, "key.rotated " + id, "key.created " + next,
                     "user.deleted 1", "post.deleted 1"}));
    EXPECT_EQ(page.at("/data/6/data/state"), "\"deactivated\"");
    EXPECT_EQ(page.at("/data/10/data/name"), "\"Other\"") << "the last state of a deleted one";
}

TEST_F(changes, are_not_told_of_what_did_not_change_or_was_refused) {
    service.add_user("Ada", "ada@example.org");
    bound_ = last();
    EXPECT_EQ(service.request("POST /api/v1/users", R"({"name":"A"})").status, 422);
    EXPECT_EQ(
        service.request("POST /api/v1/users", R"({"name":"A","email":"ada@example.org"})").status,
        409);
    EXPECT_EQ(service.request("DELETE /api/v1/users/77").status, 404);
    EXPECT_EQ(service.request("GET /api/v1/users").status, 200);
    EXPECT_EQ(told(get(beyond())), texts{});
    lines const once{"Idempotency-Key: one"};
    service.request("POST /api/v1/users", R"({"name":"A","email":"a@b.cd"})", once);
    service.request("POST /api/v1/users", R"({"name":"A","email":"a@b.cd"})", once);
    EXPECT_EQ(told(get(beyond())), texts{"user.created 2"});
}

TEST_F(changes, come_by_pages_that_leave_out_none) {
    for (int i = 0; i < 7; ++i) service.add_user();
    model::id position = bound_;
    texts all;
    for (int page_number = 0; page_number < 4; ++page_number) {
        auto const page = get("limit=2&after=" + std::to_string(position));
        for (auto& each : told(page)) all.push_back(each);
        position = std::stoll(page.at("/pagination/next_after"));
        EXPECT_EQ(page.at("/pagination/has_more"), page_number < 3 ? "true" : "false");
        EXPECT_EQ(page.at("/pagination/oldest"), "1");
    }
    EXPECT_EQ(all.size(), 7u);
    EXPECT_EQ(all.front(), "user.created 1");
    EXPECT_EQ(all.back(), "user.created 7");
    EXPECT_EQ(position, last());
    EXPECT_EQ(told(get("limit=5000")).size(), static_cast<std::size_t>(last()));
    EXPECT_EQ(get().at("/data/0/sequence"), "1") << "from the oldest";
    EXPECT_EQ(told(get("after=latest")), texts{});
}

TEST_F(changes, end_a_page_where_it_gets_long) {
    service.add_user();
    bound_ = last();
    std::string const body(50'000, 'x');
    for (int i = 0; i < 30; ++i)
        EXPECT_EQ(service
                      .request("POST /api/v1/posts",
                               R"({"user_id":1,"title":"T","body":")" + body + "\"}")
                      .status,
                  201);
    auto const page = get(beyond());
    EXPECT_EQ(told(page).size(), 21u) << "of 30, since a MiB is enough";
    EXPECT_EQ(page.at("/pagination/has_more"), "true");
    EXPECT_EQ(told(get("after=" + page.at("/pagination/next_after"))).size(), 9u);
}

// Of which none is shown, each costs what its record does: 16 us.
TEST_F(changes, end_a_page_where_much_was_read_in_vain) {
    auto const user = service.add_user();
    bound_ = last();
    std::vector<domain::command> commands;
    for (int i = 0; i < 150; ++i) {
        commands.push_back({.action = domain::create_post{user, "T", std::string(65'000, 'x')}});
        if (commands.size() == 25) service.commit_all(std::exchange(commands, {}));
    }
    auto const end = last();
    int pages = 0;
    for (auto position = bound_; position != end; ++pages) {
        auto const page = get("type=post.deleted&after=" + std::to_string(position));
        EXPECT_LE(service.turn_cost, base::limits::page_cost_max + 50'000);
        EXPECT_EQ(told(page), texts{});
        auto const next = std::stoll(page.at("/pagination/next_after"));
        EXPECT_EQ(page.at("/pagination/has_more"), next == end ? "false" : "true");
        ASSERT_GT(next, position);
        position = next;
    }
    EXPECT_EQ(pages, 2);
}

TEST_F(changes, of_which_a_stream_shows_none_are_passed_over_in_steps) {
    bound_ = last();
    std::vector<domain::command> commands;
    for (int i = 0; i < 450; ++i) {
        commands.push_back(
            {.action = domain::create_user{"A", std::to_string(i) + "@example.org"}});
        if (commands.size() == 50) service.commit_all(std::exchange(commands, {}));
    }
    auto const dearest = follow_changes(service, "?type=post.deleted&" + beyond());
    EXPECT_EQ(dearest.count, 3u) << "of 200 at most";
    EXPECT_LT(dearest.cost, step_cost_max / 2) << "what is read would allow more";
}

TEST_F(changes, can_be_narrowed_to_types) {
    service.add_user();
    service.add_post(1);
    service.add_key({"users:read"});
    auto const types_of = [&](std::string const& type) {
        texts all;
        for (auto const& each : told(get(beyond() + "&type=" + type)))
            all.push_back(each.substr(0, each.find(' ')));
        return all;
    };
    EXPECT_EQ(types_of("user.*"), texts{"user.created"});
    EXPECT_EQ(types_of("post.created,key.*"), (texts{"post.created", "key.created"}));
    EXPECT_EQ(types_of("*"), (texts{"user.created", "post.created", "key.created"}));
    EXPECT_EQ(types_of("post.deleted"), texts{});
    auto const page = get(beyond() + "&type=post.deleted");
    EXPECT_EQ(page.at("/pagination/next_after"), std::to_string(last()));
    EXPECT_EQ(page.at("/pagination/has_more"), "false");
}

TEST_F(changes, refuse_parameters_that_are_not_valid) {
    for (std::string const query :
         {"after=x", "after=-1", "after=01", "after=", "limit=0", "limit=x", "type=", "type=user",
          "type=users.*", "type=user.created,", "type=user.*%20", "page=1", "cursor=a", "sort=id",
          "type=user.created%2C%2Cpost.*"}) {
        auto const response = get(query);
        EXPECT_EQ(response.status, 400) << query;
        EXPECT_EQ(response.code(), "invalid_parameter") << query;
    }
    auto const beyond_all = get("after=" + std::to_string(bound_ + 1));
    EXPECT_EQ(beyond_all.code(), "invalid_parameter");
    EXPECT_EQ(beyond_all.faults(), (std::map<std::string, std::string>{{"after", "out_of_range"}}));
    EXPECT_EQ(get(beyond()).status, 200);
}

TEST_F(changes, beyond_those_of_a_node_are_none_yet) {
    service.settings.in_cluster = true;
    auto const page = get("after=" + std::to_string(bound_ + 10));
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(told(page), texts{});
    EXPECT_EQ(page.at("/pagination/next_after"), std::to_string(bound_ + 10));
}

TEST_F(changes, show_callers_without_all_scopes_the_keys_of_their_project) {
    service.add_user();
    auto const own = service.add_key({"changes:read"}, {.project = "shop", .rate_limits = {}});
    auto const own_id = std::to_string(service.last_key());
    service.add_key({"changes:read"}, {.project = "other", .rate_limits = {}});
    EXPECT_EQ(told(get_as(own, beyond())), (texts{"user.created 1", "key.created " + own_id}));
    EXPECT_EQ(told(get(beyond())).size(), 3u);
}

TEST_F(changes, need_their_scope) {
    for (auto const* const enough : {"changes:read", "changes:*", "*:read"})
        EXPECT_EQ(get_as(service.add_key({enough})).status, 200) << enough;
    auto const response = get_as(service.add_key({"audit:read", "events:*", "*:write"}));
    EXPECT_EQ(response.code(), "insufficient_scope");
}

TEST_F(changes, are_not_there_where_they_are_not_recorded) {
    service.settings.records_changes = false;
    EXPECT_EQ(get().code(), "not_found");
}

}  // namespace
}  // namespace latchkey::api
