// POST /keys/verify (api.md §4): every code, in the order of api.md §3.
#include "../harness.hpp"

namespace latchkey::api {
namespace {

class verify : public api_test {
  protected:
    std::string asker_ = service.add_key({"keys:verify"});

    reply request(std::string const& key, std::string const& more = {}) {
        return service.request_anonymous("POST /api/v1/keys/verify",
                                         R"({"key":")" + key + '"' + more + '}', {bearer(asker_)});
    }
    std::string code(std::string const& key, std::string const& more = {}) {
        auto const response = request(key, more);
        EXPECT_EQ(response.status, 200) << response.body;
        EXPECT_EQ(response.at("/valid"), response.at("/code") == "\"VALID\"" ? "true" : "false");
        return response.at("/code");
    }
    // A key that is refused for every reason from `first` on, except its scopes.
    std::string bad_from(int first) {
        model::key record;
        record.rate_limits = {{"minute", 1, 60, 0}};
        if (first <= 1) record.deactivated_at = 5;
        if (first <= 1) record.deactivation_reason = model::deactivation::manual;
        if (first <= 2) record.expires_at = service.now.wall - 1;
        if (first <= 3) record.not_before = service.now.wall + 9000;
        if (first <= 4) record.ip_allowlist = {*model::cidr::parse("192.0.2.0/24")};
        auto const key = service.add_key({"users:read"}, std::move(record));
        if (first <= 5) service.exhaust();
        return key;
    }
};

TEST_F(verify, a_key_that_is_valid) {
    model::key record{.rate_limits = {{"minute", 10, 60, 0}}, .metadata = {{"a", "b"}}};
    record.environment = model::environment::production;
    auto const key = service.add_key({"users:read"}, std::move(record));
    auto const id = service.last_key();
    auto const response = request(key, R"(,"scopes":["users:read"])");
    EXPECT_EQ(response.at("/code"), "\"VALID\"");
    EXPECT_EQ(response.at("/key_id"), std::to_string(id));
    EXPECT_EQ(response.at("/project") + response.at("/environment"), R"("default""production")");
    EXPECT_EQ(response.at("/scopes"), R"(["users:read"])");
    EXPECT_EQ(response.at("/expires_at"), "null");
    EXPECT_EQ(response.at("/metadata"), R"({"a":"b"})");
    EXPECT_EQ(response.at("/rate_limits/0/remaining"), "9");
    EXPECT_EQ(service.buffer.find(key), std::string::npos);
    EXPECT_EQ(response.field("Cache-Control"), "no-store");
}

TEST_F(verify, tells_when_time_alone_ends_the_key) {
    model::key record{.expires_at = service.now.wall + 90'000, .rate_limits = {}};
    record.rotation_ends_at = service.now.wall + 60'000;
    auto const rotating = request(service.add_key({"users:read"}, record)).at("/expires_at");
    record.expires_at = record.rotation_ends_at;
    record.rotation_ends_at = 0;
    EXPECT_EQ(rotating, request(service.add_key({"users:read"}, record)).at("/expires_at"));
}

// Whatever is wrong with the request, its body has had a credential.
TEST_F(verify, leaves_no_key_in_the_buffer) {
    auto const key = service.add_key({"users:read"});
    auto const is_wiped = [&] { return service.buffer.find(key) == std::string::npos; };
    for (std::string const more : {R"(,"scopes":["none"])", R"(,"more":1)", R"(,"key_id":1)",
                                   R"(,"key":"a")", ",,", R"(,"ip":"x")", R"(,"cost":-1)"}) {
        EXPECT_NE(request(key, more).status, 200) << more;
        EXPECT_TRUE(is_wiped()) << more;
    }
    auto const body = R"({"key":")" + key + "\"}";
    EXPECT_EQ(
        service.request_anonymous("POST /api/v1/keys/verify?a=b", body, {bearer(asker_)}).status,
        400);
    EXPECT_TRUE(is_wiped());
    // An escape in it does not hide the rest of it.
    char first[8];
    std::snprintf(first, sizeof first, "\\u%04x", static_cast<unsigned>(key[0]));
    EXPECT_EQ(code(first + key.substr(1)), "\"VALID\"");
    EXPECT_EQ(service.buffer.find(key.substr(1)), std::string::npos);
}

TEST_F(verify, codes_come_in_the_order_of_the_checks) {
    auto const* const lacking = R"(,"scopes":["posts:write"])";
    EXPECT_EQ(code(bad_from(1), lacking), "\"DEACTIVATED\"");
    EXPECT_EQ(code(bad_from(2), lacking), "\"EXPIRED\"");
    EXPECT_EQ(code(bad_from(3), lacking), "\"NOT_YET_ACTIVE\"");
    EXPECT_EQ(code(bad_from(4), lacking), "\"IP_NOT_ALLOWED\"");
    EXPECT_EQ(code(bad_from(5), lacking), "\"RATE_LIMITED\"");
    EXPECT_EQ(code(bad_from(6), lacking), "\"INSUFFICIENT_SCOPE\"");
    EXPECT_EQ(code(bad_from(6)), "\"VALID\"");
}

TEST_F(verify, unknown_keys_get_no_id) {
    for (std::string const& key : {auth::unknown_key(), std::string("rubbish"), std::string()}) {
        auto const response = request(key);
        EXPECT_EQ(response.at("/code"), "\"NOT_FOUND\"");
        EXPECT_EQ(response.at("/key_id"), "null");
    }
}

TEST_F(verify, an_allowlist_needs_an_address) {
    model::key record{.ip_allowlist = {*model::cidr::parse("192.0.2.0/24")}, .rate_limits = {}};
    auto const key = service.add_key({"*"}, std::move(record));
    EXPECT_EQ(code(key), "\"IP_NOT_ALLOWED\"");
    EXPECT_EQ(code(key, R"(,"ip":"192.0.3.1")"), "\"IP_NOT_ALLOWED\"");
    EXPECT_EQ(code(key, R"(,"ip":"192.0.2.1")"), "\"VALID\"");
    EXPECT_EQ(request(key, R"(,"ip":"here")").faults()["/ip"], "invalid_format");
}

TEST_F(verify, charges_the_requested_cost) {
    auto const key = service.add_key({"*"}, {.rate_limits = {{"minute", 10, 60, 0}}});
    EXPECT_EQ(request(key, R"(,"cost":0)").at("/rate_limits/0/remaining"), "10");
    EXPECT_EQ(request(key, R"(,"cost":7)").at("/rate_limits/0/remaining"), "3");
    EXPECT_EQ(code(key, R"(,"cost":4)"), "\"RATE_LIMITED\"");
    EXPECT_EQ(request(key, R"(,"cost":4)").at("/retry_after_seconds"), "6");
    EXPECT_EQ(request(key, R"(,"cost":0)").at("/retry_after_seconds"), "null");
    EXPECT_EQ(request(key).at("/rate_limits/0/remaining"), "2");
    EXPECT_EQ(request(key, R"(,"cost":1001)").faults()["/cost"], "out_of_range");
    EXPECT_EQ(request(key, R"(,"cost":-1,"x":2)").faults().size(), 2u);
}

TEST_F(verify, charges_the_caller_one) {
    asker_ = service.add_key({"keys:verify"}, {.rate_limits = {{"minute", 2, 60, 0}}});
    auto const key = service.add_key({"*"});
    EXPECT_EQ(request(key, R"(,"cost":1000)").status, 200);
    EXPECT_EQ(request(key, R"(,"cost":0)").status, 200);
    EXPECT_EQ(request(key).code(), "rate_limited");
}

// A damaged record is no proof that a key is unknown: neither response says so.
TEST_F(verify, a_key_whose_record_cannot_be_read) {
    auto const key = service.add_key({"users:read"});
    service.damage_key(service.last_key());
    EXPECT_EQ(request(key).code(), "internal_error");
    auto const response = service.request_anonymous("GET /api/v1/users", {}, {bearer(key)});
    EXPECT_EQ(response.code(), "internal_error");
    EXPECT_EQ(response.field("WWW-Authenticate"), "");
}

// ---- a route, and a key of which only the id is known

TEST_F(verify, says_which_check_refused) {
    auto const key = service.add_key({"users:read"});
    auto const check = [&](std::string const& method, std::string const& path) {
        auto const response =
            request(key, R"(,"method":")" + method + R"(","path":")" + path + '"');
        return response.at("/code") + response.at("/check") + response.at("/missing_scope");
    };
    EXPECT_EQ(check("GET", "/api/v1/users"), R"("VALID"nullnull)");
    EXPECT_EQ(check("GET", "/users/7"), R"("VALID"nullnull)");
    EXPECT_EQ(check("GET", "/healthz"), R"("VALID"nullnull)");
    EXPECT_EQ(check("POST", "/api/v1/users"), R"("INSUFFICIENT_SCOPE""scope""users:write")");
    EXPECT_EQ(check("GET", "/api/v1/users/7?include=posts"),
              R"("INSUFFICIENT_SCOPE""scope""posts:read")");
    EXPECT_EQ(check("GET", "/api/v1/none"), R"("ROUTE_NOT_FOUND""route"null)");
    EXPECT_EQ(check("DELETE", "/api/v1/users"), R"("ROUTE_NOT_FOUND""route"null)");
    EXPECT_EQ(request("x").at("/check"), "\"key\"");
    EXPECT_EQ(request(bad_from(1)).at("/check"), "\"state\"");
    EXPECT_EQ(request(bad_from(4), R"(,"ip":"203.0.113.9")").at("/check"), "\"address\"");
    EXPECT_EQ(request(bad_from(5)).at("/check"), "\"rate_limit\"");
}

TEST_F(verify, names_the_scope_that_is_missing) {
    auto const key = service.add_key({"users:read", "events:write:shop"});
    auto const missing = [&](std::string const& scopes) {
        return request(key, R"(,"scopes":[)" + scopes + "]").at("/missing_scope");
    };
    EXPECT_EQ(missing(R"("users:read","events:write:shop")"), "null");
    EXPECT_EQ(missing(R"("users:read","posts:read","keys:read")"), "\"posts:read\"");
    EXPECT_EQ(missing(R"("events:write:shop","events:write:pay")"), "\"events:write:pay\"");
}

// Who asks × whose key it is × how it is named. The scope of all projects shows keys, no ids.
TEST_F(verify, of_other_projects) {
    auto const add = [&](std::vector<std::string_view> const& scopes, std::string project) {
        return service.add_key(scopes, {.project = std::move(project), .rate_limits = {}});
    };
    auto const own = add({"users:read"}, "default");
    auto const own_id = service.last_key();
    auto const other = add({"users:read"}, "shop");
    auto const other_id = service.last_key();
    struct {
        std::vector<std::string_view> scopes;
        std::string_view own, other, own_by_id, other_by_id;
    } const rows[] = {
        {{"keys:verify"}, "VALID", "NOT_FOUND", "", ""},
        {{"keys:*"}, "VALID", "NOT_FOUND", "VALID", "NOT_FOUND"},
        {{"keys:verify_all"}, "VALID", "VALID", "", ""},
        {{"keys:verify", "keys:verify_all"}, "VALID", "VALID", "", ""},
        {{"keys:verify", "keys:read"}, "VALID", "NOT_FOUND", "VALID", "NOT_FOUND"},
        {{"keys:verify_all", "keys:read"}, "VALID", "VALID", "VALID", "NOT_FOUND"},
        {{"*"}, "VALID", "VALID", "VALID", "VALID"},
    };
    for (auto const& row : rows) {
        auto const asker = bearer(add(row.scopes, "default"));
        auto const ask = [&](std::string const& body) {
            auto const answer =
                service.request_anonymous("POST /api/v1/keys/verify", body, {asker});
            auto const code = answer.at("/code");
            EXPECT_EQ(answer.at("/key_id") == "null", code == "\"NOT_FOUND\"") << answer.body;
            if (answer.code() == "insufficient_scope") return std::string();
            return code.substr(1, code.size() - 2);
        };
        auto const title = row.scopes.front();
        EXPECT_EQ(ask(R"({"key":")" + own + "\"}"), row.own) << title;
        EXPECT_EQ(ask(R"({"key":")" + other + "\"}"), row.other) << title;
        EXPECT_EQ(ask(R"({"key":"unknown"})"), "NOT_FOUND") << title;
        EXPECT_EQ(ask(R"({"key_id":)" + std::to_string(own_id) + "}"), row.own_by_id) << title;
        EXPECT_EQ(ask(R"({"key_id":)" + std::to_string(other_id) + "}"), row.other_by_id) << title;
    }
}

TEST_F(verify, of_all_projects_shows_what_a_caller_with_all_scopes_is_shown) {
    auto const key = service.add_key({"users:read"}, {.project = "shop",
                                                      .rate_limits = {{"hour", 5, 3600, 0}},
                                                      .metadata = {{"customer", "7"}}});
    auto const ask = [&](std::string_view scope) {
        auto const asker = service.add_key({scope});
        return service
            .request_anonymous("POST /api/v1/keys/verify", R"({"cost":0,"key":")" + key + "\"}",
                               {bearer(asker)})
            .body;
    };
    EXPECT_EQ(ask("keys:verify_all"), ask("*"));
}

TEST_F(verify, of_all_projects_opens_nothing_else) {
    service.add_key({"users:read"}, {.project = "shop", .rate_limits = {}});
    auto const path = "/api/v1/keys/" + std::to_string(service.last_key());
    auto const asker = bearer(service.add_key(
        {"keys:verify_all", "keys:read", "keys:write", "audit:read", "usage:read"}));
    EXPECT_EQ(service.request_anonymous("GET " + path, {}, {asker}).code(), "not_found");
    EXPECT_EQ(service.request_anonymous("GET " + path + "/usage", {}, {asker}).code(), "not_found");
    EXPECT_EQ(service.request_anonymous("POST " + path + "/deactivate", {}, {asker}).code(),
              "not_found");
    EXPECT_EQ(service.request_anonymous("GET /api/v1/keys?project=shop", {}, {asker}).at("/data"),
              "[]");
    EXPECT_EQ(service.request_anonymous("GET /api/v1/audit?project=shop", {}, {asker}).at("/data"),
              "[]");
    auto const narrow = bearer(service.add_key({"keys:verify_all"}));
    EXPECT_EQ(service.request_anonymous("GET /api/v1/keys", {}, {narrow}).code(),
              "insufficient_scope");
}

// Nobody gives what it lacks, and keys:* lacks it.
TEST_F(verify, of_all_projects_is_given_by_who_has_it) {
    auto const give = [&](std::vector<std::string_view> const& scopes) {
        return service
            .request_anonymous("POST /api/v1/keys",
                               R"({"name":"v","scopes":["keys:verify_all"],"rate_limits":[]})",
                               {bearer(service.add_key(scopes))})
            .status;
    };
    EXPECT_EQ(give({"*"}), 201);
    EXPECT_EQ(give({"keys:*"}), 403);
    EXPECT_EQ(give({"keys:write", "keys:verify"}), 403);
    auto const maker = bearer(service.add_key({"keys:write", "keys:verify_all"}));
    EXPECT_EQ(
        service
            .request_anonymous("POST /api/v1/keys",
                               R"({"name":"v","scopes":["keys:verify_all"],)"
                               R"("rate_limits":[{"name":"m","limit":1,"window_seconds":60}]})",
                               {maker})
            .status,
        201);
}

TEST_F(verify, by_id) {
    auto const key = service.add_key({"events:write:stripe"});
    auto const id = std::to_string(service.last_key());
    auto const admin = service.add_key({"keys:verify", "keys:read"});
    auto const ask = [&](std::string const& asker, std::string const& body) {
        return service.request_anonymous("POST /api/v1/keys/verify", body, {bearer(asker)});
    };
    auto const body = R"({"key_id":)" + id + R"(,"method":"POST","path":"/api/v1/events/)";
    EXPECT_EQ(ask(admin, body + "stripe\"}").at("/code"), "\"VALID\"");
    EXPECT_EQ(ask(admin, body + "github\"}").at("/check"), "\"scope\"");
    EXPECT_EQ(ask(admin, R"({"key_id":999999})").at("/code"), "\"NOT_FOUND\"");
    EXPECT_EQ(ask(asker_, R"({"key_id":)" + id + "}").code(), "insufficient_scope");
    EXPECT_EQ(ask(admin, R"({"key_id":)" + id + R"(,"key":")" + key + "\"}").status, 422);
    EXPECT_EQ(ask(admin, "{}").status, 422);
    EXPECT_EQ(ask(admin, R"({"key_id":)" + id + R"(,"path":"/x"})").status, 422);
    EXPECT_EQ(ask(admin, R"({"key_id":)" + id + R"(,"method":"BREW","path":"/x"})").status, 422);
}

}  // namespace
}  // namespace latchkey::api
