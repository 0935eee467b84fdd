// One pass over the route table builds the document: paths, parameters and refusals follow from
// each route and its operation. Parts that recur become components when they are first used; a
// refusal is one for each set of codes under a status. The settings decide about optional parts, so
// the document describes this service and not all of them.
#include "api/exchange/openapi.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>
#include <set>

#include "api/capabilities.hpp"
#include "api/frame/problem_document.hpp"
#include "api/frame/route.hpp"
#include "base/check.hpp"
#include "base/version.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using base::problem;
using json::object;
using std::string;
using std::string_view;

constexpr string_view about_all =
    "Users, posts and API keys over HTTP, in JSON.\n\n"
    "HEAD works wherever GET does. OPTIONS answers 204 with `Allow`; a known path answers another "
    "method with 405. The paths of users and posts, and those of one event and one source, answer "
    "without `/api/v1` too and then name the canonical one in `Link`. Every error is a problem "
    "document (RFC 9457) whose `code` is the "
    "stable part. A body may carry the members named here only; an answer may get more members "
    "with time.";

// Builds the document. Parameters, header fields and refusals become components when they are first
// used.
class document {
  public:
    explicit document(settings const& settings) : settings_(settings) {}

    object make() {
        for (auto const& words : schema::all_words) {
            if (words.schemas == nullptr) continue;
            for (auto& [name, schema] : words.schemas()) schemas_[name] = std::move(schema);
        }
        add_sent_schemas(schemas_);
        auto requests = sent_requests(schemas_);
        for (auto const name : sent_fields) parameter(name);
        object paths;
        for (auto const& route : routes()) add(route, paths);
        return {
            {"openapi", "3.1.0"},
            {"info",
             object{{"title", "latchkey"},
                    {"version", LATCHKEY_VERSION},
                    {"description", about_all},
                    {"license", object{{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
            {"servers",
             json::array{object{{"url", settings_.base_url.empty() ? "/" : settings_.base_url}}}},
            {"tags", group_parts()},
            {"security", credentials({})},
            {"paths", std::move(paths)},
            {"webhooks", std::move(requests)},
            {"components", components()}};
    }

  private:
    // ---- one operation
    void add(route const& route, object& paths) {
        if (auto const* const page = std::get_if<public_route>(&route.run);
            page != nullptr && page->is_part)
            return;
        // Two paths that differ in a variable's name alone are one path to OpenAPI (3.1.0, "Path
        // Templating"), so the second is written below a server of its own. Clients that ignore
        // that server use the path without the prefix, which is answered too.
        bool const twin = has_twin(route);
        auto& item = paths[twin ? route.pattern.substr(prefix.size()) : route.pattern];
        if (item.is_null()) item = object{{"parameters", parameters_of_path(route.pattern)}};
        if (twin)
            item.as_object()["servers"] =
                json::array{object{{"url", settings_.base_url + string(prefix)}}};
        auto& methods = item.as_object();
        if (!std::holds_alternative<gateway>(route.run)) {
            methods[lower(http::name_of(route.method))] = operation_part(route, {});
            return;
        }
        for (auto const* const method :
             {"get", "head", "post", "put", "patch", "delete", "options"})
            methods[method] = operation_part(route, method == string_view("get") ? "" : method);
    }

    // `method`: a further method of a gateway's path, which OpenAPI can only list one by one.
    object operation_part(route const& route, string_view method) {
        auto const& operation = route.operation;
        string id(operation.id);
        if (!method.empty())
            id.append("With").append(1, static_cast<char>(method[0] - 32)).append(method.substr(1));
        object result{{"operationId", id},
                      {"tags", json::array{json::value(operation.group)}},
                      {"summary", operation.summary}};
        for (auto const& each : settings_.deprecations)
            if (each.target == &route) result["deprecated"] = true;
        string text(operation.description);
        if (!is_open(route) && route.scope)
            text.append(text.empty() ? "" : "\n\n")
                .append("Needs the scope `")
                .append(model::name_of(*route.scope))
                .append("`.");
        if (!text.empty()) result["description"] = text;
        if (is_open(route))
            result["security"] = json::array();
        else if (route.scope)
            result["security"] = credentials(model::name_of(*route.scope));
        if (auto parameters = parameters_of(route); !parameters.empty())
            result["parameters"] = std::move(parameters);
        if (!operation.request_schema.empty()) result["requestBody"] = body_of(route);
        result["responses"] = responses_of(route);
        return result;
    }

    static bool is_open(route const& route) {
        return std::holds_alternative<public_route>(route.run);
    }
    static bool is_stream(route const& route) {
        auto const* const reading = std::get_if<read>(&route.run);
        return reading != nullptr && reading->stream != nullptr;
    }
    static bool is_read(route const& route) { return route.method == http::method::get; }
    static string lower(string_view text) {
        string result;
        for (char const c : text) result.push_back(static_cast<char>(c | 0x20));
        return result;
    }

    // ---- parameters
    json::array parameters_of_path(string_view pattern) {
        json::array all;
        for (auto i = pattern.find('{'); i != pattern.npos; i = pattern.find('{', i + 1))
            all.push_back(parameter(pattern.substr(i + 1, pattern.find('}', i) - i - 1)));
        all.push_back(parameter("X-Request-Id"));
        all.push_back(parameter("traceparent"));
        return all;
    }
    json::array parameters_of(route const& route) {
        json::array all;
        auto const add_one = [&](string_view name) { all.push_back(parameter(name)); };
        if (route.operation.result == success::list)
            for (auto const* const name : {"page", "limit", "cursor", "sort"}) add_one(name);
        for (auto const name : route.operation.query)
            if (!name.empty()) add_one(name);
        if (takes_idempotency_key(route)) add_one("Idempotency-Key");
        if (settings_.in_cluster && !is_open(route) && !std::holds_alternative<gateway>(route.run))
            add_one("Consistency-Token");
        if (is_stream(route)) add_one("Last-Event-ID");
        if (!has_conditions(route)) return all;
        add_one("If-None-Match");
        add_one("If-Match");
        return all;
    }
    // Cacheable reads, and writes.
    static bool has_conditions(route const& route) {
        if (is_open(route)) return route.operation.result == success::document;
        return std::holds_alternative<read>(route.run) || std::holds_alternative<write>(route.run);
    }
    object parameter(string_view name) {
        if (!parameters_.contains(name)) parameters_[name] = parameter_part(name);
        return {{"$ref", "#/components/parameters/" + string(name)}};
    }

    // ---- the body of a request
    object body_of(route const& route) {
        auto name = route.operation.request_schema;
        bool const optional = name.ends_with('?');
        if (optional) name.remove_suffix(1);
        auto const* const writing = std::get_if<write>(&route.run);
        bool const external = writing != nullptr && writing->external;
        if (route.method == http::method::post && settings_.allow_body && !external)
            properties_of(name)["api_key"] =
                object{{"type", "string"},
                       {"writeOnly", true},
                       {"description",
                        "The caller's API key, where no header field can be set; "
                        "removed before the body is validated."}};
        object const content{{"schema", schema::ref(name)}};
        object types{{"application/json", content}};
        auto const* const acting = std::get_if<action>(&route.run);
        if (acting != nullptr && acting->form) types["application/x-www-form-urlencoded"] = content;
        if (route.method == http::method::patch) types["application/merge-patch+json"] = content;
        return {{"required", !optional}, {"content", std::move(types)}};
    }
    object& schema_of(string_view name) {
        auto* const schema = schemas_.if_contains(name);
        // The names come from tables of this program; the document is made when it starts.
        base::check(schema != nullptr, "an operation names an unknown schema");
        return schema->as_object();
    }
    object& properties_of(string_view name) { return schema_of(name)["properties"].as_object(); }

    // ---- answers
    object responses_of(route const& route) {
        object result;
        auto const [status, text] = status_of(route.operation.result);
        result[status] = success_of(route, text);
        if (settings_.in_cluster && route.operation.is_confirmed)
            result["202"] = unconfirmed_part(route);
        if (is_read(route) && has_conditions(route))
            result["304"] = object{{"description", "The client has the current representation"},
                                   {"headers", headers_of(route)}};
        std::map<std::uint16_t, std::set<problem>> by_status;
        for (auto const code : problems_of(route))
            by_status[base::describe(code).status].insert(code);
        for (auto const& [number, codes] : by_status)
            result[std::to_string(number)] = refusal(number, codes, route);
        return result;
    }

    static std::pair<string_view, string_view> status_of(success kind) {
        switch (kind) {
            case success::created:
                return {"201", "Created"};
            case success::accepted:
                return {"202", "Accepted"};
            case success::deleted:
                return {"204", "Done"};
            default:
                return {"200", "OK"};
        }
    }

    object success_of(route const& route, string_view text) {
        auto const& operation = route.operation;
        object result{{"description", text}};
        result["headers"] = headers_of(route);
        if (!operation.response_schema.empty())
            result["content"] = object{
                {"application/json", object{{"schema", schema::ref(operation.response_schema)}}}};
        else if (operation.result == success::document)
            result["content"] =
                object{{"text/html", object{{"schema", object{{"type", "string"}}}}}};
        if (is_stream(route))
            result["content"].as_object()["text/event-stream"] =
                object{{"schema", object{{"type", "string"}}}};
        return result;
    }

    // The success of a change that a node may not have applied yet.
    object unconfirmed_part(route const& route) {
        auto result = success_of(route, "Done; a node that does not answer may not know it yet");
        auto const base_name = route.operation.response_schema;
        auto const name = "Unconfirmed" + string(base_name);
        if (!schemas_.contains(name)) {
            auto schema =
                base_name.empty() ? schema::response_object({}, nullptr) : schema_of(base_name);
            schema["properties"].as_object()["effective_by"] = schema::with_description(
                schema::time(), "From then on no node accepts what was turned off.");
            schema["properties"].as_object()["effective_in_seconds"] = schema::with_description(
                object{{"type", "integer"}, {"minimum", 0}},
                "The same from now on, for a client whose clock differs from the node's.");
            if (!schema.contains("required")) schema["required"] = json::array();
            schema["required"].as_array().push_back("effective_by");
            schema["required"].as_array().push_back("effective_in_seconds");
            schema.erase("examples");
            schemas_[name] = std::move(schema);
        }
        result["content"] = object{{"application/json", object{{"schema", schema::ref(name)}}}};
        return result;
    }

    object headers_of(route const& route) {
        auto const kind = route.operation.result;
        object all;
        common_headers(all);
        add_header(all, "Cache-Control");
        if (kind == success::created) add_header(all, "Location");
        if (kind == success::document && route.operation.response_schema.empty())
            for (auto const* const name : {"Content-Security-Policy", "Vary", "Content-Encoding?"})
                add_header(all, name);
        if (route.operation.sets_cookie) add_header(all, "Set-Cookie");
        if (kind == success::list)
            add_header(all, "Link");
        else if (route.unprefixed)
            add_header(all, "Link?");
        if (auto const tag = tag_field(route); !tag.empty()) add_header(all, tag);
        if (kind == success::gateway)
            for (auto const* const name : {"X-Auth-Key-Id", "X-Auth-Project", "X-Auth-Scopes"})
                add_header(all, name);
        if (takes_idempotency_key(route)) add_header(all, "Idempotency-Replayed?");
        if (is_open(route)) return all;
        if (settings_.in_cluster && std::holds_alternative<write>(route.run))
            add_header(all, "Consistency-Token?");
        add_header(all, "Vary");
        add_header(all, "RateLimit-Policy?");
        add_header(all, "RateLimit?");
        return all;
    }
    // Every write that shows a record has its tag, except PUT.
    static string_view tag_field(route const& route) {
        auto const& operation = route.operation;
        bool const optional =
            std::ranges::find(operation.query, "include") != operation.query.end();
        if (operation.result == success::document || optional) return "ETag?";
        if (operation.result == success::resource || operation.result == success::list)
            return "ETag";
        bool const shows_record = std::holds_alternative<write>(route.run) &&
                                  !operation.response_schema.empty() &&
                                  operation.result != success::accepted;
        return shows_record && route.method != http::method::put ? "ETag" : "";
    }
    void common_headers(object& all) {
        add_header(all, "X-Request-Id");
        add_header(all, "X-Content-Type-Options");
        if (settings_.strict_transport_security) add_header(all, "Strict-Transport-Security?");
        if (settings_.deprecations.empty()) return;
        for (auto const* const name : {"Deprecation?", "Sunset?", "Link?"}) add_header(all, name);
    }
    // A `?` at the end of the name: the field may be absent.
    void add_header(object& headers, string_view name) {
        string key(name);
        if (name.ends_with('?')) {
            name.remove_suffix(1);
            key.replace(key.size() - 1, 1, "-optional");
        }
        if (!headers_.contains(key))
            headers_[key] = header_part(key.size() == name.size() ? key : string(name) + '?');
        headers[name] = object{{"$ref", "#/components/headers/" + key}};
    }

    // The problems of every request of this kind and those of the operation.
    std::set<problem> problems_of(route const& route) const {
        using enum problem;
        auto const& operation = route.operation;
        bool const is_gateway = std::holds_alternative<gateway>(route.run);
        std::set<problem> all{malformed_request, invalid_parameter, https_required,
                              request_timeout,   uri_too_long,      headers_too_large,
                              internal_error,    overloaded,        draining};
        for (auto const code : operation.problems)
            if (code != none) all.insert(code);
        if (auto const* const page = std::get_if<public_route>(&route.run))
            if (page->ignores_query()) all.erase(invalid_parameter);
        if (has_conditions(route)) all.insert(precondition_failed);
        if (is_open(route)) {
            if (!operation.response_schema.empty()) all.insert(not_acceptable);
            return all;
        }
        all.insert({duplicate_credentials, key_missing, key_invalid, token_expired, token_invalid,
                    token_not_yet_valid, key_deactivated, key_expired, key_not_yet_active,
                    ip_not_allowed, rate_limited, too_many_auth_failures, behind});
        if (route.scope || is_gateway) all.insert(insufficient_scope);
        if (is_gateway) return all;
        if (settings_.console) all.insert({session_invalid, cross_site_request});
        all.insert({not_acceptable, expectation_failed});
        if (route.pattern.find("{id}") != string_view::npos) all.insert(not_found);
        if (operation.result == success::list) all.insert({conflicting_parameters, invalid_cursor});
        if (!operation.request_schema.empty())
            all.insert({invalid_json, body_too_large, unsupported_media_type, validation_failed});
        if (std::holds_alternative<write>(route.run)) all.insert({storage_full, store_busy});
        if (takes_idempotency_key(route))
            all.insert({idempotency_key_invalid, idempotency_in_progress, idempotency_key_reused});
        bool const has_tag = route.pattern.find("{id}") != route.pattern.npos;
        if (std::holds_alternative<write>(route.run) && route.method != http::method::post &&
            has_tag)
            all.insert(precondition_required);
        return all;
    }

    // A component for each set of codes that an operation answers with one status, in one form.
    object refusal(std::uint16_t status, std::set<problem> const& codes, route const& route) {
        bool const masked = std::holds_alternative<gateway>(route.run) && status == 403;
        bool const is_page = route.operation.result == success::document && status == 404;
        auto& name = refusals_[{status, codes, masked || is_page}];
        if (name.empty()) {
            name = "Problem" + std::to_string(status);
            for (int i = 2; responses_.contains(name); ++i)
                name = "Problem" + std::to_string(status) + "-" + std::to_string(i);
            responses_[name] = refusal_part(status, codes, masked);
            if (is_page) add_page(responses_[name].as_object());
        }
        return {{"$ref", "#/components/responses/" + name}};
    }
    object refusal_part(std::uint16_t status, std::set<problem> const& codes, bool masked) {
        string text;
        json::array names;
        object examples;
        for (auto const code : codes) {
            auto const& entry = base::describe(code);
            text.append(text.empty() ? "" : "\n").append("- `").append(entry.name).append("`: ");
            text.append(entry.title).append(".");
            names.push_back(json::value(entry.name));
            examples[entry.name] = object{{"value", example_of(code)}};
        }
        object const narrowed{{"properties", object{{"status", object{{"const", status}}},
                                                    {"code", object{{"enum", std::move(names)}}}}}};
        object const content{
            {"schema", object{{"allOf", json::array{schema::ref("Problem"), narrowed}}}},
            {"examples", std::move(examples)}};
        return {{"description", text},
                {"headers",
                 headers_of_refusal(status, masked, std::ranges::any_of(codes, domain::is_kept))},
                {"content", object{{"application/problem+json", content}}}};
    }
    // The same refusal as a page, to a client that asks for one.
    void add_page(object& refusal) {
        refusal["content"].as_object()["text/html"] =
            object{{"schema", object{{"type", "string"}}}};
        for (auto const* const name : {"Content-Security-Policy?", "Content-Encoding?"})
            add_header(refusal["headers"].as_object(), name);
    }
    // `is_replayable`: the refusal may be replayed under an Idempotency-Key.
    object headers_of_refusal(std::uint16_t status, bool masked, bool is_replayable) {
        object all;
        common_headers(all);
        add_header(all, "Cache-Control");
        if (status == 401) add_header(all, "WWW-Authenticate");
        if (status == 403) add_header(all, "WWW-Authenticate?");
        if (status == 415) add_header(all, "Accept?");
        if (status == 415) add_header(all, "Accept-Patch?");
        if (status == 415) add_header(all, "Accept-Encoding?");
        if (status == 429 || status == 503) add_header(all, "Retry-After");
        if (masked) add_header(all, "Retry-After?");
        if (masked) add_header(all, "X-Auth-Status?");
        if (is_replayable) add_header(all, "Idempotency-Replayed?");
        for (auto const* const name : {"Vary?", "Link?", "RateLimit-Policy?", "RateLimit?"})
            add_header(all, name);
        return all;
    }
    object example_of(problem code) {
        auto const& entry = base::describe(code);
        object result{{"type", settings_.base_url + "/problems/" + string(entry.name)},
                      {"title", entry.title},
                      {"status", entry.status},
                      {"detail", advice_for(code)},
                      {"instance", "urn:request:req_0000000000000000000001"},
                      {"code", entry.name},
                      {"request_id", "req_0000000000000000000001"}};
        if (code == problem::rate_limited)
            result["violated_policies"] = result["violated-policies"] = json::array{"minute"};
        return result;
    }

    // ---- shared by all operations
    // Alternatives; `scope` is the one that the key needs.
    json::array credentials(string_view scope) const {
        json::array ways;
        json::array scopes;
        if (!scope.empty()) scopes.push_back(json::value(scope));
        ways.push_back(object{{"bearer", scopes}});
        ways.push_back(object{{"header", scopes}});
        if (settings_.allow_query) ways.push_back(object{{"query", scopes}});
        if (settings_.console) ways.push_back(object{{"session", scopes}});
        return ways;
    }
    object components() {
        object schemes{
            {"bearer", object{{"type", "http"},
                              {"scheme", "bearer"},
                              {"description", "`Authorization: Bearer KEY`"}}},
            {"header", object{{"type", "apiKey"}, {"in", "header"}, {"name", "X-API-Key"}}}};
        if (settings_.allow_query)
            schemes["query"] = object{{"type", "apiKey"},
                                      {"in", "query"},
                                      {"name", "api_key"},
                                      {"description",
                                       "For callers that can set nothing else: "
                                       "URLs end up in the logs of others."}};
        if (settings_.console)
            schemes["session"] = object{{"type", "apiKey"},
                                        {"in", "cookie"},
                                        {"name", "__Host-latchkey"},
                                        {"description",
                                         "The session of a browser, which `POST /session` starts. "
                                         "A request that changes something needs `Origin` too."}};
        return {{"securitySchemes", std::move(schemes)},
                {"parameters", std::move(parameters_)},
                {"headers", std::move(headers_)},
                {"responses", std::move(responses_)},
                {"schemas", std::move(schemas_)}};
    }

    settings const& settings_;
    object schemas_, parameters_, headers_, responses_;
    std::map<std::tuple<std::uint16_t, std::set<problem>, bool>, string> refusals_;
};

}  // namespace

json::object describe_interface(settings const& settings) {
    return document(settings).make();
}

}  // namespace latchkey::api
