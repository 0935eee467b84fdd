// The description of the interface against the interface itself: what tools make of the document is
// tested end to end (tests/e2e/openapi.test.mjs).
#include "api/openapi.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <functional>
#include <set>

#include "api/documents.hpp"
#include "api/route.hpp"
#include "harness.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;

std::string lower(std::string_view text) {
    std::string made;
    for (char const c : text) made.push_back(static_cast<char>(c | 0x20));
    return made;
}

// Every object inside, itself included.
void visit(json::value const& of, std::function<void(json::object const&)> const& each) {
    if (auto const* const list = of.if_array())
        for (auto const& inner : *list) visit(inner, each);
    if (auto const* const object = of.if_object()) {
        each(*object);
        for (auto const& member : *object) visit(member.value(), each);
    }
}

json::object const& document() {
    static auto const made = describe_interface(settings{});
    return made;
}

TEST(openapi, has_the_operations_of_the_route_table_and_no_others) {
    std::set<std::pair<std::string, std::string>> described, routed;
    for (auto const& [path, item] : document().at("paths").as_object())
        for (auto const& [method, what] : item.as_object())
            if (method != "parameters") described.emplace(path, method);
    for (auto const& each : routes()) {
        routed.emplace(each.pattern, lower(http::name_of(each.method)));
        if (!std::holds_alternative<gateway>(each.run)) continue;
        for (auto const* const method : {"head", "post", "put", "patch", "delete", "options"})
            routed.emplace(each.pattern, method);
    }
    EXPECT_EQ(described, routed);
}

TEST(openapi, names_each_operation_once) {
    std::set<std::string> ids;
    std::set<operation const*> told;
    visit(document().at("paths"), [&](json::object const& of) {
        if (auto const* const id = of.if_contains("operationId"))
            EXPECT_TRUE(ids.emplace(id->as_string()).second) << *id;
    });
    for (auto const& each : routes()) {
        EXPECT_TRUE(told.insert(&each.about).second) << each.about.id;
        EXPECT_TRUE(ids.contains(std::string(each.about.id)));
    }
}

TEST(openapi, says_which_scope_an_operation_needs) {
    for (auto const& each : routes()) {
        auto const& what = document()
                               .at("paths")
                               .at(each.pattern)
                               .at(lower(http::name_of(each.method)))
                               .as_object();
        auto const* const ways = what.if_contains("security");
        if (std::holds_alternative<open>(each.run)) {
            ASSERT_NE(ways, nullptr);
            EXPECT_TRUE(ways->as_array().empty()) << each.about.id;
        } else if (each.scope) {
            auto const needed = json::array{json::value(model::name_of(*each.scope))};
            EXPECT_EQ(ways->as_array().size(), 3u);
            for (auto const& way : ways->as_array())
                EXPECT_EQ(way.as_object().begin()->value(), needed) << each.about.id;
        } else {
            EXPECT_EQ(ways, nullptr) << "the ways of the whole document, no scope";
        }
    }
}

TEST(openapi, says_where_an_idempotency_key_counts) {
    std::set<std::string_view> takers;
    for (auto const& each : routes()) {
        auto const& what =
            document().at("paths").at(each.pattern).at(lower(http::name_of(each.method)));
        auto const text = json::serialize(what);
        bool const takes = text.find("parameters/Idempotency-Key") != text.npos;
        EXPECT_EQ(takes, text.find("headers/Idempotency-Replayed") != text.npos) << each.about.id;
        if (takes) takers.insert(each.about.id);
    }
    EXPECT_EQ(takers, (std::set<std::string_view>{"createUser", "updateUser", "createPost",
                                                  "updatePost", "createKey", "updateKey",
                                                  "rotateKey", "deactivateKey", "reactivateKey",
                                                  "deactivateCurrentKey", "receiveEvent"}));
}

TEST(openapi, refers_to_what_is_there_and_has_nothing_that_nobody_refers_to) {
    std::set<std::string> used;
    visit(document(), [&](json::object const& of) {
        auto const* const target = of.if_contains("$ref");
        if (target == nullptr || !target->is_string()) return;
        std::string const path(target->as_string());
        used.insert(path);
        json::error_code wrong;
        EXPECT_NE(json::value(document()).find_pointer(path.substr(1), wrong), nullptr) << path;
    });
    for (auto const& [kind, all] : document().at("components").as_object())
        for (auto const& [name, what] : all.as_object())
            if (kind != "securitySchemes")
                EXPECT_TRUE(
                    used.contains("#/components/" + std::string(kind) + "/" + std::string(name)))
                    << name;
}

// Whatever a problem is answered with is one of those that its operation names.
TEST(openapi, has_every_code_of_the_contract) {
    auto const& codes = document()
                            .at("components")
                            .at("schemas")
                            .at("Problem")
                            .at("properties")
                            .at("code")
                            .at("enum")
                            .as_array();
    std::set<std::string> named;
    for (auto const& each : codes) named.emplace(each.as_string());
    EXPECT_EQ(named.size(), base::problems.size() - 1);
    for (auto const& entry : base::problems)
        if (entry.code != base::problem::none) EXPECT_TRUE(named.contains(std::string(entry.name)));
}

TEST(openapi, follows_the_settings) {
    settings rules;
    rules.base_url = "https://api.example.com";
    rules.allow_query = rules.allow_body = false;
    auto const made = describe_interface(rules);
    auto const text = json::serialize(made);
    EXPECT_EQ(made.at("servers").at(0).at("url"), "https://api.example.com");
    EXPECT_FALSE(made.at("components").at("securitySchemes").as_object().contains("query"));
    EXPECT_EQ(text.find("\"api_key\""), text.npos);
    EXPECT_EQ(text.find("Strict-Transport-Security"), text.npos);
    EXPECT_EQ(made.at("paths").at("/api/v1/users").at("get").as_object().count("deprecated"), 0u);
    rules.deprecations.push_back(
        parse_deprecation("GET /api/v1/users since=2026-12-01T00:00:00Z").value());
    auto const old = describe_interface(rules).at("paths").at("/api/v1/users");
    EXPECT_TRUE(old.at("get").at("deprecated").as_bool());
    EXPECT_EQ(old.at("post").as_object().count("deprecated"), 0u);
    auto const& listed = old.at("get").at("responses").at("200").at("headers").as_object();
    EXPECT_TRUE(listed.contains("Deprecation") && listed.contains("Sunset"));
    rules.strict_transport_security = true;
    EXPECT_NE(json::serialize(describe_interface(rules)).find("Strict-Transport-Security"),
              text.npos);
    EXPECT_EQ(document().at("servers").at(0).at("url"), "/");
    EXPECT_NE(json::serialize(document()).find("\"api_key\""), text.npos);
}

TEST_F(api_test, openapi_is_served_without_a_key) {
    auto const made = at.ask_bare("GET /openapi.json");
    EXPECT_EQ(made.status, 200);
    EXPECT_EQ(made.field("Content-Type"), "application/json; charset=utf-8");
    EXPECT_EQ(made.field("Cache-Control"), "public, max-age=300");
    EXPECT_EQ(made.json(), json::value(document()));
    EXPECT_EQ(made.field("ETag"), at.rules.documents->openapi_tag);
    EXPECT_EQ(made.field("Vary"), "");
    auto const head = at.ask_bare("HEAD /openapi.json");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.field("Content-Length"), made.field("Content-Length"));
    EXPECT_EQ(at.ask_bare("GET /openapi.json", {}, {"Accept: text/html"}).code(), "not_acceptable");
    EXPECT_EQ(at.ask_bare("GET /openapi.json?x=1").code(), "invalid_parameter");
}

TEST_F(api_test, pages_load_nothing_and_run_nothing) {
    for (auto const* const path : {"/docs", "/problems/not_found"}) {
        auto const made = at.ask_bare("GET " + std::string(path), {}, {"Accept: text/html"});
        EXPECT_EQ(made.status, 200) << path;
        EXPECT_EQ(made.field("Content-Type"), "text/html; charset=utf-8");
        auto const policy = made.field("Content-Security-Policy");
        EXPECT_TRUE(policy.starts_with("default-src 'none'; style-src 'sha256-")) << policy;
        for (auto const* const word : {"<script", "src=", "<link", "url(", "@import",
                                       " style=", "onclick", "javascript:", "http://", "https://"})
            EXPECT_EQ(made.body.find(word), std::string::npos) << word;
    }
    auto const docs = at.ask_bare("GET /docs").body;
    for (auto const& each : routes()) {
        EXPECT_NE(docs.find("<h3 id=\"" + std::string(each.about.id) + '"'), docs.npos);
        EXPECT_NE(docs.find("<code>" + std::string(each.pattern) + "</code>"), docs.npos);
    }
}

}  // namespace
}  // namespace latchkey::api
