// Parameters and header fields by their names, the groups of operations, and the schemas of what
// needs no key.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/capabilities.hpp"
#include "api/exchange/openapi.hpp"
#include "base/check.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using namespace schema;

object code() {
    return word();
}
object replayed() {
    return one_of({"true"});
}
object seconds() {
    return {{"type", "integer"}, {"minimum", 1}};
}
object nosniff() {
    return one_of({"nosniff"});
}

struct header {
    std::string_view name;
    object (*shape)();
    std::string_view text;
    bool required = true;
};

// A name with `?` is the same field where it may be absent.
constexpr header headers[] = {
    {"X-Request-Id", schema::request_id, "The client's, or a generated one."},
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

schema::parameter const* find_parameter(std::string_view name) {
    for (auto const& words : all_words) {
        if (words.parameters == nullptr) continue;
        auto const list = words.parameters();
        auto const part = std::ranges::find(list, name, &parameter::name);
        if (part != list.end()) return &*part;
    }
    return nullptr;
}

}  // namespace

json::object parameter_part(std::string_view name) {
    auto const* const part = find_parameter(name);
    // Names come from the table of operations, here and below.
    base::check(part != nullptr, "an operation names an unknown parameter");
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
    for (auto const& [name, text] : all_groups)
        all.push_back(object{{"name", name}, {"description", text}});
    return all;
}

json::object schema::public_schemas() {
    return {{"Health",
             response_object({{"status", one_of({"ok"})}}, json::parse(R"({"status": "ok"})"))},
            {"OpenApi", object{{"type", "object"}}}};
}

std::span<schema::parameter const> schema::public_parameters() {
    static constexpr parameter rows[] = {
        {"code", "path", code, "A code of a problem, such as `not_found`."},
    };
    return rows;
}

}  // namespace latchkey::api
