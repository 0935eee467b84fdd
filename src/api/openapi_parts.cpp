// Parameters and header fields by name, and the groups of operations.
#include <algorithm>
#include <boost/json/array.hpp>

#include "api/openapi.hpp"
#include "api/schema.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"
#include "model/user.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
namespace limits = base::limits;
using namespace schema;

object word() {
    return {{"type", "string"}};
}
object page_number() {
    return with_default(integer(1, limits::page_reach_max), 1);
}
object page_limit() {
    return with_default(object{{"type", "integer"}, {"minimum", 1}}, limits::page_limit_default);
}
object cursor() {
    return matching("^[A-Za-z0-9_-]{1,256}$");
}
object sort() {
    return with_default(one_of({"id", "-id"}), "id");
}
object email() {
    return text(1, model::email_bytes_max);
}
object include() {
    return one_of({"posts"});
}
object post_status() {
    return one_of({"draft", "published", "archived"});
}
object project() {
    return matching("^[a-z0-9-]{1,64}$");
}
object key_state() {
    return one_of({"scheduled", "active", "expired", "deactivated"});
}
object environment() {
    return one_of({"development", "staging", "production"});
}
object key_start() {
    return text(8, 8);
}
object scope() {
    return ref("Scope");
}
object limit_status() {
    return with_default(one_of({"429", "403"}), "429");
}
object granularity() {
    return with_default(one_of({"minute", "hour", "day"}), "hour");
}
object request_id() {
    return matching("^[A-Za-z0-9_-]{8,64}$");
}
object traceparent() {
    return word();
}
object event_source() {
    return matching("^[a-z][a-z0-9-]{0,31}$");
}
object code() {
    return word();
}
object seconds() {
    return {{"type", "integer"}, {"minimum", 1}};
}
object nosniff() {
    return one_of({"nosniff"});
}

struct parameter {
    std::string_view name, place;
    object (*shape)();
    std::string_view text;
};

constexpr parameter parameters[] = {
    {"id", "path", id, "An integer from 1."},
    {"id_or_source", "path", word, "Of a GET an event's id, of a POST its source."},
    {"event_source", "path", event_source, "A source of events."},
    {"code", "path", code, "A code of a problem, such as `not_found`."},
    {"page", "query", page_number,
     "From 1. Page times limit reaches to 100000; `cursor` goes further. Not together with it."},
    {"limit", "query", page_limit, "Above 100 counts as 100."},
    {"cursor", "query", cursor, "The `next_cursor` of the page before."},
    {"sort", "query", sort, "`-id` turns the order."},
    {"email", "query", email, "The one user with this address, whatever the case of its letters."},
    {"include", "query", include, "Adds the first posts."},
    {"author", "query", id, "Posts of this user."},
    {"user_id", "query", id, "The same as `author`."},
    {"status", "query", post_status, "Posts with this status."},
    {"project", "query", project, "Of this project."},
    {"state", "query", key_state, "Keys in this state."},
    {"environment", "query", environment, "Keys of this environment."},
    {"start", "query", key_start, "The first 8 characters of a key."},
    {"unused_since", "query", time, "Keys that were not used at or after that time."},
    {"source", "query", event_source, "Events of this source."},
    {"scope", "query", scope, "That the key must cover."},
    {"limit_status", "query", limit_status,
     "With 403, a request beyond its limits is answered 403 with `X-Auth-Status: 429`."},
    {"from", "query", time, "The default is 24 hours before `to`."},
    {"to", "query", time, "The default is now."},
    {"granularity", "query", granularity, "Of the points."},
    {"X-Request-Id", "header", request_id,
     "Comes back; one is made where it is absent or another "
     "form."},
    {"traceparent", "header", traceparent, "W3C trace context; logged."},
};

struct header {
    std::string_view name;
    object (*shape)();
    std::string_view text;
    bool required = true;
};

// A name with `?` is the same field where it may be absent.
constexpr header headers[] = {
    {"X-Request-Id", request_id, "The client's, or one that was made."},
    {"X-Content-Type-Options", nosniff, ""},
    {"Cache-Control", word, "`private, no-cache`, `no-store`, or `public` with an age."},
    {"Vary", word, "`Authorization, X-API-Key`"},
    {"ETag", word, "Strong for a resource, weak for a list."},
    {"Location", word, "Of what was created."},
    {"Link", word,
     "`first`, `prev`, `next` and `last` of a list (RFC 8288); `canonical` where the "
     "path had no prefix."},
    {"RateLimit-Policy", word, "`\"minute\";q=600;w=60`; absent for a key without limits."},
    {"RateLimit", word, "`\"minute\";r=599;t=1`: what is left, seconds until full."},
    {"Retry-After", seconds, "In seconds."},
    {"WWW-Authenticate", word, "RFC 6750."},
    {"Accept", word, "The media type that a body needs."},
    {"Accept-Patch", word, "The media types that a PATCH may have."},
    {"Strict-Transport-Security", word, ""},
    {"Content-Security-Policy", word, ""},
    {"X-Auth-Key-Id", id, "The key."},
    {"X-Auth-Project", project, "Its project."},
    {"X-Auth-Scopes", word, "Its scopes, with spaces between."},
    {"X-Auth-Status", word, "429 on a 403 that stands for it."},
};

constexpr std::pair<std::string_view, std::string_view> groups[] = {
    {"Users", "Who writes posts."},
    {"Posts", "What users write."},
    {"Keys", "API keys: shown once, kept as hashes."},
    {"Events", "What external services send."},
    {"Audit", "Who changed which key or secret."},
    {"Gateway", "For proxies that ask whether a request may pass."},
    {"Service", "Needs no key."},
};

}  // namespace

json::object parameter_part(std::string_view name) {
    auto const* const found = std::ranges::find(parameters, name, &parameter::name);
    base::check(found != std::end(parameters), "an operation names an unknown parameter");
    object made{{"name", name}, {"in", found->place}};
    if (found->place == "path") made["required"] = true;
    made["description"] = found->text;
    made["schema"] = found->shape();
    return made;
}

json::object header_part(std::string_view name) {
    bool const optional = name.ends_with('?');
    if (optional) name.remove_suffix(1);
    auto const* const found = std::ranges::find(headers, name, &header::name);
    base::check(found != std::end(headers), "an answer names an unknown header field");
    object made;
    if (!found->text.empty()) made["description"] = found->text;
    made["required"] = !optional;
    made["schema"] = found->shape();
    return made;
}

json::array group_parts() {
    json::array all;
    for (auto const& [name, text] : groups)
        all.push_back(object{{"name", name}, {"description", text}});
    return all;
}

}  // namespace latchkey::api
