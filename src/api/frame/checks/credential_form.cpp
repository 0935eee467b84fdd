#include "api/frame/checks/credential_form.hpp"

#include <array>

#include "api/frame/checks/negotiate.hpp"
#include "api/frame/checks/query.hpp"
#include "base/ascii.hpp"
#include "wire/http/target.hpp"

namespace latchkey::api {
namespace {

using base::equal_ignoring_case;
using http::field_name;

struct form {
    std::string_view name;  // in lower case
    std::string_view sentence;
};

constexpr std::array<form, 7> schemes{{
    {"basic",
     "Authorization has the scheme Basic (a user name and a password), which is not read here. "
     "Send the key as Authorization: Bearer KEY."},
    {"token",
     "Authorization has the scheme Token, which is not read here. Write Bearer in its place: "
     "Authorization: Bearer KEY."},
    {"apikey",
     "Authorization has the scheme ApiKey, which is not read here. Write Bearer in its place: "
     "Authorization: Bearer KEY."},
    {"api-key",
     "Authorization has the scheme Api-Key, which is not read here. Write Bearer in its place: "
     "Authorization: Bearer KEY."},
    {"key",
     "Authorization has the scheme Key, which is not read here. Write Bearer in its place: "
     "Authorization: Bearer KEY."},
    {"digest",
     "Authorization has the scheme Digest, which is not read here. Send the key as Authorization: "
     "Bearer KEY."},
    {"negotiate",
     "Authorization has the scheme Negotiate, which is not read here. Send the key as "
     "Authorization: Bearer KEY."},
}};

constexpr std::array<form, 6> other_fields{{
    {"api-key", "The key is not read from Api-Key. Send it as X-API-Key: KEY."},
    {"apikey", "The key is not read from ApiKey. Send it as X-API-Key: KEY."},
    {"x-apikey", "The key is not read from X-ApiKey. Send it as X-API-Key: KEY."},
    {"x-api-token", "The key is not read from X-API-Token. Send it as X-API-Key: KEY."},
    {"x-auth-token", "The key is not read from X-Auth-Token. Send it as X-API-Key: KEY."},
    {"x-auth-key", "The key is not read from X-Auth-Key. Send it as X-API-Key: KEY."},
}};

// The sentence about an Authorization that is not the scheme Bearer with something behind it.
std::string_view authorization_form(std::string_view value) {
    auto const begin = value.find_first_not_of(" \t");
    if (begin == value.npos)
        return "Authorization is empty. Send the key as Authorization: Bearer KEY.";
    value.remove_prefix(begin);
    auto const end = value.find_first_of(" \t");
    auto const scheme = value.substr(0, end);
    for (auto const& each : schemes)
        if (equal_ignoring_case(scheme, each.name)) return each.sentence;
    if (end == value.npos)
        return "Authorization has one word and no scheme. Write Bearer and a space before the key: "
               "Authorization: Bearer KEY.";
    return "Authorization has a scheme that is not read here. Send the key as Authorization: "
           "Bearer KEY.";
}

bool has_key_in_query(std::string_view query) {
    http::query_cursor cursor(query);
    while (auto const parameter = cursor.next())
        if (http::percent_decode(parameter->name, true) == credential_parameter) return true;
    return false;
}

}  // namespace

std::string_view unread_credential(http::request const& request, bool allow_query) {
    if (auto const value = request.find(field_name::authorization))
        return authorization_form(*value);
    if (!allow_query && has_key_in_query(request.query))
        return "Keys in the query are not read here. Send the key as Authorization: Bearer KEY.";
    for (auto const& field : request.fields())
        for (auto const& each : other_fields)
            if (field.id == field_name::unknown && equal_ignoring_case(field.name, each.name))
                return each.sentence;
    if (has_form_body(request) || has_multipart_body(request))
        return "A form is not read for a key. Send the key as Authorization: Bearer KEY, and the "
               "body as application/json.";
    return {};
}

}  // namespace latchkey::api
