// JSON Schemas of keys and of the requests and responses about them.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/keys/key_routes.hpp"
#include "auth/key_form.hpp"
#include "base/limits.hpp"
#include "domain/command.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

constexpr std::string_view limits_example =
    R"([{"name": "minute", "limit": 600, "window_seconds": 60, "burst": 600}])";
constexpr std::string_view new_key_example = R"({"name": "ci", "scopes": ["users:read"],
    "expires_in": 7776000})";

constexpr std::string_view key_example = R"({"id": 3, "kind": "key", "name": "ci",
    "project": "default", "environment": "production", "start": "lkeyA1b2", "last4": "z9Y8",
    "issuer": null, "subject": null, "scopes": ["users:read"],
    "state": "active", "not_before": null, "expires_at": "2026-04-02T03:04:05.678Z",
    "created_at": "2026-01-02T03:04:05.678Z", "created_by": 1, "deactivated_at": null,
    "deactivation_reason": null, "last_used_at": "2026-01-03T09:30:00.000Z", "replaces": null,
    "replaced_by": null, "rotation_ends_at": null,
    "rate_limits": [{"name": "minute", "limit": 600, "window_seconds": 60, "burst": 600}],
    "ip_allowlist": ["203.0.113.0/24"], "metadata": {"team": "billing"}})";
constexpr std::string_view key_text = "lkeyExampleOfAKeyThatOpensNothingAtAll0123456789";
static_assert(key_text.size() == auth::key_bytes);

object key_name() {
    return with_description(text(1, model::key_name_points_max),
                            "In code points; no control characters.");
}
object project() {
    return project_name();
}
object environment() {
    return one_of({"development", "staging", "production"});
}
object scopes(std::int64_t minimum) {
    auto result = list_of(ref("Scope"), 64);
    if (minimum > 0) result["minItems"] = minimum;
    return result;
}
object rate_limits(std::string_view element) {
    return with_description(list_of(ref(element), model::rate_limits_max), "Empty: unlimited.");
}
object allowlist() {
    return with_description(list_of(object{{"type", "string"}}, model::ip_allowlist_max),
                            "Networks such as `10.0.0.0/8`; empty: anywhere.");
}
object metadata() {
    auto result = map_of_text();
    result["maxProperties"] = model::metadata_members_max;
    return with_description(result, "At most 16 KiB.");
}
object start() {
    return with_description(nullable(text(8, 8)),
                            "The first 8 characters; null of an imported key and of kind `jwt`.");
}
object last4() {
    return nullable(text(4, 4));
}
object state() {
    return one_of({"scheduled", "active", "expired", "deactivated"});
}
object kind() {
    return with_description(one_of({"key", "jwt"}),
                            "`jwt`: has no secret; its bearer shows a token of `issuer` for "
                            "`subject`.");
}
object issuer() {
    return with_description(text(1, model::issuer_bytes_max), "As the claim `iss` has it.");
}
object subject() {
    return with_description(text(1, model::subject_bytes_max),
                            "As the claim of the token has it that names the subject.");
}
object reason() {
    return one_of({"manual", "rotated", "compromised"});
}

// Scopes, and `events:write:{source}`.
object scope_schema() {
    json::array names;
    for (std::size_t i = 0; i < model::scope_count; ++i)
        names.push_back(json::value(model::name_of(static_cast<model::scope>(i))));
    object const fixed{{"type", "string"}, {"enum", std::move(names)}};
    return {{"anyOf", json::array{fixed, matching("^events:write:[a-z][a-z0-9-]{0,31}$")}}};
}

object rate_limit_schema(bool live) {
    auto result = response_object(
        {{"name", matching("^[a-z][a-z0-9_-]{0,31}$")},
         {"limit", integer(1, model::rate_limit_max)},
         {"window_seconds", integer(1, model::rate_window_seconds_max)},
         {"burst", with_description(integer(1, model::rate_limit_max),
                                    "What the bucket holds; `limit` unless set. It fills "
                                    "within 126 years.")}},
        nullptr);
    if (!live) return result;
    auto& properties = result["properties"].as_object();
    properties["remaining"] = integer(0, model::rate_limit_max);
    properties["full_in_seconds"] = object{{"type", "integer"}, {"minimum", 0}};
    auto& required = result["required"].as_array();
    required.insert(required.end(), {"remaining", "full_in_seconds"});
    return result;
}
object new_rate_limit_schema() {
    return request_object({{"name", matching("^[a-z][a-z0-9_-]{0,31}$")},
                           {"limit", integer(1, model::rate_limit_max)},
                           {"window_seconds", integer(1, model::rate_window_seconds_max)},
                           {"burst?", integer(1, model::rate_limit_max)}},
                          json::parse(limits_example).as_array().front());
}

object key_schema(std::string_view limit_schema) {
    auto const nullable_time = nullable(time());
    auto const other = nullable(id());
    return response_object(
        {{"id", id()},
         {"kind", kind()},
         {"name", key_name()},
         {"project", project()},
         {"environment", environment()},
         {"start", start()},
         {"last4", last4()},
         {"issuer", nullable(issuer())},
         {"subject", nullable(subject())},
         {"scopes", scopes(0)},
         {"state", state()},
         {"not_before", nullable_time},
         {"expires_at", nullable_time},
         {"created_at", time()},
         {"created_by", with_description(other, "A key; null: the command line.")},
         {"deactivated_at", nullable_time},
         {"deactivation_reason", nullable(reason())},
         {"last_used_at", nullable_time},
         {"replaces", other},
         {"replaced_by", other},
         {"rotation_ends_at", nullable_time},
         {"rate_limits", rate_limits(limit_schema)},
         {"ip_allowlist", allowlist()},
         {"metadata", metadata()}},
        limit_schema == "RateLimit" ? json::parse(key_example) : json::value());
}
object created_key_schema() {
    auto result = key_schema("RateLimit");
    result["properties"].as_object()["key"] =
        with_description(nullable(matching("^[0-9A-Za-z]{48}$")),
                         "The key itself, shown in this answer alone; null where the answer is "
                         "replayed, and of kind "
                         "`jwt`.");
    result["required"].as_array().insert(result["required"].as_array().begin(), "key");
    result["examples"].as_array().front().as_object()["key"] = key_text;
    return result;
}

object deactivated_key_schema() {
    auto result = key_schema("RateLimit");
    auto const ids = [](std::size_t most) { return list_of(id(), most); };
    result["properties"].as_object()["created"] = with_description(
        response_object({{"keys", ids(domain::revoked_keys_max)},
                         {"webhooks", ids(domain::webhooks_max)},
                         {"is_complete", boolean()}},
                        json::parse(R"({"keys": [5], "webhooks": [1], "is_complete": true})")),
        "With the reason `compromised`: what else the key created. The keys work still, the "
        "webhooks are disabled now.");
    return result;
}

object new_key_schema() {
    auto const nullable_time = nullable(time());
    return request_object(
        {{"name", not_blank(key_name())},
         {"kind?", with_description(one_of({"key", "jwt"}),
                                    "`key` by default; `jwt` needs `issuer` and `subject`.")},
         {"issuer?", nullable(issuer())},
         {"subject?", nullable(subject())},
         {"project?", with_description(project(),
                                       "The default is `default` where `*` makes the key, "
                                       "else the project of the caller.")},
         {"environment?", with_description(environment(), "`development` by default.")},
         {"scopes?", with_description(scopes(1),
                                      "The default is those of `users:read` and `posts:read` "
                                      "that the caller holds.")},
         {"not_before?", nullable_time},
         {"expires_at?", with_description(nullable_time, "Not together with `expires_in`.")},
         {"expires_in?", with_description(nullable(integer(base::limits::ttl_seconds_min,
                                                           base::limits::ttl_seconds_max)),
                                          "In seconds; not together with `expires_at`.")},
         {"rate_limits?", rate_limits("NewRateLimit")},
         {"ip_allowlist?", allowlist()},
         {"metadata?", nullable(metadata())}},
        json::parse(new_key_example));
}
object key_patch_schema() {
    auto const nullable_time = nullable(time());
    auto const other = nullable(id());
    object const change{{"type", "object"},
                        {"additionalProperties", nullable(object{{"type", "string"}})}};
    return request_object(
        {{"name?", not_blank(key_name())},
         {"environment?", environment()},
         {"scopes?", scopes(1)},
         {"not_before?", nullable_time},
         {"expires_at?", nullable_time},
         {"rate_limits?", rate_limits("NewRateLimit")},
         {"ip_allowlist?", allowlist()},
         {"metadata?", with_description(nullable(change), "Null removes a member, or all.")},
         {"id?", unchanged(id())},
         {"project?", unchanged(project())},
         {"kind?", unchanged(kind())},
         {"issuer?", unchanged(nullable(issuer()))},
         {"subject?", unchanged(nullable(subject()))},
         {"start?", unchanged(start())},
         {"last4?", unchanged(last4())},
         {"state?", unchanged(state())},
         {"created_at?", unchanged(time())},
         {"created_by?", unchanged(other)},
         {"deactivated_at?", unchanged(nullable_time)},
         {"deactivation_reason?", unchanged(nullable(reason()))},
         {"last_used_at?", unchanged(nullable_time)},
         {"replaces?", unchanged(other)},
         {"replaced_by?", unchanged(other)},
         {"rotation_ends_at?", unchanged(nullable_time)}},
        json::parse(R"({"name": "ci, nightly"})"));
}

object verification_schema() {
    return request_object(
        {{"key?", with_description(object{{"type", "string"}}, "This, or `key_id`.")},
         {"key_id?", with_description(id(), "Instead of the key; needs `keys:read` too.")},
         {"scopes?", with_description(scopes(0), "Scopes that the key must cover.")},
         {"ip?", with_description(object{{"type", "string"}}, "The client's address.")},
         {"cost?", with_description(integer(0, 1000), "1 by default; 0 charges nothing.")},
         {"method?", with_description(one_of({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}),
                                      "Of a request to this service; with `path`.")},
         {"path?", with_description(text(1, 2048), "Would a request there pass?")}},
        json::parse(R"({"key": "…", "scopes": ["users:read"], "ip": "203.0.113.7"})"));
}
object verdict_schema() {
    return response_object(
        {{"valid", boolean()},
         {"code",
          one_of({"VALID", "NOT_FOUND", "DEACTIVATED", "EXPIRED", "NOT_YET_ACTIVE",
                  "IP_NOT_ALLOWED", "INSUFFICIENT_SCOPE", "RATE_LIMITED", "ROUTE_NOT_FOUND"})},
         {"check", with_description(nullable(one_of({"key", "state", "address", "rate_limit",
                                                     "route", "scope"})),
                                    "Which check refused; null: none.")},
         {"missing_scope", nullable(object{{"type", "string"}})},
         {"retry_after_seconds",
          with_description(nullable(object{{"type", "integer"}, {"minimum", 1}}),
                           "With `RATE_LIMITED`: after so long it would pass. Else null.")},
         {"key_id", nullable(id())},
         {"project", nullable(project())},
         {"environment", nullable(environment())},
         {"scopes", nullable(scopes(0))},
         {"expires_at", nullable(time())},
         {"metadata", nullable(metadata())},
         {"rate_limits", nullable(rate_limits("LiveRateLimit"))}},
        json::parse(R"({"valid": false, "code": "NOT_FOUND", "check": "key",
            "missing_scope": null, "retry_after_seconds": null, "key_id": null, "project": null,
            "environment": null, "scopes": null, "expires_at": null, "metadata": null,
            "rate_limits": null})"));
}

object introspection_request_schema() {
    object const word{{"type", "string"}};
    return request_object({{"token", with_description(word, "A key, or a JWT.")},
                           {"token_type_hint?", with_description(word, "Ignored.")}},
                          json::parse(R"({"token": "…"})"));
}
object introspection_schema() {
    object const word{{"type", "string"}};
    object const seconds{{"type", "integer"}};
    auto result = response_object({{"active", boolean()}}, json::parse(R"({"active": false})"));
    auto& properties = result["properties"].as_object();
    properties["scope"] = with_description(word, "Separated by spaces.");
    properties["client_id"] = with_description(word, "The id of the key record.");
    properties["token_type"] = one_of({"Bearer"});
    properties["sub"] = word;
    properties["iss"] = with_description(word, "Of a JWT.");
    properties["aud"] = with_description(
        object{{"anyOf", json::array{word, object{{"type", "array"}, {"items", word}}}}},
        "Of a JWT.");
    for (auto const* const name : {"exp", "nbf", "iat"})
        properties[name] = with_description(seconds, "In seconds since 1970.");
    return result;
}

object key_start() {
    return text(8, 8);
}

}  // namespace

object key_schemas() {
    return {{"Scope", scope_schema()},
            {"RateLimit", rate_limit_schema(false)},
            {"LiveRateLimit", rate_limit_schema(true)},
            {"NewRateLimit", new_rate_limit_schema()},
            {"Key", key_schema("RateLimit")},
            {"CurrentKey", key_schema("LiveRateLimit")},
            {"CreatedKey", created_key_schema()},
            {"DeactivatedKey", deactivated_key_schema()},
            {"KeyList", list_schema("Key")},
            {"NewKey", new_key_schema()},
            {"KeyPatch", key_patch_schema()},
            {"Rotation",
             request_object({{"overlap_seconds?",
                              with_description(integer(0, base::limits::overlap_seconds_max),
                                               "A day by default.")}},
                            json::parse(R"({"overlap_seconds": 3600})"))},
            {"Deactivation",
             request_object({{"reason?", with_description(one_of({"manual", "compromised"}),
                                                          "`manual` by default.")}},
                            json::parse(R"({"reason": "compromised"})"))},
            {"Nothing", request_object({}, json::object())},
            {"Verification", verification_schema()},
            {"Verdict", verdict_schema()},
            {"IntrospectionRequest", introspection_request_schema()},
            {"Introspection", introspection_schema()}};
}

std::span<parameter const> key_parameters() {
    static constexpr parameter rows[] = {
        {"state", "query", state, "Keys in this state."},
        {"environment", "query", environment, "Keys of this environment."},
        {"start", "query", key_start, "The first 8 characters of a key."},
        {"unused_since", "query", time, "Keys that were not used at or after this time."},
        {"search_keys", "query", search,
         "Keys whose name has this text as a part, whatever the case of ASCII letters.", "search"},
    };
    return rows;
}

}  // namespace latchkey::api::schema
