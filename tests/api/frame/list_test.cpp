// Lists by page (api.md §7): elements, totals, links and the limit of pages.
#include "../harness.hpp"

namespace latchkey::api {
namespace {

using faults = std::map<std::string, std::string>;
using links = std::map<std::string, std::string>;
using model::post_status;

std::string ids_of(reply const& response) {
    std::string all;
    auto const whole = response.json();
    for (auto const& each : whole.at("data").as_array())
        all += (all.empty() ? "" : " ") + std::to_string(each.at("id").as_int64());
    return all;
}

class lists : public api_test {
  protected:
    void fill(int count) {
        for (int i = 0; i < count; ++i) service.add_user();
    }
};

TEST_F(lists, of_nothing) {
    for (std::string const path : {"users", "posts"}) {
        auto const response = service.request("GET /api/v1/" + path);
        EXPECT_EQ(response.status, 200);
        EXPECT_EQ(response.body, R"({"data":[],"pagination":{"page":1,"limit":20,"total":0,)"
                                 R"("total_pages":0,"has_more":false,"next_cursor":null}})");
        EXPECT_EQ(response.links(), (links{{"first", "/api/v1/" + path + "?page=1&limit=20"},
                                           {"last", "/api/v1/" + path + "?page=1&limit=20"}}));
    }
}

TEST_F(lists, pages) {
    fill(7);
    struct {
        std::string_view query, ids, page, limit, more;
    } const rows[] = {
        {"", "1 2 3 4 5 6 7", "1", "20", "false"},
        {"?limit=3", "1 2 3", "1", "3", "true"},
        {"?limit=3&page=2", "4 5 6", "2", "3", "true"},
        {"?page=3&limit=3", "7", "3", "3", "false"},
        {"?page=4&limit=3", "", "4", "3", "false"},
        {"?page=33333&limit=3", "", "33333", "3", "false"},
        {"?limit=7", "1 2 3 4 5 6 7", "1", "7", "false"},
        {"?limit=100", "1 2 3 4 5 6 7", "1", "100", "false"},
        {"?limit=101", "1 2 3 4 5 6 7", "1", "100", "false"},
        {"?limit=99999999999999999999999", "1 2 3 4 5 6 7", "1", "100", "false"},
        {"?sort=-id&limit=2", "7 6", "1", "2", "true"},
        {"?sort=-id&limit=2&page=4", "1", "4", "2", "false"},
        {"?sort=id&limit=2&page=2", "3 4", "2", "2", "true"},
    };
    for (auto const& row : rows) {
        auto const response = service.request("GET /api/v1/users" + std::string(row.query));
        EXPECT_EQ(ids_of(response), row.ids) << row.query;
        EXPECT_EQ(response.at("/pagination/page"), row.page) << row.query;
        EXPECT_EQ(response.at("/pagination/limit"), row.limit) << row.query;
        EXPECT_EQ(response.at("/pagination/has_more"), row.more) << row.query;
        EXPECT_EQ(response.at("/pagination/total"), "7") << row.query;
        auto const limit = std::stoul(std::string(row.limit));
        EXPECT_EQ(response.at("/pagination/total_pages"), std::to_string((7 + limit - 1) / limit));
    }
}

TEST_F(lists, links_are_exact) {
    fill(7);
    service.settings.base_url = "https://api.example.com";
    std::string const path = "https://api.example.com/api/v1/users?page=";
    EXPECT_EQ(service.request("GET /api/v1/users?limit=3").links(),
              (links{{"first", path + "1&limit=3"},
                     {"next", path + "2&limit=3"},
                     {"last", path + "3&limit=3"}}));
    EXPECT_EQ(service.request("GET /api/v1/users?page=2&limit=3&sort=-id").links(),
              (links{{"first", path + "1&limit=3&sort=-id"},
                     {"prev", path + "1&limit=3&sort=-id"},
                     {"next", path + "3&limit=3&sort=-id"},
                     {"last", path + "3&limit=3&sort=-id"}}));
    EXPECT_EQ(service.request("GET /api/v1/users?page=3&limit=3").links(),
              (links{{"first", path + "1&limit=3"},
                     {"prev", path + "2&limit=3"},
                     {"last", path + "3&limit=3"}}));
    // A page past the end has links back.
    EXPECT_EQ(service.request("GET /api/v1/users?page=9&limit=3").links().at("prev"),
              path + "3&limit=3");
    EXPECT_EQ(service.request("GET /api/v1/users?limit=500").links().at("first"),
              path + "1&limit=100");
    EXPECT_EQ(service.request("GET /api/v1/users").field("Link"),
              "<" + path + "1&limit=20>; rel=\"first\", <" + path + "1&limit=20>; rel=\"last\"");
}

// Following `next` yields every element once.
TEST_F(lists, next_visits_every_element) {
    fill(11);
    std::string ids, path = "/api/v1/users?limit=4&sort=-id";
    for (int turn = 0; turn < 9 && !path.empty(); ++turn) {
        auto const response = service.request("GET " + path);
        ids += ids_of(response) + " ";
        auto const all = response.links();
        path = all.contains("next") ? all.at("next") : "";
    }
    EXPECT_EQ(ids, "11 10 9 8 7 6 5 4 3 2 1 ");
}

TEST_F(lists, bad_values) {
    service.add_user();
    for (std::string const path : {"users", "posts", "users/1/posts"})
        for (std::string const name : {"page", "limit"})
            for (std::string const value : {"", "=", "=0", "=-1", "=1.0", "=1e1", "=x",
                                            "=%20"
                                            "1",
                                            "=+1", "=00", "=0x1"}) {
                auto const response = service.request("GET /api/v1/" + path + "?" + name + value);
                EXPECT_EQ(response.status, 400) << path << name << value;
                EXPECT_EQ(response.code(), "invalid_parameter");
                EXPECT_EQ(response.faults(), (faults{{name, "invalid_format"}}));
            }
    for (std::string const value : {"", "=", "=name", "=ID", "=%2Bid", "=-id,id", "=--id"})
        EXPECT_EQ(service.request("GET /api/v1/posts?sort" + value).faults(),
                  (faults{{"sort", "not_in_enum"}}))
            << value;
}

TEST_F(lists, reach_as_far_as_100000) {
    for (std::string const query : {"page=1000&limit=100", "page=5000", "page=100000&limit=1",
                                    "page=33333&limit=3", "page=1000&limit=5000"})
        EXPECT_EQ(service.request("GET /api/v1/users?" + query).status, 200) << query;
    for (std::string const query :
         {"page=1001&limit=100", "page=5001", "page=100001&limit=1", "page=33334&limit=3",
          "page=1001&limit=5000", "page=18446744073709551617",
          "page=9223372036854775807&limit=2"}) {
        auto const response = service.request("GET /api/v1/users?" + query);
        EXPECT_EQ(response.code(), "invalid_parameter") << query;
        EXPECT_EQ(response.faults(), (faults{{"page", "out_of_range"}})) << query;
        EXPECT_NE(response.at("/detail").find("cursor"), std::string::npos) << response.body;
    }
}

TEST_F(lists, users_by_address) {
    service.add_user("Ada", "Ada+x@Example.com");
    fill(2);
    for (std::string const email : {"Ada%2Bx@Example.com", "ada%2bx%40EXAMPLE.com"}) {
        auto const response = service.request("GET /api/v1/users?email=" + email);
        EXPECT_EQ(ids_of(response), "1") << email;
        EXPECT_EQ(response.at("/pagination/total"), "1");
        EXPECT_EQ(response.at("/pagination/total_pages"), "1");
    }
    EXPECT_EQ(service.request("GET /api/v1/users?email=Ada%2Bx@Example.com").links().at("first"),
              "/api/v1/users?page=1&limit=20&email=Ada%2Bx%40Example.com");
    for (std::string const query : {"nobody@x.y", "", "ada", "Ada+x@Example.com"}) {
        auto const response = service.request("GET /api/v1/users?email=" + query);
        EXPECT_EQ(ids_of(response), "") << query;
        EXPECT_EQ(response.at("/pagination/total"), "0");
    }
    EXPECT_EQ(ids_of(service.request("GET /api/v1/users?page=2&email=Ada%2Bx@Example.com")), "");
}

TEST_F(lists, posts_by_author_and_status) {
    auto const one = service.add_user(), two = service.add_user();
    for (auto const status :
         {post_status::draft, post_status::published, post_status::archived, post_status::draft}) {
        service.add_post(one, status);  // 1 3 5 7
        service.add_post(two, status);  // 2 4 6 8
    }
    struct {
        std::string_view query, ids;
    } const rows[] = {
        {"", "1 2 3 4 5 6 7 8"},
        {"?author=1", "1 3 5 7"},
        {"?user_id=2", "2 4 6 8"},
        {"?author=1&user_id=1", "1 3 5 7"},
        {"?status=draft", "1 2 7 8"},
        {"?status=published", "3 4"},
        {"?status=archived&sort=-id", "6 5"},
        {"?author=2&status=draft", "2 8"},
        {"?status=draft&user_id=2&sort=-id", "8 2"},
        {"?author=77", ""},
        {"?author=77&status=draft", ""},
    };
    for (auto const& row : rows) {
        auto const response = service.request("GET /api/v1/posts" + std::string(row.query));
        EXPECT_EQ(ids_of(response), row.ids) << row.query;
        auto const whole = response.json();
        EXPECT_EQ(response.at("/pagination/total"),
                  std::to_string(whole.at("data").as_array().size()));
    }
    auto const response = service.request("GET /api/v1/posts?status=draft&author=1&limit=1");
    EXPECT_EQ(response.at("/pagination/total"), "2");
    EXPECT_EQ(response.links().at("next"), "/api/v1/posts?page=2&limit=1&author=1&status=draft");
    EXPECT_EQ(ids_of(service.request("GET " + response.links().at("next"))), "7");
    EXPECT_EQ(service.request("GET /api/v1/posts?user_id=2").links().at("first"),
              "/api/v1/posts?page=1&limit=20&user_id=2");
}

TEST_F(lists, bad_filters) {
    for (std::string const name : {"author", "user_id"})
        for (std::string const value : {"", "=", "=0", "=x", "=-1", "=1.0", "=9007199254740992"})
            EXPECT_EQ(service.request("GET /api/v1/posts?" + name + value).faults(),
                      (faults{{name, "invalid_format"}}))
                << value;
    for (std::string const value : {"", "=open", "=Draft", "=draft,published"})
        EXPECT_EQ(service.request("GET /api/v1/posts?status" + value).faults(),
                  (faults{{"status", "not_in_enum"}}))
            << value;
    auto const response = service.request("GET /api/v1/posts?author=1&user_id=2");
    EXPECT_EQ(response.status, 400);
    EXPECT_EQ(response.code(), "conflicting_parameters");
}

// Of any length, beside a cursor or not: a refused text does not enter the name of a list.
TEST_F(lists, long_filters_are_refused) {
    auto const key =
        service.add_key({"keys:read", "audit:read"}, {.project = "a", .rate_limits = {}});
    for (std::string const filter :
         {"posts?status", "posts?author", "events?source", "keys?project", "keys?start",
          "keys?state", "keys?environment", "keys?unused_since", "audit?project", "audit?action",
          "audit?key", "audit?from", "audit?to"}) {
        auto const name = filter.substr(filter.find('?') + 1);
        for (std::size_t const bytes : {65u, 200u, 300u, 320u, 340u, 360u, 384u, 400u, 4096u})
            for (std::string const rest : {"", "&cursor=x", "&sort=x", "&x=y"}) {
                auto const line = "GET /api/v1/" + filter + "=" + std::string(bytes, 'a') + rest;
                auto const response = service.request(line);
                EXPECT_EQ(response.status, 400) << line;
                EXPECT_TRUE(response.faults().contains(name)) << line << response.body;
            }
    }
    auto const text = std::string(4096, 'a');
    EXPECT_EQ(service.request("GET /api/v1/users?email=" + text).status, 200);
    for (std::string const filter : {"keys?project=", "audit?project="})
        EXPECT_EQ(
            service.request_anonymous("GET /api/v1/" + filter + text, {}, {bearer(key)}).status,
            400)
            << filter;
}

TEST_F(lists, posts_of_a_user) {
    auto const one = service.add_user(), two = service.add_user();
    for (int i = 0; i < 3; ++i) service.add_post(one), service.add_post(two);
    EXPECT_EQ(ids_of(service.request("GET /api/v1/users/1/posts")), "1 3 5");
    auto const response = service.request("GET /users/2/posts?limit=2&sort=-id");
    EXPECT_EQ(ids_of(response), "6 4");
    EXPECT_EQ(response.links().at("next"), "/api/v1/users/2/posts?page=2&limit=2&sort=-id");
    EXPECT_EQ(response.at("/pagination/total"), "3");
    EXPECT_EQ(service.request("GET /api/v1/users/3/posts").code(), "not_found");
    EXPECT_EQ(service.request("GET /api/v1/users/1/posts?status=draft").code(),
              "invalid_parameter");
}

}  // namespace
}  // namespace latchkey::api
