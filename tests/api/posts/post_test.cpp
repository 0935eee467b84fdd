// Posts (api.md §6): members and their faults, transitions, the semantics of each method.
#include "../harness.hpp"

namespace latchkey::api {
namespace {

using faults = std::map<std::string, std::string>;
using model::post_status;

std::string path_of(model::id id) {
    return "/api/v1/posts/" + std::to_string(id);
}

class posts : public api_test {
  protected:
    posts() : owner(service.add_user()) {}

    void expect_faults(std::string_view line, std::string_view body, faults const& expected) {
        auto const response = service.request(line, body);
        EXPECT_EQ(response.status, 422) << line << body;
        EXPECT_EQ(response.faults(), expected) << line << body;
    }

    model::id owner;
};

TEST_F(posts, are_made_as_drafts_with_an_empty_body) {
    auto const response = service.request("POST /api/v1/posts", R"({"user_id":1,"title":"T"})");
    EXPECT_EQ(response.status, 201);
    EXPECT_EQ(response.field("Location"), "/api/v1/posts/1");
    EXPECT_EQ(response.at("/user_id") + response.at("/title") + response.at("/body"), R"(1"T""")");
    EXPECT_EQ(response.at("/status") + response.at("/published_at"), R"("draft"null)");
    EXPECT_EQ(response.at("/created_at"), response.at("/updated_at"));
    auto const whole = response.json();
    EXPECT_EQ(whole.as_object().size(), 8u);
    EXPECT_EQ(service.request("GET /api/v1/posts/1").body, response.body);
}

TEST_F(posts, keep_their_text_unchanged) {
    std::string const text =
        R"({"user_id":1,"title":"\"\\ \u00e4 \ud83d\ude42","body":"\u0000\n\t\r\u001f\u007f\u2028","status":"published"})";
    auto const response = service.request("POST /api/v1/posts", text);
    ASSERT_EQ(response.status, 201);
    auto const request_members = reply{0, "", text}.json(), record = response.json();
    for (auto const* const name : {"title", "body", "status"})
        EXPECT_EQ(record.at(name), request_members.at(name)) << name;
    EXPECT_EQ(response.at("/published_at"), response.at("/created_at"));
}

TEST_F(posts, bounds_of_their_text) {
    auto const make = [&](std::size_t title, std::size_t body) {
        return service.request("POST /api/v1/posts", R"({"user_id":1,"title":")" +
                                                         std::string(title, 'a') + R"(","body":")" +
                                                         std::string(body, 'b') + "\"}");
    };
    EXPECT_EQ(make(200, 65536).status, 201);
    EXPECT_EQ(make(201, 65537).faults(), (faults{{"/title", "too_long"}, {"/body", "too_long"}}));
    EXPECT_EQ(make(0, 0).faults(), (faults{{"/title", "too_short"}}));
    EXPECT_EQ(
        service.request("POST /api/v1/posts", R"({"user_id":1,"title":"t","body":"  "})").status,
        201)
        << "a body may be blank";
    // A body is counted in bytes.
    std::string text;
    for (int i = 0; i < 32768; ++i) text += "\xc3\xa4";
    auto const with_body = [&](std::string const& body) {
        return R"({"user_id":1,"title":"t","body":")" + body + "\"}";
    };
    EXPECT_EQ(service.request("POST /api/v1/posts", with_body(text)).status, 201);
    EXPECT_EQ(service.request("POST /api/v1/posts", with_body(text + "a")).faults(),
              (faults{{"/body", "too_long"}}));
}

TEST_F(posts, faults_of_each_member) {
    struct {
        std::string_view member, value, code;
    } const rows[] = {
        {"title", "null", "null_not_allowed"},  {"title", "1", "invalid_type"},
        {"title", R"("")", "too_short"},        {"body", "1", "invalid_type"},
        {"title", R"("  ")", "invalid_format"}, {"body", "[]", "invalid_type"},
        {"status", R"("open")", "not_in_enum"}, {"status", R"("Draft")", "not_in_enum"},
        {"status", R"("")", "not_in_enum"},     {"status", "0", "invalid_type"},
    };
    auto const id = path_of(service.add_post(owner));
    for (auto const& row : rows) {
        std::string body = R"({"user_id":1)";
        for (std::string const name : {"title", "body", "status"}) {
            auto const right = name == "status" ? R"("draft")" : R"("x")";
            body += ",\"" + name + "\":" + std::string(name == row.member ? row.value : right);
        }
        for (auto const& line : lines{"POST /api/v1/posts", "PUT " + id, "PATCH " + id})
            expect_faults(line, body + "}",
                          {{"/" + std::string(row.member), std::string(row.code)}});
    }
}

TEST_F(posts, faults_of_the_user) {
    std::pair<std::string_view, std::string> const rows[] = {
        {"null", "null_not_allowed"},
        {"\"1\"", "invalid_type"},
        {"1.5", "invalid_type"},
        {"77.0", "reference_not_found"},
        {"770e-1", "reference_not_found"},
        {"[1]", "invalid_type"},
        {"0", "out_of_range"},
        {"-1", "out_of_range"},
        {"9007199254740992", "out_of_range"},
        {"18446744073709551615", "out_of_range"},
        {"9007199254740991", "reference_not_found"},
        {"77", "reference_not_found"},
    };
    for (auto const& [value, code] : rows)
        expect_faults("POST /api/v1/posts", R"({"title":"t","user_id":)" + std::string(value) + "}",
                      {{"/user_id", code}});
    service.remove_user(owner);
    expect_faults("POST /api/v1/posts", R"({"title":"t","user_id":1})",
                  {{"/user_id", "reference_not_found"}});
}

TEST_F(posts, all_faults_come_at_once) {
    auto const id = path_of(service.add_post(owner));
    expect_faults("POST /api/v1/posts", "{}", {{"/user_id", "required"}, {"/title", "required"}});
    expect_faults("PUT " + id, "{}",
                  {{"/user_id", "required"},
                   {"/title", "required"},
                   {"/body", "required"},
                   {"/status", "required"}});
    // Faults that the handler finds and faults that only the store finds, together.
    expect_faults("POST /api/v1/posts",
                  R"({"user_id":77,"title":"","body":1,"status":"x","tags":[],"id":1,)"
                  R"("published_at":null})",
                  {{"/user_id", "reference_not_found"},
                   {"/title", "too_short"},
                   {"/body", "invalid_type"},
                   {"/status", "not_in_enum"},
                   {"/tags", "unknown_field"},
                   {"/id", "read_only_field"},
                   {"/published_at", "read_only_field"}});
    for (std::string const method : {"PUT ", "PATCH "})
        expect_faults(method + id,
                      R"({"user_id":77,"title":"","body":1,"status":"x","tags":[],"id":9,)"
                      R"("created_at":"2020-01-01T00:00:00Z","published_at":7})",
                      {{"/user_id", "read_only_field"},
                       {"/title", "too_short"},
                       {"/body", "invalid_type"},
                       {"/status", "not_in_enum"},
                       {"/tags", "unknown_field"},
                       {"/id", "read_only_field"},
                       {"/created_at", "read_only_field"},
                       {"/published_at", "read_only_field"}});
}

TEST_F(posts, change_their_status_only_by_the_allowed_transitions) {
    bool const may[3][3] = {{true, true, true}, {true, true, true}, {true, false, true}};
    for (auto const old_status :
         {post_status::draft, post_status::published, post_status::archived})
        for (auto const new_status :
             {post_status::draft, post_status::published, post_status::archived})
            for (bool const whole : {true, false}) {
                auto const id = path_of(service.add_post(owner, old_status));
                auto const body = (whole ? R"({"user_id":1,"title":"t","body":"","status":")"
                                         : R"({"status":")") +
                                  std::string(model::name_of(new_status)) + "\"}";
                auto const response = service.request((whole ? "PUT " : "PATCH ") + id, body);
                bool const allowed =
                    may[static_cast<std::size_t>(old_status)][static_cast<std::size_t>(new_status)];
                EXPECT_EQ(response.status, allowed ? 200 : 409) << id << body;
                EXPECT_EQ(response.code(), allowed ? "" : "invalid_state_transition");
                auto const record = service.request("GET " + id);
                EXPECT_EQ(
                    record.at("/status"),
                    '"' + std::string(model::name_of(allowed ? new_status : old_status)) + '"');
                // Set on publication, null in a draft.
                if (new_status == post_status::draft && allowed)
                    EXPECT_EQ(record.at("/published_at"), "null");
                if (new_status == post_status::published && allowed)
                    EXPECT_NE(record.at("/published_at"), "null");
            }
}

TEST_F(posts, published_at_stays_in_the_archive) {
    auto const id = path_of(service.add_post(owner));
    auto const published =
        service.request("PATCH " + id, R"({"status":"published"})").at("/published_at");
    EXPECT_NE(published, "null");
    EXPECT_EQ(service.request("PATCH " + id, R"({"status":"archived"})").at("/published_at"),
              published);
    EXPECT_EQ(service.request("PATCH " + id, R"({"status":"draft"})").at("/published_at"), "null");
    EXPECT_EQ(service.request("PATCH " + id, R"({"status":"archived"})").at("/published_at"),
              "null");
}

TEST_F(posts, put_replaces_and_never_creates) {
    auto const id = path_of(service.add_post(owner));
    auto const body = R"({"user_id":1,"title":"New","body":"","status":"published"})";
    auto const response = service.request("PUT " + id, body);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.at("/title") + response.at("/body") + response.at("/status"),
              R"("New""""published")");
    EXPECT_EQ(service.request("GET " + id).body, response.body);
    EXPECT_EQ(service.request("PUT /api/v1/posts/9", body).code(), "not_found");
}

TEST_F(posts, patch_changes_what_it_names) {
    auto const id = path_of(service.add_post(owner));
    auto const original = service.request("GET " + id).body;
    EXPECT_EQ(service.request("PATCH " + id, "{}").body, original);
    auto const response = service.request("PATCH " + id, R"({"body":""})");
    EXPECT_EQ(response.at("/title") + response.at("/body"), R"("A title""")");
    EXPECT_EQ(service.request("PATCH " + id, R"({"title":"Next"})").at("/title"), "\"Next\"");
    EXPECT_EQ(service.request("PATCH /api/v1/posts/9", "{}").code(), "not_found");
}

TEST_F(posts, read_only_members_may_be_sent_back_unchanged) {
    for (auto const status : {post_status::draft, post_status::published}) {
        auto const id = path_of(service.add_post(owner, status));
        auto const whole = service.request("GET " + id).body;
        EXPECT_EQ(service.request("PUT " + id, whole).body, whole);
        EXPECT_EQ(service.request("PATCH " + id, whole).body, whole);
    }
    auto const other = std::to_string(service.add_user());
    auto const id = path_of(service.add_post(owner));
    expect_faults("PATCH " + id, R"({"user_id":)" + other + "}", {{"/user_id", "read_only_field"}});
    expect_faults("PATCH " + id, R"({"published_at":"2026-01-01T00:00:00Z"})",
                  {{"/published_at", "read_only_field"}});
    EXPECT_EQ(service.request("PATCH " + id, R"({"published_at":null,"user_id":1})").status, 200);
}

TEST_F(posts, are_deleted_once) {
    auto const id = path_of(service.add_post(owner));
    EXPECT_EQ(service.request("DELETE " + id).status, 204);
    EXPECT_EQ(service.request("DELETE " + id).code(), "not_found");
    EXPECT_EQ(service.request("GET " + id).code(), "not_found");
    EXPECT_EQ(service.request("GET /api/v1/users/1").status, 200);
    EXPECT_EQ(service.request("GET /api/v1/users/1/posts").at("/pagination/total"), "0");
}

}  // namespace
}  // namespace latchkey::api
