// The OpenAPI document compared with the interface. How tools read it is tested end to end
// (tests/e2e/docs/openapi.test.mjs).
#include "api/exchange/openapi.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <functional>
#include <map>
#include <set>

#include "../harness.hpp"
#include "api/docs/documents.hpp"
#include "api/exchange/deprecation.hpp"
#include "api/frame/route.hpp"
#include "domain/changes/change_types.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;

std::string lower(std::string_view text) {
    std::string result;
    for (char const c : text) result.push_back(static_cast<char>(c | 0x20));
    return result;
}

// Visits every object in `value`, including itself.
void visit(json::value const& value, std::function<void(json::object const&)> const& each) {
    if (auto const* const list = value.if_array())
        for (auto const& inner : *list) visit(inner, each);
    if (auto const* const object = value.if_object()) {
        each(*object);
        for (auto const& member : *object) visit(member.value(), each);
    }
}

json::object const& document() {
    static auto const result = describe_interface(settings{});
    return result;
}

// The path of an operation in the document. A path that differs from an earlier one in a variable's
// name alone is below a server of its own.
std::string_view path_of(route const& route) {
    return has_twin(route) ? route.pattern.substr(prefix.size()) : route.pattern;
}

// The routes of the document: all but parts of pages.
std::vector<route const*> described_routes() {
    std::vector<route const*> result;
    for (auto const& each : routes()) {
        auto const* const page = std::get_if<public_route>(&each.run);
        if (page == nullptr || !page->is_part) result.push_back(&each);
    }
    return result;
}

// OpenAPI 3.1.0, "Path Templating": templates that differ in names alone are identical.
TEST(openapi, has_no_equivalent_paths) {
    std::set<std::string> shapes;
    for (auto const& [path, item] : document().at("paths").as_object()) {
        std::string shape;
        for (bool name = false; char const c : path) {
            if (c == '}') name = false;
            if (!name) shape.push_back(c);
            if (c == '{') name = true;
        }
        EXPECT_TRUE(shapes.insert(shape).second) << path;
    }
}

TEST(openapi, types_the_id_of_an_event_and_the_source_of_one_apart) {
    auto const whole = describe_interface({.base_url = "https://api.example.com"});
    auto const schema_of = [&](std::string_view path) {
        auto const& reference =
            whole.at("paths").at(path).at("parameters").at(0).at("$ref").as_string();
        return json::value(whole).at_pointer(std::string_view(reference).substr(1)).at("schema");
    };
    EXPECT_EQ(schema_of("/api/v1/events/{id}").at("type"), "integer");
    EXPECT_EQ(schema_of("/events/{event_source}").at("type"), "string");
    EXPECT_EQ(json::serialize(whole.at("paths").at("/events/{event_source}").at("servers")),
              R"([{"url":"https://api.example.com/api/v1"}])");
    EXPECT_FALSE(whole.at("paths").at("/api/v1/events/{id}").as_object().contains("servers"));
}

TEST(openapi, has_the_operations_of_the_route_table_and_no_others) {
    std::set<std::pair<std::string, std::string>> described, routed;
    for (auto const& [path, item] : document().at("paths").as_object())
        for (auto const& [method, what] : item.as_object())
            if (method != "parameters" && method != "servers") described.emplace(path, method);
    for (auto const* const row : described_routes()) {
        auto const& each = *row;
        routed.emplace(path_of(each), lower(http::name_of(each.method)));
        if (!std::holds_alternative<gateway>(each.run)) continue;
        for (auto const* const method : {"head", "post", "put", "patch", "delete", "options"})
            routed.emplace(each.pattern, method);
    }
    EXPECT_EQ(described, routed);
}

// api.md §15; a service of one machine does not describe what it never sends.
TEST(openapi, describes_tokens_and_unconfirmed_changes_in_a_cluster) {
    json::value const whole = describe_interface({.in_cluster = true});
    auto const accepts = [](std::string_view id) {
        return id == "receiveEvent" || id == "testWebhook" || id == "replayWebhook";
    };
    std::set<std::string> unconfirmed, token_answers;
    for (auto const& [path, item] : whole.at("paths").as_object())
        for (auto const& [method, what] : item.as_object()) {
            auto const* const responses =
                what.is_object() ? what.as_object().if_contains("responses") : nullptr;
            if (responses == nullptr) continue;
            std::string const id(what.at("operationId").as_string());
            for (auto const& [status, response] : responses->as_object()) {
                auto const* const headers = response.as_object().if_contains("headers");
                if (headers != nullptr && headers->as_object().contains("Consistency-Token"))
                    token_answers.insert(id);
                if (status != "202" || accepts(id)) continue;
                unconfirmed.insert(id);
                auto const& reference =
                    response.at_pointer("/content/application~1json/schema/$ref").as_string();
                auto const& schema = whole.at_pointer(std::string_view(reference).substr(1));
                EXPECT_TRUE(schema.at("properties").as_object().contains("effective_by")) << id;
            }
        }
    EXPECT_EQ(unconfirmed,
              (std::set<std::string>{"deactivateCurrentKey", "deactivateKey", "deleteKey",
                                     "endSessions", "putEventSecret", "rotateKey", "updateKey"}));
    for (auto const& each : routes())
        EXPECT_EQ(token_answers.contains(std::string(each.operation.id)),
                  std::holds_alternative<write>(each.run))
            << each.operation.id;
    EXPECT_TRUE(whole.at("components").at("parameters").as_object().contains("Consistency-Token"));
    EXPECT_EQ(json::serialize(document()).find("Consistency-Token"), std::string::npos);
    EXPECT_EQ(json::serialize(document()).find("effective_by"), std::string::npos);
}

TEST(openapi, names_each_operation_once) {
    std::set<std::string> ids;
    std::set<operation const*> documented;
    visit(document().at("paths"), [&](json::object const& object) {
        if (auto const* const id = object.if_contains("operationId"))
            EXPECT_TRUE(ids.emplace(id->as_string()).second) << *id;
    });
    for (auto const* const each : described_routes()) {
        EXPECT_TRUE(documented.insert(&each->operation).second) << each->operation.id;
        EXPECT_TRUE(ids.contains(std::string(each->operation.id)));
    }
}

TEST(openapi, says_which_scope_an_operation_needs) {
    for (auto const* const row : described_routes()) {
        auto const& each = *row;
        auto const& operation = document()
                                    .at("paths")
                                    .at(path_of(each))
                                    .at(lower(http::name_of(each.method)))
                                    .as_object();
        auto const* const ways = operation.if_contains("security");
        if (std::holds_alternative<public_route>(each.run)) {
            ASSERT_NE(ways, nullptr);
            EXPECT_TRUE(ways->as_array().empty()) << each.operation.id;
        } else if (each.scope) {
            auto const needed = json::array{json::value(model::name_of(*each.scope))};
            EXPECT_EQ(ways->as_array().size(), 4u) << "three of a key, and a session";
            for (auto const& way : ways->as_array())
                EXPECT_EQ(way.as_object().begin()->value(), needed) << each.operation.id;
        } else {
            EXPECT_EQ(ways, nullptr) << "the ways of the whole document, no scope";
        }
    }
}

// Each example has every member that its schema requires, and no others.
TEST(openapi, shows_what_webhooks_are_sent_for_each_type_of_change) {
    json::value const whole(document());
    EXPECT_EQ(whole.at("webhooks").as_object().size(), domain::change_type_count());
    auto const expect_members = [&](json::value const& example, std::string_view schema) {
        auto const pointer = "/components/schemas/" + std::string(schema) + "/properties";
        auto const& properties = whole.at_pointer(pointer).as_object();
        EXPECT_EQ(example.as_object().size(), properties.size()) << json::serialize(example);
        for (auto const& [name, shape] : properties)
            EXPECT_TRUE(example.as_object().contains(name)) << name;
    };
    std::map<std::string_view, std::string_view> const records{
        {"UserChange", "User"},   {"PostChange", "Post"},
        {"KeyChange", "Key"},     {"EventSecretChange", "SecretChange"},
        {"EventChange", "Event"}, {"WebhookChange", "Webhook"}};
    for (std::size_t i = 0; i < domain::change_type_count(); ++i) {
        auto const type = domain::name_of(static_cast<model::change_type>(i));
        SCOPED_TRACE(type);
        auto const& operation = whole.at("webhooks").at(type).at("post");
        EXPECT_EQ(operation.at("parameters").as_array().size(), 3u);
        auto const& content = operation.at_pointer("/requestBody/content/application~1json");
        auto const& example = content.at("example");
        EXPECT_EQ(example.at("type"), json::value(type));
        auto const& path = content.at("schema").at("$ref").as_string();
        auto const& schema = whole.at_pointer(std::string_view(path).substr(1));
        auto const& types = schema.at_pointer("/properties/type/enum").as_array();
        EXPECT_NE(std::ranges::find(types, json::value(type)), types.end());
        auto const name = std::string_view(path).substr(path.rfind('/') + 1);
        expect_members(example, name);
        ASSERT_TRUE(records.contains(name)) << name;
        expect_members(example.at("data"), records.at(name));
    }
}

TEST(openapi, says_where_an_idempotency_key_counts) {
    std::set<std::string_view> takers;
    for (auto const* const row : described_routes()) {
        auto const& each = *row;
        auto const& operation =
            document().at("paths").at(path_of(each)).at(lower(http::name_of(each.method)));
        auto const text = json::serialize(operation);
        bool const takes = text.find("parameters/Idempotency-Key") != text.npos;
        EXPECT_EQ(takes, text.find("headers/Idempotency-Replayed") != text.npos)
            << each.operation.id;
        if (takes) takers.insert(each.operation.id);
    }
    EXPECT_EQ(takers, (std::set<std::string_view>{
                          "createUser", "updateUser", "createPost", "updatePost", "createKey",
                          "updateKey", "rotateKey", "deactivateKey", "reactivateKey",
                          "deactivateCurrentKey", "receiveEvent", "createWebhook", "updateWebhook",
                          "rotateWebhookSecret", "enableWebhook", "testWebhook", "replayWebhook"}));
}

TEST(openapi, has_no_dangling_references_and_no_unused_components) {
    std::set<std::string> names_in_use;
    visit(document(), [&](json::object const& object) {
        auto const* const target = object.if_contains("$ref");
        if (target == nullptr || !target->is_string()) return;
        std::string const path(target->as_string());
        names_in_use.insert(path);
        json::error_code wrong;
        EXPECT_NE(json::value(document()).find_pointer(path.substr(1), wrong), nullptr) << path;
    });
    for (auto const& [kind, all] : document().at("components").as_object())
        for (auto const& [name, what] : all.as_object())
            if (kind != "securitySchemes")
                EXPECT_TRUE(names_in_use.contains("#/components/" + std::string(kind) + "/" +
                                                  std::string(name)))
                    << name;
}

// Every problem that a request produces is documented for its operation.
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
    api::settings settings;
    settings.base_url = "https://api.example.com";
    settings.allow_query = settings.allow_body = settings.console = false;
    auto const response = describe_interface(settings);
    auto const text = json::serialize(response);
    EXPECT_EQ(response.at("servers").at(0).at("url"), "https://api.example.com");
    auto const& schemes = response.at("components").at("securitySchemes").as_object();
    EXPECT_FALSE(schemes.contains("query") || schemes.contains("session"));
    EXPECT_EQ(text.find("\"api_key\""), text.npos);
    EXPECT_EQ(text.find("Strict-Transport-Security"), text.npos);
    EXPECT_EQ(response.at("paths").at("/api/v1/users").at("get").as_object().count("deprecated"),
              0u);
    settings.deprecations.push_back(
        parse_deprecation("GET /api/v1/users since=2026-12-01T00:00:00Z").value());
    auto const old = describe_interface(settings).at("paths").at("/api/v1/users");
    EXPECT_TRUE(old.at("get").at("deprecated").as_bool());
    EXPECT_EQ(old.at("post").as_object().count("deprecated"), 0u);
    auto const& listed = old.at("get").at("responses").at("200").at("headers").as_object();
    EXPECT_TRUE(listed.contains("Deprecation") && listed.contains("Sunset"));
    settings.strict_transport_security = true;
    EXPECT_NE(json::serialize(describe_interface(settings)).find("Strict-Transport-Security"),
              text.npos);
    EXPECT_EQ(document().at("servers").at(0).at("url"), "/");
    EXPECT_NE(json::serialize(document()).find("\"api_key\""), text.npos);
}

TEST_F(api_test, openapi_is_served_without_a_key) {
    auto const response = service.request_anonymous("GET /openapi.json");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.field("Content-Type"), "application/json; charset=utf-8");
    EXPECT_EQ(response.field("Cache-Control"), "public, max-age=300");
    EXPECT_EQ(response.json(), json::value(document()));
    EXPECT_EQ(response.field("ETag"), service.settings.documents->openapi_tag);
    EXPECT_EQ(response.field("Vary"), "");
    auto const head = service.request_anonymous("HEAD /openapi.json");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.field("Content-Length"), response.field("Content-Length"));
    EXPECT_EQ(service.request_anonymous("GET /openapi.json", {}, {"Accept: text/html"}).code(),
              "not_acceptable");
    EXPECT_EQ(service.request_anonymous("GET /openapi.json?x=1").code(), "invalid_parameter");
}

}  // namespace
}  // namespace latchkey::api
