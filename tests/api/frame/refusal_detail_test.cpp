// The details of refusals: what was seen and what is accepted (api.md §11).
#include "api/frame/refusal_detail.hpp"

#include "../harness.hpp"

namespace latchkey::api {
namespace {

bool has(std::string const& text, std::string_view part) {
    return text.find(part) != text.npos;
}

TEST(summary, names_the_first_members_and_counts_the_others) {
    EXPECT_EQ(summary_of({}), "");
    std::vector<base::fault> faults(7);
    for (std::size_t i = 0; i < faults.size(); ++i)
        faults[i] = {.location = "/m" + std::to_string(i), .detail = "is required"};
    faults[1].location = "";
    faults[2] = {base::fault::location_kind::header, "Idempotency-Key", {}, "must be there once"};
    EXPECT_EQ(summary_of(faults),
              "m0 is required; the body is required; Idempotency-Key must be there once; "
              "m3 is required; m4 is required; and 2 more.");
}

TEST_F(api_test, a_refused_body_is_described_in_words) {
    auto const response = service.request("POST /api/v1/users", R"({"email":"no","colour":"red"})");
    EXPECT_EQ(response.code(), "validation_failed");
    EXPECT_EQ(response.at("/detail"), R"("name is required; email must be an email address; )"
                                      R"(colour is not a member of this resource.")");
}

TEST_F(api_test, a_taken_address_points_to_the_member) {
    auto const text = R"({"name":"Ada","email":"ada@example.com"})";
    service.request("POST /api/v1/users", text);
    for (int repeat = 0; repeat < 2; ++repeat) {  // the second is replayed
        auto const response =
            service.request("POST /api/v1/users", text, {"Idempotency-Key: once"});
        EXPECT_EQ(response.code(), "email_taken");
        EXPECT_EQ(response.faults(),
                  (std::map<std::string, std::string>{{"/email", "not_unique"}}));
        EXPECT_TRUE(has(response.at("/detail"), "Use another one"));
    }
}

TEST_F(api_test, limits_are_named) {
    service.settings.request_line_bytes_max = service.http_limits.request_line_bytes_max = 300;
    service.settings.header_bytes_max = service.http_limits.header_bytes_max = 2000;
    service.settings.body_bytes_max = service.http_limits.body_bytes_max = 5000;
    auto const detail = [&](reply const& response, int status) {
        EXPECT_EQ(response.status, status) << response.body;
        return response.at("/detail");
    };
    EXPECT_TRUE(
        has(detail(service.request("GET /" + std::string(400, 'a')), 414), "more than 300 bytes"));
    EXPECT_TRUE(has(
        detail(service.request("GET /api/v1/users", {}, {"X-A: " + std::string(2500, 'a')}), 431),
        "more than 2000 bytes or more than 100 fields"));
    EXPECT_TRUE(has(detail(service.request("POST /api/v1/users", std::string(6000, ' ')), 413),
                    "more than 5000 bytes"));
    service.settings.body_bytes_max = service.http_limits.body_bytes_max = 1 << 20;
    EXPECT_TRUE(
        has(detail(service.request("POST /api/v1/events/a", std::string(300'000, ' ')), 413),
            "more than 262144 bytes"));
    EXPECT_TRUE(
        has(detail(service.request_anonymous("POST /api/v1/users", std::string(200'000, ' ')), 413),
            "more than 131072 bytes"));
}

TEST_F(api_test, limits_of_trailers_are_named) {
    auto const body = in_chunks("POST /api/v1/users", {bearer(service.key)}, "{}");
    auto const send = [&](std::string const& trailers) {
        return service.send(body.substr(0, body.size() - 2) + trailers + "\r\n");
    };
    std::string many;
    for (int i = 0; i < 33; ++i) many += "X-" + std::to_string(i) + ": a\r\n";
    for (auto const& trailers : {"X-A: " + std::string(5000, 'a') + "\r\n", many}) {
        auto const response = send(trailers);
        EXPECT_EQ(response.status, 431) << response.body;
        EXPECT_EQ(response.code(), "headers_too_large");
        EXPECT_TRUE(has(response.at("/detail"),
                        "The trailers have more than 4096 bytes or more than 32 fields"))
            << response.body;
        EXPECT_FALSE(service.committed);
    }
    EXPECT_EQ(send("X-A: a\r\n").code(), "validation_failed") << "few are dropped";
}

TEST_F(api_test, what_is_no_scope_gets_the_scopes_once) {
    auto const response =
        service.request("POST /api/v1/keys", R"({"name":"k","scopes":["users:raed","none","*"]})");
    EXPECT_EQ(response.code(), "validation_failed");
    EXPECT_EQ(response.faults().size(), 2u);
    EXPECT_TRUE(has(response.at("/errors/0/detail"), "is not a scope; scopes are users:read, "));
    EXPECT_TRUE(has(response.at("/errors/0/detail"), "webhooks:*, events:write:SOURCE"));
    EXPECT_EQ(response.at("/errors/1/detail"), R"("is not a scope")");
}

TEST_F(api_test, a_post_stays_with_its_user) {
    auto const ada = service.add_user(), ben = service.add_user();
    auto const path = "PATCH /api/v1/posts/" + std::to_string(service.add_post(ada));
    auto const response = service.request(path, R"({"user_id":)" + std::to_string(ben) + "}");
    EXPECT_EQ(response.faults(),
              (std::map<std::string, std::string>{{"/user_id", "read_only_field"}}));
    EXPECT_TRUE(has(response.at("/detail"), "user_id cannot change, a post stays with its user"));
    EXPECT_EQ(service.request(path, R"({"user_id":)" + std::to_string(ada) + "}").status, 200);
}

}  // namespace
}  // namespace latchkey::api
