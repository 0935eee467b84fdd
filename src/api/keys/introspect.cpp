// POST /introspect (RFC 7662, api.md §19): another service asks about a key or a JWT that it
// received. Members without a value are absent, as the RFC has it.
#include "api/frame/checks/credential.hpp"
#include "api/frame/checks/negotiate.hpp"
#include "api/frame/checks/validate.hpp"
#include "api/frame/json/json_reader.hpp"
#include "api/frame/json/json_writer.hpp"
#include "api/frame/request_services.hpp"
#include "api/frame/resource.hpp"
#include "api/keys/key_json.hpp"
#include "api/keys/key_routes.hpp"
#include "api/keys/verification.hpp"
#include "auth/bearer_cache.hpp"
#include "base/visible.hpp"
#include "wire/http/target.hpp"
#include "wire/jwt/base64url.hpp"

namespace latchkey::api {
namespace {

using base::field_code;
using base::problem;

constexpr std::string_view token_parameter = "token";

api_error invalid_token_parameter(field_code code, std::string_view detail) {
    return {.problem = problem::validation_failed,
            .faults = {{.location = "/token", .code = code, .detail = std::string(detail)}}};
}

// The one `token` of a form (RFC 7662 §2.1); other parameters are ignored.
api_result<std::string> take_from_form(std::string_view form) {
    std::optional<std::string> token;
    http::query_cursor cursor(form);
    while (auto const parameter = cursor.next()) {
        if (http::percent_decode(parameter->name, true) != token_parameter) continue;
        auto value = http::percent_decode(parameter->value, true);
        if (token) {
            wipe(*token);
            if (value) wipe(*value);
            return invalid_token_parameter(field_code::invalid_format, "must be there once");
        }
        if (!value || !base::is_utf8(*value))
            return invalid_token_parameter(field_code::invalid_format,
                                           "is not percent-encoded UTF-8 without NUL");
        token = std::move(value);
    }
    if (!token) return invalid_token_parameter(field_code::required, "is required");
    return std::move(*token);
}

api_result<std::string> take_from_json(http::request const& request) {
    auto object = read_object(request);
    if (!object) return object.error();
    std::vector<base::fault> faults;
    members body(*object, faults);
    std::string token(body.word(token_parameter, true).value_or(""));
    if (auto const* const value = object->if_contains(token_parameter); value != nullptr)
        if (auto const* const text = value->if_string()) wipe(*text);
    body.word("token_type_hint", false);
    body.refuse_rest();
    if (faults.empty()) return token;
    wipe(token);
    return api_error{.problem = problem::validation_failed, .faults = std::move(faults)};
}

auth::verdict authenticate(std::string_view token, request_context const& context,
                           request_services& services) {
    if (services.tokens != nullptr && services.tokens->may_be_token(token))
        return services.tokens->authenticate(token, nullptr, services.snapshot, context.now, true);
    return services.keys.authenticate(token, nullptr, services.snapshot, context.now);
}

void append_seconds(std::string& output, std::string_view name, base::wall_ms time) {
    if (time == 0) return;
    append_name(output, name);
    append_number(output, time / 1000);
}

void append_audience(std::string& output, json_value const& audience) {
    if (auto const* const text = audience.if_string()) {
        append_name(output, "aud");
        append_string(output, *text);
    } else if (auto const* const list = audience.if_array()) {
        append_name(output, "aud");
        append_array(output, *list, [&](json_value const& each) {
            auto const* const text = each.if_string();
            append_string(output, text == nullptr ? "" : *text);
        });
    }
}

// Appends the further claims of a token that was accepted; none where there are too many.
void append_claims(std::string& output, std::string_view token) {
    auto const begin = token.find('.') + 1;
    auto const payload = jwt::decode_base64url(token.substr(begin, token.find('.', begin) - begin));
    auto const document = read_json(payload.value_or(""));
    auto const* const claims = document.root ? document.root->if_object() : nullptr;
    if (claims == nullptr) return;
    for (auto const* const name : {"nbf", "iat"})
        if (auto const* const value = claims->if_contains(name); value != nullptr)
            if (auto const* const number = value->if_int64(); number != nullptr) {
                append_name(output, name);
                append_number(output, *number);
            }
    if (auto const* const audience = claims->if_contains("aud"); audience != nullptr)
        append_audience(output, *audience);
}

void append_active(std::string& output, auth::principal const& caller, std::string_view token) {
    auto const& key = caller.record();
    auto const client = std::to_string(key.id);
    bool const is_key = caller.token() == nullptr;
    output.append("{\"active\":true,\"scope\":");
    append_string(output, scope_words(caller.scopes()));
    append_name(output, "client_id");
    append_plain_string(output, client);
    append_name(output, "token_type");
    append_plain_string(output, "Bearer");
    append_name(output, "sub");
    append_string(output, is_key ? client : key.subject);
    append_seconds(output, "exp", caller.ends_at());
    if (is_key) {
        append_seconds(output, "nbf", key.not_before);
        append_seconds(output, "iat", key.created_at);
    } else {
        append_name(output, "iss");
        append_string(output, key.issuer);
        append_claims(output, token);
    }
    output.push_back('}');
}

}  // namespace

std::optional<api_error> introspect_token(request_context const& context,
                                          request_services& services, http::response& response) {
    wiped_at_end const body(context.request.body);
    if (auto error = context.query.refuse_rest()) return error;
    auto token = has_json_body(context.request) ? take_from_json(context.request)
                                                : take_from_form(context.request.body);
    if (!token) return token.error();
    wiped_at_end const text(*token);
    auto const verdict = authenticate(*token, context, services);
    bool const is_active = verdict.problem == problem::none && verdict.caller &&
                           verifies_project(context, verdict.caller->record().project);
    if (verdict.problem == problem::internal_error) return make_error(problem::internal_error);
    if (is_active)
        append_active(response.body, *verdict.caller, *token);
    else
        response.body.append("{\"active\":false}");
    show_written(response);
    return std::nullopt;
}

}  // namespace latchkey::api
