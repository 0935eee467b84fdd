// Users (api.md §5): members and their faults, the semantics of each method.
#include "../harness.hpp"

namespace latchkey::api {
namespace {

using faults = std::map<std::string, std::string>;

std::string times(std::string_view piece, std::size_t count) {
    std::string response;
    for (std::size_t i = 0; i < count; ++i) response += piece;
    return response;
}
std::string user_text(std::string_view name, std::string_view email) {
    return R"({"name":")" + std::string(name) + R"(","email":")" + std::string(email) + "\"}";
}
std::string path_of(model::id id) {
    return "/api/v1/users/" + std::to_string(id);
}

class users : public api_test {
  protected:
    void expect_faults(std::string_view line, std::string_view body, faults const& expected) {
        auto const response = service.request(line, body);
        EXPECT_EQ(response.status, 422) << line << body;
        EXPECT_EQ(response.code(), "validation_failed") << line << body;
        EXPECT_EQ(response.faults(), expected) << line << body;
    }
};

TEST_F(users, are_made) {
    service.settings.base_url = "https://api.example.com";
    auto const response =
        service.request("POST /api/v1/users", user_text("Ada \\\"L\\\"", "Ada@Example.com"));
    EXPECT_EQ(response.status, 201);
    EXPECT_EQ(response.field("Location"), "https://api.example.com/api/v1/users/1");
    EXPECT_EQ(response.at("/id"), "1");
    EXPECT_EQ(response.at("/name"), R"("Ada \"L\"")");
    EXPECT_EQ(response.at("/email"), R"("Ada@Example.com")");
    EXPECT_EQ(response.at("/created_at"), response.at("/updated_at"));
    EXPECT_EQ(response.at("/created_at").size(), base::timestamp_bytes + 2);
    auto const whole = response.json();
    EXPECT_EQ(whole.as_object().size(), 5u);
    EXPECT_EQ(service.request("GET /api/v1/users/1").body, response.body);
    EXPECT_EQ(service.request("POST /api/v1/users", user_text("Eve", "e@x.y")).at("/id"), "2");
    service.settings.base_url.clear();
    EXPECT_EQ(service.request("POST /api/v1/users", user_text("Eve", "f@x.y")).field("Location"),
              "/api/v1/users/3");
}

TEST_F(users, ids_are_never_used_again) {
    EXPECT_EQ(service.add_user(), 1);
    EXPECT_EQ(service.request("DELETE /api/v1/users/1").status, 204);
    EXPECT_EQ(service.request("POST /api/v1/users", user_text("Eve", "e@x.y")).at("/id"), "2");
}

TEST_F(users, valid_names_and_addresses) {
    auto const local = times("a", 64), label = times("b", 63);
    std::string const longest =
        times("a", 62) + "@" + label + "." + label + "." + label;  // 62 + 1 + 3 × 63 + 2
    ASSERT_EQ(longest.size(), 254u);
    unsigned number = 0;
    for (auto const& name : lines{"x", times("a", 200), times("\xf0\x9f\x99\x82", 200),
                                  "\xe2\x80\xa8 \xc2\xa0.", " x "})
        EXPECT_EQ(service
                      .request("POST /api/v1/users",
                               user_text(name, "n" + std::to_string(++number) + "@x.y"))
                      .status,
                  201)
            << name;
    for (auto const& email :
         lines{"a@b", "a.b+c@d-e.example", "!#$%&'*+/=?^_`{|}~-@x.y", "a..b@c.d", ".a@b", longest,
               local + "@x", "1@2.3", "a@" + label})
        EXPECT_EQ(service.request("POST /api/v1/users", user_text("A", email)).status, 201)
            << email;
}

// api.md §1: wherever it is shown, in every form.
TEST_F(users, and_posts_show_what_hides_or_reorders_as_escapes) {
    std::string const raw =
        "a\xe2\x80\xae"
        "b\xc2\x85\xe2\x81\xa6\xd8\x9c\xe2\x80\xa8z";
    std::string const escaped = R"("a\u202eb\u0085\u2066\u061c\u2028z")";
    std::string const title =
                          "t\xe2\x80\xae"
                          "t",
                      name =
                          "n\xe2\x80\xae"
                          "n";
    auto const user = path_of(service.add_user(name, "ada@x.y"));
    auto const created = service.request(
        "POST /api/v1/posts", R"({"user_id":1,"title":")" + title + R"(","body":")" + raw + "\"}");
    EXPECT_EQ(created.status, 201);
    std::string all = created.body;
    for (std::string const target :
         {"/api/v1/users", "/api/v1/users/1?include=posts", "/api/v1/posts", "/api/v1/posts/1",
          "/api/v1/users/1/posts", "/api/v1/users?email=ada@x.y", "/api/v1/changes"})
        all += service.request("GET " + target).body;
    all += service.request("PATCH " + user, "{}").body;
    EXPECT_EQ(all.find("\xe2\x80"), all.npos);
    EXPECT_EQ(all.find("\xc2"), all.npos);
    EXPECT_NE(all.find(R"("name":"n\u202en")"), all.npos);
    EXPECT_NE(all.find(R"("title":"t\u202et")"), all.npos);
    EXPECT_NE(all.find("\"body\":" + escaped), all.npos);
}

TEST_F(users, faults_of_the_name) {
    auto const id = path_of(service.add_user());
    std::pair<std::string, std::string> const rows[] = {
        {R"("")", "too_short"},
        {'"' + times("a", 201) + '"', "too_long"},
        {'"' + times("\xf0\x9f\x99\x82", 201) + '"', "too_long"},
        {R"("a\nb")", "invalid_format"},
        {R"("a\u0000")", "invalid_format"},
        {R"("a\u007f")", "invalid_format"},
        {R"("a\u0085")", "invalid_format"},
        {R"("   ")", "invalid_format"},
        {R"("\u00a0\u2003 \u3000")", "invalid_format"},
        {"17", "invalid_type"},
        {"true", "invalid_type"},
        {R"(["a"])", "invalid_type"},
        {"{}", "invalid_type"},
        {"null", "null_not_allowed"},
    };
    for (auto const& [value, code] : rows) {
        auto const body = R"({"email":"n@x.y","name":)" + value + "}";
        for (auto const& line : lines{"POST /api/v1/users", "PUT " + id, "PATCH " + id})
            expect_faults(line, body, {{"/name", code}});
    }
}

TEST_F(users, faults_of_the_address) {
    auto const id = path_of(service.add_user());
    std::pair<std::string, std::string> const rows[] = {
        {R"("")", "invalid_format"},
        {R"("a")", "invalid_format"},
        {R"("@b")", "invalid_format"},
        {R"("a@")", "invalid_format"},
        {R"("a@b@c")", "invalid_format"},
        {R"("a b@c.d")", "invalid_format"},
        {R"("a@b..c")", "invalid_format"},
        {R"("a@.b")", "invalid_format"},
        {R"("a@b.")", "invalid_format"},
        {R"("a@-b.c")", "invalid_format"},
        {R"("a@b-.c")", "invalid_format"},
        {R"("a@b_c")", "invalid_format"},
        {R"("a@b\n")", "invalid_format"},
        {"\"\xc3\xa4@b.c\"", "invalid_format"},
        {R"("a@)" + times("b", 64) + '"', "invalid_format"},
        {'"' + times("a", 251) + R"(@b.c")", "too_long"},
        {'"' + times("a", 1000) + '"', "too_long"},
        {"1", "invalid_type"},
        {"null", "null_not_allowed"},
    };
    for (auto const& [value, code] : rows) {
        auto const body = R"({"name":"A","email":)" + value + "}";
        for (auto const& line : lines{"POST /api/v1/users", "PUT " + id, "PATCH " + id})
            expect_faults(line, body, {{"/email", code}});
    }
}

TEST_F(users, all_faults_come_at_once) {
    auto const id = path_of(service.add_user());
    expect_faults("POST /api/v1/users", "{}", {{"/name", "required"}, {"/email", "required"}});
    expect_faults("PUT " + id, "{}", {{"/name", "required"}, {"/email", "required"}});
    faults const many{{"/name", "null_not_allowed"},      {"/email", "invalid_type"},
                      {"/id", "read_only_field"},         {"/created_at", "read_only_field"},
                      {"/updated_at", "read_only_field"}, {"/posts", "unknown_field"},
                      {"/a~1b~0c", "unknown_field"},      {"/", "unknown_field"}};
    for (auto const& line : lines{"POST /api/v1/users", "PUT " + id, "PATCH " + id})
        expect_faults(line,
                      R"({"name":null,"email":1,"id":"1","created_at":1,"updated_at":"x",)"
                      R"("posts":[],"a/b~c":1,"":2})",
                      many);
    EXPECT_EQ(service.request("GET " + id).at("/name"), "\"Ada\"");
}

TEST_F(users, an_address_belongs_to_one_user) {
    service.add_user("Ada", "Ada@Example.com");
    auto const other = path_of(service.add_user());
    for (std::string const email : {"Ada@Example.com", "ada@example.com", "ADA@EXAMPLE.COM"}) {
        EXPECT_EQ(service.request("POST /api/v1/users", user_text("X", email)).code(),
                  "email_taken");
        EXPECT_EQ(service.request("PUT " + other, user_text("X", email)).code(), "email_taken");
        EXPECT_EQ(service.request("PATCH " + other, R"({"email":")" + email + "\"}").code(),
                  "email_taken");
    }
    EXPECT_EQ(service.request("PATCH /api/v1/users/1", R"({"email":"ADA@example.com"})").status,
              200);
    EXPECT_EQ(service.request("DELETE /api/v1/users/1").status, 204);
    EXPECT_EQ(service.request("POST /api/v1/users", user_text("X", "ada@example.com")).status, 201);
}

TEST_F(users, put_replaces_and_never_creates) {
    auto const id = path_of(service.add_user());
    auto const response = service.request("PUT " + id, user_text("Eve", "eve@x.y"));
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.at("/name") + response.at("/email"), R"("Eve""eve@x.y")");
    EXPECT_EQ(response.field("Location"), "");
    EXPECT_EQ(service.request("GET " + id).body, response.body);
    expect_faults("PUT " + id, R"({"name":"Eve"})", {{"/email", "required"}});
    expect_faults("PUT " + id, R"({"email":"e@x.y"})", {{"/name", "required"}});
    EXPECT_EQ(service.request("PUT /api/v1/users/9", user_text("Eve", "e@x.y")).code(),
              "not_found");
}

TEST_F(users, patch_changes_what_it_names) {
    auto const id = path_of(service.add_user("Ada", "ada@x.y"));
    auto const original = service.request("GET " + id).body;
    EXPECT_EQ(service.request("PATCH " + id, "{}").body, original);
    EXPECT_EQ(service.request("PATCH " + id, R"({"name":"Ada"})").body, original);
    auto const response = service.request("PATCH " + id, R"({"name":"Eve"})");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.at("/name") + response.at("/email"), R"("Eve""ada@x.y")");
    EXPECT_EQ(service.request("PATCH " + id, R"({"email":"eve@x.y"})").at("/name"), "\"Eve\"");
    EXPECT_EQ(service.request("PATCH /api/v1/users/9", "{}").code(), "not_found");
}

TEST_F(users, are_changed_by_a_body_in_chunks) {
    auto const path = path_of(service.add_user());
    EXPECT_EQ(
        service.send(in_chunks("PUT " + path, {bearer(service.key)}, user_text("Eve", "e@x.y")))
            .status,
        200);
    auto const response =
        service.send(in_chunks("PATCH /users/1", {bearer(service.key)}, R"({"name":"Zoe"})"));
    EXPECT_EQ(response.at("/name") + response.at("/email"), R"("Zoe""e@x.y")");
    EXPECT_EQ(response.links().at("canonical"), path);
    EXPECT_EQ(service.send(in_chunks("PUT /users/x", {bearer(service.key)}, "{}")).code(),
              "not_found");
}

TEST_F(users, read_only_members_may_be_sent_back_unchanged) {
    auto const id = path_of(service.add_user("Ada", "ada@x.y"));
    auto const whole = service.request("GET " + id).body;
    EXPECT_EQ(service.request("PUT " + id, whole).body, whole);
    EXPECT_EQ(service.request("PATCH " + id, whole).body, whole);
    for (auto const* const member :
         {R"("id":2)", R"("id":0)", R"("id":1.5)", R"("id":"1")", R"("id":null)",
          R"("created_at":"2020-01-01T00:00:00.000Z")", R"("created_at":null)",
          R"("updated_at":"2020-01-01T00:00:00.000Z")", R"("updated_at":"x")"}) {
        std::string const text(member);
        auto const name = "/" + text.substr(1, text.find('"', 1) - 1);
        expect_faults("PATCH " + id, "{" + text + "}", {{name, "read_only_field"}});
    }
    // The same time in another zone is the same value.
    auto const created = service.request("GET " + id).at("/created_at");
    auto const zoned = created.substr(0, created.size() - 2) + "+00:00\"";
    EXPECT_EQ(service.request("PATCH " + id, R"({"created_at":)" + zoned + "}").status, 200);
    // A new record has no read-only members that could be unchanged.
    expect_faults("POST /api/v1/users", R"({"name":"A","email":"a@x.y","id":2})",
                  {{"/id", "read_only_field"}});
}

TEST_F(users, are_deleted_once) {
    auto const id = service.add_user();
    auto const response = service.request("DELETE " + path_of(id));
    EXPECT_EQ(response.status, 204);
    EXPECT_EQ(response.body, "");
    EXPECT_EQ(service.request("DELETE " + path_of(id)).code(), "not_found");
    EXPECT_EQ(service.request("GET " + path_of(id)).code(), "not_found");
    EXPECT_EQ(service.request("PATCH " + path_of(id), "{}").code(), "not_found");
    EXPECT_EQ(service.request("GET " + path_of(id) + "/posts").code(), "not_found");
    EXPECT_EQ(service.request("GET /api/v1/users").at("/pagination/total"), "0");
}

TEST_F(users, are_deleted_with_their_posts) {
    auto const one = service.add_user(), two = service.add_user();
    auto const post = std::to_string(service.add_post(one));
    service.add_post(two);
    EXPECT_EQ(service.request("DELETE " + path_of(one)).status, 204);
    EXPECT_EQ(service.request("GET /api/v1/posts/" + post).code(), "not_found");
    EXPECT_EQ(service.request("PATCH /api/v1/posts/" + post, "{}").code(), "not_found");
    EXPECT_EQ(service.request("DELETE /api/v1/posts/" + post).code(), "not_found");
    EXPECT_EQ(service.request("GET /api/v1/posts").at("/pagination/total"), "1");
    EXPECT_EQ(service.request("GET /api/v1/posts?author=1").at("/pagination/total"), "0");
}

TEST_F(users, include_their_posts) {
    auto const id = service.add_user();
    auto const plain = service.request("GET " + path_of(id)).body;
    auto const none = service.request("GET " + path_of(id) + "?include=posts");
    EXPECT_EQ(none.body, plain.substr(0, plain.size() - 1) +
                             R"(,"posts":[],"posts_pagination":{"page":1,"limit":100,"total":0,)"
                             R"("total_pages":0,"has_more":false,"next_cursor":null}})");
    for (int i = 0; i < 101; ++i) service.add_post(id);
    service.add_post(service.add_user());
    auto const response = service.request("GET " + path_of(id) + "?include=posts");
    auto const whole = response.json();
    EXPECT_EQ(whole.at("posts").as_array().size(), 100u);
    EXPECT_EQ(response.at("/posts/0/id") + response.at("/posts/99/id"), "1100");
    EXPECT_EQ(response.at("/posts_pagination/total"), "101");
    EXPECT_EQ(response.at("/posts_pagination/total_pages"), "2");
    EXPECT_EQ(response.at("/posts_pagination/has_more"), "true");
    EXPECT_EQ(response.field("ETag"), "");
    for (std::string const value : {"", "=", "=comments", "=Posts", "=posts,posts"}) {
        auto const bad = service.request("GET " + path_of(id) + "?include" + value);
        EXPECT_EQ(bad.code(), "invalid_parameter") << value;
        EXPECT_EQ(bad.faults(), (faults{{"include", "not_in_enum"}}));
    }
    EXPECT_EQ(service.request("GET /api/v1/users/9?include=posts").code(), "not_found");
    EXPECT_EQ(service.request("GET /api/v1/users?include=posts").code(), "invalid_parameter");
}

// A refusal of the store is rendered like any other.
TEST_F(users, a_key_that_loses_its_scope_meanwhile_is_refused) {
    service.next_outcome = domain::outcome{.problem = base::problem::insufficient_scope};
    auto const response = service.request("POST /api/v1/users", user_text("A", "a@b.c"));
    EXPECT_EQ(response.code(), "insufficient_scope");
    EXPECT_NE(response.field("WWW-Authenticate").find(R"(scope="users:write")"), std::string::npos);
    service.next_outcome = domain::outcome{.problem = base::problem::key_deactivated};
    EXPECT_EQ(service.request("POST /api/v1/users", user_text("A", "a@b.c")).code(),
              "key_deactivated");
}

TEST_F(users, are_found_by_a_part_of_the_name_or_the_address) {
    service.add_user("Ada Lovelace", "ada@example.com");
    service.add_user("Grace \xc3\x84rmel", "grace@navy.example");
    service.add_user("100% _a*", "x+y@example.com");
    auto const ids_for = [&](std::string const& query) {
        auto const response = service.request("GET /api/v1/users?" + query);
        EXPECT_EQ(response.status, 200) << query << response.body;
        auto const list = response.json();
        std::string ids;
        for (auto const& each : list.at("data").as_array())
            ids += std::to_string(each.at("id").as_int64());
        EXPECT_EQ(response.at("/pagination/total"), std::to_string(ids.size())) << query;
        return ids;
    };
    EXPECT_EQ(ids_for("search=LOVE"), "1");
    EXPECT_EQ(ids_for("search=da+lo"), "1");
    EXPECT_EQ(ids_for("search=Example"), "123");
    EXPECT_EQ(ids_for("search=example&sort=-id"), "321");
    EXPECT_EQ(ids_for("search=navy"), "2");
    EXPECT_EQ(ids_for("search=Lovelaceada"), "") << "in neither of them";
    EXPECT_EQ(ids_for("search=%C3%84R"), "2");
    EXPECT_EQ(ids_for("search=%C3%A4r"), "") << "letters beyond ASCII have one case";
    EXPECT_EQ(ids_for("search=%25+_A*"), "3");
    EXPECT_EQ(ids_for("search=.*"), "");
    EXPECT_EQ(ids_for("search=" + std::string(100, 'a')), "");
    EXPECT_EQ(ids_for("search=ada&email=ADA@example.com"), "1");
    EXPECT_EQ(ids_for("search=grace&email=ADA@example.com"), "");
    auto const page = service.request("GET /api/v1/users?search=example%2Ecom&limit=1");
    EXPECT_NE(page.links()["next"].find("&search=example.com"), std::string::npos)
        << page.links()["next"];
    for (auto const& query : {std::string(), std::string(101, 'a'), std::string(4096, 'a'),
                              "a" + std::string(99, '+') + "b"})
        EXPECT_EQ(service.request("GET /api/v1/users?search=" + query).code(), "invalid_parameter");
}

}  // namespace
}  // namespace latchkey::api
