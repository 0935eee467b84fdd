// Lists by cursor (api.md §7): iteration, the list that a cursor is bound to, and forged cursors.
#include "api/frame/cursor.hpp"

#include <set>

#include "../harness.hpp"

namespace latchkey::api {
namespace {

using faults = std::map<std::string, std::string>;
using links = std::map<std::string, std::string>;
using model::post_status;

class cursors : public api_test {
  protected:
    static std::vector<model::id> ids_of(reply const& response) {
        std::vector<model::id> all;
        auto const whole = response.json();
        for (auto const& each : whole.at("data").as_array())
            all.push_back(each.at("id").as_int64());
        return all;
    }
    static std::string next_of(reply const& response) {
        auto const text = response.at("/pagination/next_cursor");
        return text == "null" ? std::string() : text.substr(1, text.size() - 2);
    }
    static std::string with(std::string const& target, std::string const& cursor) {
        return target + (target.find('?') == target.npos ? "?" : "&") + "cursor=" + cursor;
    }
    reply get(std::string const& target) { return service.request("GET /api/v1" + target); }
    std::string first_cursor(std::string const& target) {
        auto const response = get(target);
        EXPECT_EQ(response.status, 200) << target;
        EXPECT_NE(next_of(response), "") << target;
        return next_of(response);
    }
    void expect_invalid(std::string const& target) {
        auto const response = get(target);
        EXPECT_EQ(response.status, 400) << target;
        EXPECT_EQ(response.code(), "invalid_cursor") << target;
        EXPECT_EQ(response.faults(), (faults{{"cursor", "invalid_format"}})) << target;
    }
    // Three users; every status of posts by each of them, 18 in all; 5 keys and their audit.
    void fill() {
        for (int i = 0; i < 3; ++i) service.add_user();
        for (int i = 0; i < 6; ++i)
            for (model::id user = 1; user <= 3; ++user)
                service.add_post(user, static_cast<post_status>(i % 3));
        for (int i = 0; i < 4; ++i)
            service.add_key({"users:read"}, {.project = i < 3 ? "a" : "b", .name = "a named key"});
    }
};

TEST_F(cursors, lead_through_every_list) {
    fill();
    for (std::string const target : {"/users?limit=1",
                                     "/users?limit=2&sort=-id",
                                     "/posts?limit=5",
                                     "/posts?limit=4&sort=-id",
                                     "/posts?author=2&limit=1",
                                     "/posts?status=draft&limit=2&sort=-id",
                                     "/posts?user_id=3&status=archived&limit=1",
                                     "/users/2/posts?limit=2",
                                     "/keys?limit=2",
                                     "/keys?project=a&limit=1&sort=-id",
                                     "/keys?environment=development&limit=2",
                                     "/keys?state=active&limit=2",
                                     "/keys?unused_since=2100-01-01T00:00:00Z&limit=2",
                                     "/audit?limit=2",
                                     "/audit?project=a&limit=1&sort=-id",
                                     "/users?search=USER&limit=1",
                                     "/users?search=example.COM&limit=2&sort=-id",
                                     "/keys?search=NAMED&limit=1",
                                     "/audit?action=key.create&limit=2",
                                     "/audit?to=2100-01-01T00:00:00Z&limit=1&sort=-id",
                                     "/audit?from=2020-01-01T00:00:00Z&limit=2",
                                     "/audit?project=a&to=2100-01-01T00:00:00Z&limit=2"}) {
        std::string everything = target;
        everything.replace(target.find("limit="), 7, "limit=100");
        auto const expected = ids_of(get(everything));
        ASSERT_GE(expected.size(), 2u) << target;
        std::vector<model::id> ids;
        auto response = get(target);
        auto const total = response.at("/pagination/total");
        EXPECT_EQ(total, std::to_string(expected.size())) << target;
        for (int pages = 1;; ++pages) {
            ASSERT_EQ(response.status, 200) << target << response.body;
            ASSERT_LE(pages, 20) << target;
            for (auto const id : ids_of(response)) ids.push_back(id);
            EXPECT_EQ(response.at("/pagination/total"), total);
            EXPECT_EQ(response.at("/pagination/page"), pages == 1 ? "1" : "null") << target;
            EXPECT_EQ(response.at("/pagination/total_pages") == "null", pages > 1) << target;
            auto const next = next_of(response);
            EXPECT_EQ(next.empty(), response.at("/pagination/has_more") == "false");
            if (next.empty()) break;
            response = get(with(target, next));
        }
        EXPECT_EQ(ids, expected) << target;
    }
}

TEST_F(cursors, have_links_of_their_own) {
    fill();
    service.settings.base_url = "https://api.example.com";
    auto const first = next_of(get("/posts?limit=2&author=1&sort=-id"));
    auto const response = get("/posts?limit=3&author=1&sort=-id&cursor=" + first);
    std::string const path = "https://api.example.com/api/v1/posts?";
    EXPECT_EQ(
        response.links(),
        (links{{"first", path + "page=1&limit=3&sort=-id&author=1"},
               {"next", path + "cursor=" + next_of(response) + "&limit=3&sort=-id&author=1"}}));
    service.settings.base_url.clear();
    auto const last =
        get("/users/1/posts?limit=5&cursor=" + first_cursor("/users/1/posts?limit=5"));
    EXPECT_EQ(last.links(), (links{{"first", "/api/v1/users/1/posts?page=1&limit=5"}}));
}

// Each cursor has its expected bytes, and a change of any byte is detected.
TEST_F(cursors, are_opaque_and_cannot_be_changed) {
    fill();
    auto const cursor = first_cursor("/posts?limit=2");
    EXPECT_EQ(cursor.size(), 32u);
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (std::size_t i = 0; i < cursor.size(); ++i) {
        auto const value = digits.find(cursor[i]);
        ASSERT_NE(value, digits.npos);
        for (unsigned bit = 0; bit < 6; ++bit) {
            auto corrupted = cursor;
            corrupted[i] = digits[value ^ 1u << bit];
            expect_invalid("/posts?limit=2&cursor=" + corrupted);
        }
    }
    expect_invalid("/posts?cursor=" + cursor.substr(1));
    expect_invalid("/posts?cursor=" + cursor.substr(0, 31));
    expect_invalid("/posts?cursor=" + cursor + "A");
    expect_invalid("/posts?cursor=" + cursor + "%3D");
    expect_invalid("/posts?cursor=" + cursor.substr(0, 31) + "%01");
    EXPECT_EQ(get("/posts?limit=2&cursor=" + cursor).status, 200);
}

TEST_F(cursors, of_any_other_form_are_refused) {
    fill();
    for (std::string const& text :
         {std::string(), std::string("x"), std::string(32, 'A'), std::string(256, 'A'),
          std::string(257, 'A'), std::string(2000, '_'), std::string("null"), std::string("%20"),
          std::string("18"), std::string("%C3%A4")})
        for (std::string const path : {"/users", "/posts", "/users/1/posts", "/keys", "/audit"})
            expect_invalid(path + "?cursor=" + text);
    expect_invalid("/users?cursor");
}

TEST_F(cursors, exclude_pages) {
    fill();
    auto const cursor = first_cursor("/posts?limit=2");
    for (std::string const& query : {"?page=1&cursor=" + cursor, "?cursor=" + cursor + "&page=2",
                                     std::string("?page=1&cursor=x"), std::string("?cursor&page")})
        EXPECT_EQ(get("/posts" + query).code(), "conflicting_parameters") << query;
}

TEST_F(cursors, take_another_limit) {
    fill();
    auto const cursor = first_cursor("/posts?limit=2");
    EXPECT_EQ(ids_of(get("/posts?limit=3&cursor=" + cursor)), (std::vector<model::id>{3, 4, 5}));
    EXPECT_EQ(ids_of(get("/posts?limit=5000&cursor=" + cursor)).size(), 16u);
    EXPECT_EQ(get("/posts?limit=5000&cursor=" + cursor).at("/pagination/limit"), "100");
    EXPECT_EQ(ids_of(get("/posts?cursor=" + cursor)).size(), 16u);
}

TEST_F(cursors, are_bound_to_path_filters_and_order) {
    fill();
    for (model::id const id : {2, 3})
        for (int i = 0; i < 2; ++i)
            for (std::string const action : {"/deactivate", "/reactivate"})
                service.request("POST /api/v1/keys/" + std::to_string(id) + action);
    std::string const lists[] = {"/users?limit=1",
                                 "/users?limit=1&sort=-id",
                                 "/posts?limit=1",
                                 "/posts?limit=1&sort=-id",
                                 "/posts?limit=1&author=1",
                                 "/posts?limit=1&author=2",
                                 "/posts?limit=1&status=draft",
                                 "/posts?limit=1&status=published",
                                 "/posts?limit=1&author=1&status=draft",
                                 "/users/1/posts?limit=1",
                                 "/users/2/posts?limit=1",
                                 "/keys?limit=1",
                                 "/keys?limit=1&project=a",
                                 "/keys?limit=1&state=active",
                                 "/keys?limit=1&environment=development",
                                 "/keys?limit=1&unused_since=2100-01-01T00:00:00Z",
                                 "/keys?limit=1&unused_since=2100-01-01T00:00:01Z",
                                 "/users?limit=1&search=user",
                                 "/users?limit=1&search=example",
                                 "/keys?limit=1&search=a",
                                 "/keys?limit=1&search=named",
                                 "/keys?limit=1&search=named&project=a",
                                 "/audit?limit=1",
                                 "/audit?limit=1&project=a",
                                 "/audit?limit=1&action=key.create",
                                 "/audit?limit=1&action=key.deactivate",
                                 "/audit?limit=1&key=1",
                                 "/audit?limit=1&key=2",
                                 "/audit?limit=1&from=2020-01-01T00:00:00Z",
                                 "/audit?limit=1&to=2100-01-01T00:00:00Z",
                                 "/audit?limit=1&to=2100-01-01T00:00:01Z"};
    for (auto const& source_list : lists) {
        auto const cursor = first_cursor(source_list);
        for (auto const& target_list : lists)
            if (source_list == target_list)
                EXPECT_EQ(get(with(target_list, cursor)).status, 200) << target_list;
            else
                expect_invalid(with(target_list, cursor));
    }
    expect_invalid("/users?email=user1@example.com&cursor=" + first_cursor("/users?limit=1"));
}

// In every spelling of the same list.
TEST_F(cursors, know_a_list_by_its_meaning) {
    fill();
    EXPECT_EQ(
        get("/posts?user_id=1&sort=id&cursor=" + first_cursor("/posts?author=1&limit=1")).status,
        200);
    EXPECT_EQ(service.request("GET /posts?cursor=" + first_cursor("/posts?limit=1")).status, 200);
    EXPECT_EQ(
        get("/posts?status=%64raft&cursor=" + first_cursor("/posts?status=draft&limit=1")).status,
        200);
    EXPECT_EQ(get("/keys?unused_since=2100-01-01T00:00:00.000Z&cursor=" +
                  first_cursor("/keys?unused_since=2100-01-01T00:00:00Z&limit=1"))
                  .status,
              200);
}

TEST_F(cursors, are_bound_to_the_visible_project) {
    fill();
    service.key = service.add_key({"keys:read", "audit:read"}, {.project = "a"});
    auto const keys = first_cursor("/keys?limit=1"), audit = first_cursor("/audit?limit=1");
    EXPECT_EQ(get("/keys?cursor=" + keys).status, 200);
    EXPECT_EQ(get("/keys?project=a&cursor=" + keys).status, 200) << "the same list";
    service.add_key({"users:read"}, {.project = "b"});
    service.key = service.add_key({"keys:read", "audit:read"}, {.project = "b"});
    expect_invalid("/keys?cursor=" + keys);
    expect_invalid("/audit?cursor=" + audit);
    EXPECT_EQ(get("/keys?cursor=" + first_cursor("/keys?limit=1")).status, 200);
    service.key = service.add_key({"*"});
    expect_invalid("/keys?cursor=" + keys);
    EXPECT_EQ(get("/keys?project=a&cursor=" + keys).status, 200);
}

TEST_F(cursors, of_another_store_are_refused) {
    fill();
    api_fixture other;
    for (int i = 0; i < 3; ++i) other.add_user();
    auto const foreign = next_of(other.request("GET /api/v1/users?limit=1"));
    ASSERT_EQ(foreign.size(), 32u);
    EXPECT_EQ(other.request("GET /api/v1/users?cursor=" + foreign).status, 200);
    expect_invalid("/users?cursor=" + foreign);
}

TEST_F(cursors, of_the_posts_of_a_user_continue_after_an_included_page) {
    service.add_user();
    for (int i = 0; i < 130; ++i) service.add_post(1);
    auto const user = get("/users/1?include=posts");
    auto const text = user.at("/posts_pagination/next_cursor");
    ASSERT_EQ(text.size(), 34u) << user.at("/posts_pagination");
    auto const rest = get("/users/1/posts?limit=100&cursor=" + text.substr(1, 32));
    auto const ids = ids_of(rest);
    ASSERT_EQ(ids.size(), 30u);
    EXPECT_EQ(ids.front(), 101);
    EXPECT_EQ(ids.back(), 130);
    EXPECT_EQ(next_of(rest), "");
}

// Beyond page × limit = 100,000 the link to the next page is by cursor, before by page.
TEST_F(cursors, are_in_the_next_link_after_the_last_page) {
    fill();
    auto const response = get("/users?limit=1&page=2");
    EXPECT_EQ(response.links().at("next"), "/api/v1/users?page=3&limit=1");
    EXPECT_EQ(ids_of(get("/users?limit=1&cursor=" + next_of(response))),
              (std::vector<model::id>{3}));
}

TEST_F(cursors, continue_after_their_element_is_deleted) {
    fill();
    auto const ascending = first_cursor("/posts?limit=6"),
               descending = first_cursor("/posts?limit=6&sort=-id");
    for (model::id id : {5, 6, 7, 12, 13, 14})
        EXPECT_EQ(service.request("DELETE /api/v1/posts/" + std::to_string(id)).status, 204);
    service.add_post(1);
    EXPECT_EQ(ids_of(get("/posts?limit=4&cursor=" + ascending)),
              (std::vector<model::id>{8, 9, 10, 11}));
    EXPECT_EQ(ids_of(get("/posts?limit=4&sort=-id&cursor=" + descending)),
              (std::vector<model::id>{11, 10, 9, 8}));
    EXPECT_EQ(get("/posts?cursor=" + ascending).at("/pagination/total"), "13");
}

TEST_F(cursors, of_a_deleted_user_are_not_found) {
    fill();
    auto const cursor = first_cursor("/users/1/posts?limit=1");
    service.remove_user(1);
    EXPECT_EQ(get("/users/1/posts?cursor=" + cursor).code(), "not_found");
    expect_invalid("/users/1/posts?cursor=x");
}

// Computed with Python's hmac and base64 as the header describes; also in the fuzzer's corpus.
TEST(cursor_texts, have_the_documented_format) {
    auth::mac const cursors(std::array<char, 32>{'f', 'u', 'z', 'z'});
    list_name list("/api/v1/posts");
    list.add("status", "draft");
    constexpr std::string_view text = "AAAAAAAAABQLT0jHhx-gwaoNs619Ea36";
    EXPECT_EQ(text_of(make_cursor(cursors, list, 20)), text);
    EXPECT_EQ(read_cursor(cursors, list, text), 20);
}

// Two lists with one name would accept each other's cursors.
TEST(list_names, are_unambiguous) {
    std::set<std::string> ids;
    auto const add = [&](std::vector<std::pair<std::string, std::string>> const& members) {
        list_name name("/p");
        for (auto const& [member, value] : members) name.add(member, value);
        EXPECT_TRUE(ids.emplace(name.bytes()).second);
    };
    add({});
    add({{"", ""}});
    add({{"a", "bc"}});
    add({{"ab", "c"}});
    add({{"abc", ""}});
    add({{"a", "b"}, {"c", ""}});
    add({{"a", ""}, {"b", "c"}});
}

// An invalid digit decoded as all ones could change the digit before it and still be accepted.
TEST_F(cursors, have_one_text_each) {
    list_name const list("/users");
    int corrupted = 0;
    for (model::id last = 1; last < 2000; ++last) {
        auto const response = make_cursor(service.services().cursors, list, last);
        std::string text(text_of(response));
        EXPECT_EQ(read_cursor(service.services().cursors, list, text), last);
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] != '_') continue;
            text[i] = '*';
            EXPECT_EQ(read_cursor(service.services().cursors, list, text), std::nullopt) << text;
            text[i] = '_';
            ++corrupted;
        }
    }
    EXPECT_GT(corrupted, 500);
}

}  // namespace
}  // namespace latchkey::api
