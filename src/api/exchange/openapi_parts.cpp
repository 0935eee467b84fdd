// Parameters and header fields by their names, and the groups of operations.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/changes/changes.hpp"
#include "api/exchange/openapi.hpp"
#include "api/frame/schema.hpp"
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
object project_name() {
    return matching("^[a-z0-9-]{1,64}$");
}
object key_state() {
    return one_of({"scheduled", "active", "expired", "deactivated"});
}
object environment_name() {
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
object key_ids() {
    return matching("^[1-9][0-9]{0,15}(,[1-9][0-9]{0,15}){0,99}$");
}
object top_count() {
    return with_default(integer(1, static_cast<std::int64_t>(limits::usage_keys_max)), 10);
}
object granularity() {
    return with_default(one_of({"minute", "hour", "day"}), "hour");
}
object after() {
    return matching("^(latest|0|[1-9][0-9]{0,15})$");
}
object changes_limit() {
    return with_default(object{{"type", "integer"}, {"minimum", 1}}, changes_page_default);
}
object change_types() {
    return with_default(matching("^(\\*|[a-z_]+\\.(\\*|[a-z]+))(,(\\*|[a-z_]+\\.(\\*|[a-z]+)))*$"),
                        "*");
}
object delivery_state() {
    return one_of({"pending", "delivered", "failed"});
}
object message_id() {
    return text(1, 64);
}
object unix_time() {
    return matching("^[0-9]+$");
}
object signatures() {
    return text(1, 1024);
}
object request_id() {
    return matching("^[A-Za-z0-9_-]{8,64}$");
}
// Bare or quoted.
object idempotency_key() {
    return matching("^[!-~]+$");
}
// A decimal number, up to 2^64 - 1.
object position() {
    return matching("^[0-9]{1,20}$");
}
object replayed() {
    return one_of({"true"});
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
    std::string_view field = {};  // its name in a request, where that of the component is another
};

constexpr parameter parameters[] = {
    {"id", "path", id, "An integer from 1."},
    {"event_source", "path", event_source, "A source of events."},
    {"code", "path", code, "A code of a problem, such as `not_found`."},
    {"page", "query", page_number,
     "From 1. Page times limit reaches to 100000; `cursor` goes further. Not together with it."},
    {"limit", "query", page_limit, "Above 100 counts as 100."},
    {"cursor", "query", cursor, "The `next_cursor` of the page before."},
    {"sort", "query", sort, "`-id`: descending."},
    {"email", "query", email, "The one user with this address, whatever the case of its letters."},
    {"include", "query", include, "Adds the first posts."},
    {"author", "query", id, "Posts of this user."},
    {"user_id", "query", id, "The same as `author`."},
    {"status", "query", post_status, "Posts with this status."},
    {"project", "query", project_name, "Keys, or entries, of this project."},
    {"state", "query", key_state, "Keys in this state."},
    {"environment", "query", environment_name, "Keys of this environment."},
    {"start", "query", key_start, "The first 8 characters of a key."},
    {"unused_since", "query", time, "Keys that were not used at or after this time."},
    {"source", "query", event_source, "Events of this source."},
    {"scope", "query", scope, "A scope that the key must cover."},
    {"limit_status", "query", limit_status,
     "With 403, a request beyond its limits is answered 403 with `X-Auth-Status: 429`."},
    {"from", "query", time, "The default is 24 hours before `to`."},
    {"to", "query", time, "The default is now."},
    {"before", "query", id, "Deliveries of changes below this sequence."},
    {"delivery_state", "query", delivery_state, "Deliveries in this state.", "state"},
    {"after", "query", after, "Changes beyond this sequence; `latest`: beyond the last one."},
    {"after_source", "query", event_source, "Sources beyond this one.", "after"},
    {"limit_sources", "query", page_limit, "Above 100 counts as 100.", "limit"},
    {"limit_changes", "query", changes_limit, "Above 1000 counts as 1000.", "limit"},
    {"type", "query", change_types,
     "Types separated by commas: a type, those of a kind (`user.*`), or `*`."},
    {"Last-Event-ID", "header", position, "Of a stream: takes the place of `after`."},
    {"granularity", "query", granularity, "The length of a point."},
    {"key_id", "query", key_ids, "Ids of 1 to 100 keys, separated by commas."},
    {"top", "query", top_count, "How many of the busiest keys."},
    {"X-Request-Id", "header", request_id,
     "Returned in the response; generated if it is absent or malformed."},
    {"Idempotency-Key", "header", idempotency_key,
     "1 to 255 visible characters of your own, quoted or not, such as a random UUID: the request "
     "is carried out once, and for 24 hours a repeat gets the same answer."},
    {"Consistency-Token", "header", position,
     "The largest that an answer to a write had, of any node: the request waits, for a second at "
     "most, until this node has that write."},
    {"traceparent", "header", traceparent, "W3C trace context; logged."},
    {"If-Match", "header", word,
     "Entity tags, or `*`: 412 where the resource has none of these. `store.require_if_match` "
     "makes it mandatory on PUT, PATCH and DELETE (428)."},
    {"If-None-Match", "header", word,
     "Entity tags, or `*`: where the resource has one of these, a read is answered 304 and a write "
     "412."},
    {"webhook-id", "header", message_id, "The same in every attempt."},
    {"webhook-timestamp", "header", unix_time, "Of the attempt, in seconds since 1970."},
    {"webhook-signature", "header", signatures,
     "`v1,` and HMAC-SHA-256, `v1a,` and Ed25519, in base64; several are separated by spaces."},
};

struct header {
    std::string_view name;
    object (*shape)();
    std::string_view text;
    bool required = true;
};

// A name with `?` is the same field where it may be absent.
constexpr header headers[] = {
    {"X-Request-Id", request_id, "The client's, or a generated one."},
    {"X-Content-Type-Options", nosniff, ""},
    {"Cache-Control", word, "`private, no-cache`, `no-store`, or `public` with an age."},
    {"Vary", word, "`Authorization, X-API-Key`; of a page `Accept-Encoding`."},
    {"Content-Encoding", word, "`gzip`, where the client accepts it."},
    {"ETag", word, "Strong for a resource, weak for a list."},
    {"Set-Cookie", word, "The session, in `__Host-latchkey`; empty: the browser forgets it."},
    {"Location", word, "The URL of the new record."},
    {"Link", word,
     "`first`, `prev`, `next` and `last` of a list (RFC 8288); `canonical` where the "
     "path had no prefix; `deprecation` where a page says why the route is to go."},
    {"RateLimit-Policy", word, "`\"minute\";q=600;w=60`; absent for a key without limits."},
    {"RateLimit", word, "`\"minute\";r=599;t=60`: what is left, for how many seconds."},
    {"Retry-After", seconds, "In seconds."},
    {"Idempotency-Replayed", replayed,
     "The answer of an earlier request with this Idempotency-Key."},
    {"Consistency-Token", position, "By which position of the log the write is there."},
    {"WWW-Authenticate", word, "RFC 6750."},
    {"Accept", word, "The media type that a body needs."},
    {"Accept-Patch", word, "The media types that a PATCH may have."},
    {"Accept-Encoding", word, "`identity`, where the body had another coding."},
    {"Strict-Transport-Security", word, ""},
    {"Content-Security-Policy", word, ""},
    {"Deprecation", word, "When the route became deprecated (RFC 9745)."},
    {"Sunset", word, "When the route will be removed (RFC 8594)."},
    {"X-Auth-Key-Id", id, "The key."},
    {"X-Auth-Project", project_name, "Its project."},
    {"X-Auth-Scopes", word, "Its scopes, with spaces between."},
    {"X-Auth-Status", word, "429 on a 403 that stands for it."},
};

constexpr std::pair<std::string_view, std::string_view> groups[] = {
    {"Users", "The authors of posts."},
    {"Posts", "Texts of users."},
    {"Keys", "API keys: shown once, kept as hashes."},
    {"Sessions", "Of browsers, which hold a cookie instead of a key."},
    {"Events", "Deliveries of external services."},
    {"Changes", "What has happened, as a feed and as a stream."},
    {"Webhooks", "URLs to which changes are sent."},
    {"Audit", "The changes of keys and secrets."},
    {"Gateway", "For proxies that ask whether a request may pass."},
    {"Service", "Needs no key."},
};

}  // namespace

json::object parameter_part(std::string_view name) {
    auto const* const part = std::ranges::find(parameters, name, &parameter::name);
    // Names come from the table of operations, here and below.
    base::check(part != std::end(parameters), "an operation names an unknown parameter");
    object result{{"name", part->field.empty() ? name : part->field}, {"in", part->place}};
    bool const is_sent = std::ranges::find(sent_fields, name) != std::end(sent_fields);
    if (part->place == "path" || is_sent) result["required"] = true;
    result["description"] = part->text;
    result["schema"] = part->shape();
    return result;
}

json::object header_part(std::string_view name) {
    bool const optional = name.ends_with('?');
    if (optional) name.remove_suffix(1);
    auto const* const part = std::ranges::find(headers, name, &header::name);
    base::check(part != std::end(headers), "a response names an unknown header field");
    object result;
    if (!part->text.empty()) result["description"] = part->text;
    result["required"] = !optional;
    result["schema"] = part->shape();
    return result;
}

json::array group_parts() {
    json::array all;
    for (auto const& [name, text] : groups)
        all.push_back(object{{"name", name}, {"description", text}});
    return all;
}

}  // namespace latchkey::api
