#include "api/openapi.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <set>

#include "api/documents.hpp"
#include "api/handlers.hpp"
#include "api/page.hpp"
#include "api/problem.hpp"
#include "api/route.hpp"
#include "api/schema.hpp"
#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/hash.hpp"

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
    "method with 405. The paths of users and posts answer without `/api/v1` too and then name the "
    "canonical one in `Link`. Every error is a problem document (RFC 9457) whose `code` is the "
    "stable part. A body may carry the members named here only; an answer may get more members "
    "with time.";

// From text to a component of its own, named where it is first used.
class document {
  public:
    explicit document(settings const& rules) : rules_(rules) {}

    object make() {
        schemas_ = resource_schemas();
        for (auto& [name, schema] : key_schemas()) schemas_[name] = std::move(schema);
        for (auto& [name, schema] : event_schemas()) schemas_[name] = std::move(schema);
        object paths;
        for (auto const& route : routes()) add(route, paths);
        return {{"openapi", "3.1.0"},
                {"info",
                 object{{"title", "latchkey"},
                        {"version", LATCHKEY_VERSION},
                        {"description", about_all},
                        {"license", object{{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
                {"servers",
                 json::array{object{{"url", rules_.base_url.empty() ? "/" : rules_.base_url}}}},
                {"tags", group_parts()},
                {"security", credentials({})},
                {"paths", std::move(paths)},
                {"components", components()}};
    }

  private:
    // ---- one operation
    void add(route const& which, object& paths) {
        auto& item = paths[which.pattern];
        if (item.is_null()) item = object{{"parameters", parameters_of_path(which.pattern)}};
        auto& methods = item.as_object();
        if (!std::holds_alternative<gateway>(which.run)) {
            methods[lower(http::name_of(which.method))] = operation_of(which, {});
            return;
        }
        for (auto const* const method :
             {"get", "head", "post", "put", "patch", "delete", "options"})
            methods[method] = operation_of(which, method == string_view("get") ? "" : method);
    }

    // `method`: of the further methods of a gateway's path.
    object operation_of(route const& which, string_view method) {
        auto const& about = which.about;
        string id(about.id);
        if (!method.empty())
            id.append("With").append(1, static_cast<char>(method[0] - 32)).append(method.substr(1));
        object made{{"operationId", id},
                    {"tags", json::array{json::value(about.group)}},
                    {"summary", about.summary}};
        for (auto const& each : rules_.deprecations)
            if (each.of == &which) made["deprecated"] = true;
        string text(about.details);
        if (!is_open(which) && which.scope)
            text.append(text.empty() ? "" : "\n\n")
                .append("Needs the scope `")
                .append(model::name_of(*which.scope))
                .append("`.");
        if (!text.empty()) made["description"] = text;
        if (is_open(which))
            made["security"] = json::array();
        else if (which.scope)
            made["security"] = credentials(model::name_of(*which.scope));
        if (auto parameters = parameters_of(which); !parameters.empty())
            made["parameters"] = std::move(parameters);
        if (!about.takes.empty()) made["requestBody"] = body_of(which);
        made["responses"] = responses_of(which);
        return made;
    }

    static bool is_open(route const& which) { return std::holds_alternative<open>(which.run); }
    static bool is_read(route const& which) { return which.method == http::method::get; }
    static string lower(string_view text) {
        string made;
        for (char const c : text) made.push_back(static_cast<char>(c | 0x20));
        return made;
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
    json::array parameters_of(route const& which) {
        json::array all;
        auto const add_one = [&](string_view name) { all.push_back(parameter(name)); };
        if (which.about.answers == success::list)
            for (auto const* const name : {"page", "limit", "cursor", "sort"}) add_one(name);
        for (auto const name : which.about.query)
            if (!name.empty()) add_one(name);
        if (takes_idempotency_key(which)) add_one("Idempotency-Key");
        if (!has_conditions(which)) return all;
        add_one("If-None-Match");
        add_one("If-Match");
        return all;
    }
    // Reads that can be kept, and writes.
    static bool has_conditions(route const& which) {
        if (is_open(which)) return which.about.answers == success::document;
        return std::holds_alternative<read>(which.run) || std::holds_alternative<write>(which.run);
    }
    object parameter(string_view name) {
        if (!parameters_.contains(name)) parameters_[name] = parameter_part(name);
        return {{"$ref", "#/components/parameters/" + string(name)}};
    }

    // ---- the body of a request
    object body_of(route const& which) {
        auto name = which.about.takes;
        bool const optional = name.ends_with('?');
        if (optional) name.remove_suffix(1);
        auto const* const writing = std::get_if<write>(&which.run);
        bool const foreign = writing != nullptr && writing->foreign;
        if (which.method == http::method::post && rules_.allow_body && !foreign)
            properties_of(name)["api_key"] =
                object{{"type", "string"},
                       {"writeOnly", true},
                       {"description",
                        "The caller's API key, where no header field can be set; "
                        "taken out before the body is looked at."}};
        object const content{{"schema", schema::ref(name)}};
        object types{{"application/json", content}};
        if (which.method == http::method::patch) types["application/merge-patch+json"] = content;
        return {{"required", !optional}, {"content", std::move(types)}};
    }
    object& properties_of(string_view name) {
        auto* const found = schemas_.if_contains(name);
        base::check(found != nullptr, "an operation takes an unknown schema");
        return found->as_object()["properties"].as_object();
    }

    // ---- answers
    object responses_of(route const& which) {
        object made;
        auto const [status, text] = status_of(which.about.answers);
        made[status] = success_of(which, text);
        if (is_read(which) && has_conditions(which))
            made["304"] =
                object{{"description", "The client has it"}, {"headers", headers_of(which)}};
        std::map<std::uint16_t, std::set<problem>> by_status;
        for (auto const code : problems_of(which))
            by_status[base::describe(code).status].insert(code);
        for (auto const& [number, codes] : by_status)
            made[std::to_string(number)] = refusal(number, codes, which);
        return made;
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

    object success_of(route const& which, string_view text) {
        auto const& about = which.about;
        object made{{"description", text}};
        made["headers"] = headers_of(which);
        if (!about.shows.empty())
            made["content"] =
                object{{"application/json", object{{"schema", schema::ref(about.shows)}}}};
        else if (about.answers == success::document)
            made["content"] = object{{"text/html", object{{"schema", object{{"type", "string"}}}}}};
        return made;
    }

    object headers_of(route const& which) {
        auto const kind = which.about.answers;
        object all;
        common_headers(all);
        add_header(all, "Cache-Control");
        if (kind == success::created) add_header(all, "Location");
        if (kind == success::document && which.about.shows.empty())
            add_header(all, "Content-Security-Policy");
        if (kind == success::list)
            add_header(all, "Link");
        else if (which.unprefixed)
            add_header(all, "Link?");
        if (auto const tag = tag_field(which); !tag.empty()) add_header(all, tag);
        if (kind == success::gateway)
            for (auto const* const name : {"X-Auth-Key-Id", "X-Auth-Project", "X-Auth-Scopes"})
                add_header(all, name);
        if (takes_idempotency_key(which)) add_header(all, "Idempotency-Replayed?");
        if (is_open(which)) return all;
        add_header(all, "Vary");
        add_header(all, "RateLimit-Policy?");
        add_header(all, "RateLimit?");
        return all;
    }
    // Every write that shows a record tells its tag, but PUT.
    static string_view tag_field(route const& which) {
        auto const& about = which.about;
        bool const optional = std::ranges::find(about.query, "include") != about.query.end();
        if (about.answers == success::document || optional) return "ETag?";
        if (about.answers == success::resource || about.answers == success::list) return "ETag";
        // Events and their secrets are written once and have none.
        bool const shown = std::holds_alternative<write>(which.run) && !about.shows.empty() &&
                           about.group != "Events";
        return shown && which.method != http::method::put ? "ETag" : "";
    }
    void common_headers(object& all) {
        add_header(all, "X-Request-Id");
        add_header(all, "X-Content-Type-Options");
        if (rules_.strict_transport_security) add_header(all, "Strict-Transport-Security?");
        if (rules_.deprecations.empty()) return;
        for (auto const* const name : {"Deprecation?", "Sunset?", "Link?"}) add_header(all, name);
    }
    // A `?` at the end: the field may be absent.
    void add_header(object& to, string_view name) {
        string key(name);
        if (name.ends_with('?')) {
            name.remove_suffix(1);
            key.replace(key.size() - 1, 1, "-optional");
        }
        if (!headers_.contains(key))
            headers_[key] = header_part(key.size() == name.size() ? key : string(name) + '?');
        to[name] = object{{"$ref", "#/components/headers/" + key}};
    }

    // What any request of this kind can come to, and what is the operation's own.
    static std::set<problem> problems_of(route const& which) {
        using enum problem;
        auto const& about = which.about;
        bool const is_gateway = std::holds_alternative<gateway>(which.run);
        std::set<problem> all{malformed_request, invalid_parameter, https_required,
                              request_timeout,   uri_too_long,      headers_too_large,
                              internal_error,    overloaded,        draining};
        for (auto const code : about.problems)
            if (code != none) all.insert(code);
        if (about.answers == success::document && about.id == "getProblem")
            all.insert(route_not_found);
        if (has_conditions(which)) all.insert(precondition_failed);
        if (is_open(which)) {
            if (!about.shows.empty()) all.insert(not_acceptable);
            return all;
        }
        all.insert({duplicate_credentials, key_missing, key_invalid, key_deactivated, key_expired,
                    key_not_yet_active, ip_not_allowed, rate_limited, too_many_auth_failures});
        if (which.scope || is_gateway) all.insert(insufficient_scope);
        if (is_gateway) return all;
        all.insert({not_acceptable, expectation_failed});
        if (which.pattern.find("{id}") != string_view::npos) all.insert(not_found);
        if (about.answers == success::list) all.insert({conflicting_parameters, invalid_cursor});
        if (!about.takes.empty())
            all.insert({invalid_json, body_too_large, unsupported_media_type, validation_failed});
        if (std::holds_alternative<write>(which.run)) all.insert(storage_full);
        if (takes_idempotency_key(which))
            all.insert({idempotency_key_invalid, idempotency_in_progress, idempotency_key_reused});
        bool const has_tag = which.pattern.find("{id}") != which.pattern.npos;
        if (std::holds_alternative<write>(which.run) && which.method != http::method::post &&
            has_tag)
            all.insert(precondition_required);
        return all;
    }

    // Each set of codes that some operation answers with one status is a component.
    object refusal(std::uint16_t status, std::set<problem> const& codes, route const& which) {
        bool const masked = std::holds_alternative<gateway>(which.run) && status == 403;
        auto& name = refusals_[{status, codes, masked}];
        if (name.empty()) {
            name = "Problem" + std::to_string(status);
            for (int i = 2; responses_.contains(name); ++i)
                name = "Problem" + std::to_string(status) + "-" + std::to_string(i);
            responses_[name] = refusal_part(status, codes, masked);
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
                 headers_of_refusal(status, masked, std::ranges::any_of(codes, store::is_kept))},
                {"content", object{{"application/problem+json", content}}}};
    }
    // `kept`: a write that was refused so may be a repeat.
    object headers_of_refusal(std::uint16_t status, bool masked, bool kept) {
        object all;
        common_headers(all);
        add_header(all, "Cache-Control");
        if (status == 401) add_header(all, "WWW-Authenticate");
        if (status == 403) add_header(all, "WWW-Authenticate?");
        if (status == 415) add_header(all, "Accept");
        if (status == 415) add_header(all, "Accept-Patch?");
        if (status == 429 || status == 503) add_header(all, "Retry-After");
        if (masked) add_header(all, "Retry-After?");
        if (masked) add_header(all, "X-Auth-Status?");
        if (kept) add_header(all, "Idempotency-Replayed?");
        for (auto const* const name : {"Vary?", "Link?", "RateLimit-Policy?", "RateLimit?"})
            add_header(all, name);
        return all;
    }
    object example_of(problem code) {
        auto const& entry = base::describe(code);
        object made{{"type", rules_.base_url + "/problems/" + string(entry.name)},
                    {"title", entry.title},
                    {"status", entry.status},
                    {"detail", advice_for(code)},
                    {"instance", "urn:request:req_0000000000000000000001"},
                    {"code", entry.name},
                    {"request_id", "req_0000000000000000000001"}};
        if (code == problem::rate_limited) made["violated_policies"] = json::array{"minute"};
        return made;
    }

    // ---- what all share
    // One way at a time; `scope` is what the key needs.
    json::array credentials(string_view scope) const {
        json::array ways;
        json::array scopes;
        if (!scope.empty()) scopes.push_back(json::value(scope));
        ways.push_back(object{{"bearer", scopes}});
        ways.push_back(object{{"header", scopes}});
        if (rules_.allow_query) ways.push_back(object{{"query", scopes}});
        return ways;
    }
    object components() {
        object schemes{
            {"bearer", object{{"type", "http"},
                              {"scheme", "bearer"},
                              {"description", "`Authorization: Bearer KEY`"}}},
            {"header", object{{"type", "apiKey"}, {"in", "header"}, {"name", "X-API-Key"}}}};
        if (rules_.allow_query)
            schemes["query"] = object{{"type", "apiKey"},
                                      {"in", "query"},
                                      {"name", "api_key"},
                                      {"description",
                                       "For callers that can set nothing else: "
                                       "URLs end up in logs of others."}};
        return {{"securitySchemes", std::move(schemes)},
                {"parameters", std::move(parameters_)},
                {"headers", std::move(headers_)},
                {"responses", std::move(responses_)},
                {"schemas", std::move(schemas_)}};
    }

    settings const& rules_;
    object schemas_, parameters_, headers_, responses_;
    std::map<std::tuple<std::uint16_t, std::set<problem>, bool>, string> refusals_;
};

string tag_of(string_view bytes) {
    string number;
    base::append(number, base::hash(bytes));
    return '"' + base::to_hex(number) + '"';
}

void show(string const& bytes, string const& tag, http::content type, http::response& answer) {
    answer.content_type = type;
    answer.body.append(bytes);
    answer.add("ETag", tag);
    answer.add("Cache-Control", "public, max-age=300");
}

}  // namespace

json::object describe_interface(settings const& rules) {
    return document(rules).make();
}

std::shared_ptr<documents const> make_documents(settings const& rules) {
    auto const whole = describe_interface(rules);
    auto made = std::make_shared<documents>();
    made->openapi = json::serialize(whole);
    made->openapi_tag = tag_of(made->openapi);
    made->docs = docs_page(whole);
    made->docs_tag = tag_of(made->docs);
    return made;
}

std::optional<trouble> show_openapi(string_view, settings const& rules, http::response& answer) {
    auto const& of = *rules.documents;
    show(of.openapi, of.openapi_tag, http::content::json, answer);
    return std::nullopt;
}
std::optional<trouble> show_docs(string_view, settings const& rules, http::response& answer) {
    auto const& of = *rules.documents;
    show(of.docs, of.docs_tag, http::content::html, answer);
    answer.add("Content-Security-Policy", page_policy());
    return std::nullopt;
}

}  // namespace latchkey::api
