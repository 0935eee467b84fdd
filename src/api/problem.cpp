#include "api/problem.hpp"

#include <algorithm>
#include <stdexcept>

#include "api/json_writer.hpp"
#include "base/limits.hpp"

namespace latchkey::api {
namespace {

using base::problem;

std::string_view name_of(base::fault::place where) {
    switch (where) {
        case base::fault::place::pointer:
            return "pointer";
        case base::fault::place::parameter:
            return "parameter";
        case base::fault::place::header:
            break;
    }
    return "header";
}

void append_faults(std::string& to, std::vector<base::fault> const& faults) {
    to.append(",\"errors\":[");
    auto const count = std::min(faults.size(), base::limits::faults_max);
    for (std::size_t i = 0; i < count; ++i) {
        auto const& fault = faults[i];
        to.append(i == 0 ? "{\"" : ",{\"").append(name_of(fault.where)).append("\":");
        append_string(to, fault.at);
        to.append(",\"code\":");
        append_plain_string(to, base::name_of(fault.code));
        to.append(",\"detail\":");
        append_string(to, fault.detail);
        to.push_back('}');
    }
    to.push_back(']');
}

void append_names(std::string& to, std::span<std::string_view const> names) {
    to.append(",\"violated_policies\":[");
    for (auto const name : names) {
        if (to.back() != '[') to.push_back(',');
        append_string(to, name);
    }
    to.push_back(']');
}

struct advice {
    problem code;
    std::string_view text;
};

constexpr advice all_advice[] = {
    {problem::malformed_request,
     "The bytes that came are not one HTTP request. Check what sends them; a proxy in between may "
     "have changed them."},
    {problem::invalid_json,
     "The body must be one JSON document in UTF-8, without repeated members. Check it with a JSON "
     "parser."},
    {problem::invalid_parameter,
     "A query parameter is unknown, repeated or has a value that it cannot have. The member errors "
     "names it."},
    {problem::conflicting_parameters,
     "Two query parameters cannot be used together, or say different things. Leave one out."},
    {problem::invalid_cursor,
     "A cursor is only valid for the list, filter and order that gave it. Begin again without "
     "one."},
    {problem::duplicate_credentials, "Send the API key once, by one way."},
    {problem::idempotency_key_invalid,
     "An Idempotency-Key has 1 to 255 visible ASCII characters. A random UUID is a good one."},
    {problem::key_missing, "Send your API key, best as Authorization: Bearer KEY."},
    {problem::key_invalid,
     "The service does not know this key. Check that it is complete, and that it belongs to this "
     "service."},
    {problem::signature_invalid,
     "The event's signature does not fit its body, its time or its secret. Sign the body byte for "
     "byte as it is sent."},
    {problem::key_deactivated, "The key was turned off. Ask whoever manages keys for another one."},
    {problem::key_expired,
     "The key's time is over. Rotate keys before they expire, or ask for another one."},
    {problem::key_not_yet_active,
     "The key is valid from a later time on; the record's not_before says when."},
    {problem::insufficient_scope,
     "The key may not do this. WWW-Authenticate names the scope that is needed."},
    {problem::ip_not_allowed,
     "The key may only be used from certain networks, and this address is in none of them."},
    {problem::https_required,
     "API keys travel over HTTPS only. Use https://; a key that was sent in clear should be "
     "rotated."},
    {problem::not_found, "There is no resource with this id, or it was deleted."},
    {problem::route_not_found,
     "There is no such path. Mind that a slash at the end makes another path."},
    {problem::method_not_allowed,
     "The path does not answer this method; Allow names those that it does."},
    {problem::not_acceptable,
     "The service answers in JSON. Accept application/json, or leave the header out."},
    {problem::request_timeout, "The request took too long to arrive. Send it again, in one go."},
    {problem::email_taken,
     "Another user has this address; upper and lower case count as the same."},
    {problem::invalid_state_transition,
     "A draft can be published or archived, a published post drafted or archived, an archived one "
     "drafted."},
    {problem::idempotency_in_progress,
     "The first request with this Idempotency-Key has not ended. Wait, then send it again."},
    {problem::rotation_in_progress, "The key has a successor already; use that one."},
    {problem::key_not_active, "Only an active key can be rotated."},
    {problem::key_not_reactivatable,
     "A key that was compromised or rotated stays off. Create another one."},
    {problem::last_admin_key, "No other active key may manage keys. Create one first."},
    {problem::precondition_failed,
     "The resource is not what If-Match or If-None-Match says. Read it again and decide anew."},
    {problem::body_too_large, "The body is larger than the service takes."},
    {problem::uri_too_long, "The request line is longer than the service takes."},
    {problem::unsupported_media_type,
     "Send the body as application/json in UTF-8 (for PATCH also application/merge-patch+json)."},
    {problem::expectation_failed, "The only expectation that is known is 100-continue."},
    {problem::validation_failed,
     "Members of the body are missing or wrong. The member errors names all of them."},
    {problem::idempotency_key_reused,
     "This Idempotency-Key was used for another request. Use a fresh one for each operation."},
    {problem::precondition_required,
     "Changes need If-Match with the ETag that was read, so that no change is lost."},
    {problem::rate_limited, "The key has used up a limit. Wait as long as Retry-After says."},
    {problem::too_many_auth_failures,
     "This address has sent too many unknown keys. Wait as long as Retry-After says."},
    {problem::headers_too_large,
     "The header section is larger, or has more fields, than the service takes."},
    {problem::internal_error, "This is our fault. The request id helps to find out why."},
    {problem::method_not_implemented, "The service does not know this method."},
    {problem::overloaded,
     "The service has more to do than it can. Wait as long as Retry-After says."},
    {problem::draining, "This instance is stopping. Send the request again; another one answers."},
    {problem::http_version_not_supported, "Speak HTTP/1.1 (or 1.0)."},
    {problem::storage_full, "The store has no room for more. Reads and deletions go on."},
};

}  // namespace

void throw_exception_from_error(trouble const& of, boost::source_location const&) {
    throw std::logic_error("a handler's trouble was taken for a value: " + of.detail);
}

void render_problem(trouble const& what, settings const& rules, std::string_view request_id,
                    std::span<std::string_view const> violated, http::response& answer) {
    auto const& entry = base::describe(what.problem);
    answer.clear();
    answer.status = entry.status;
    answer.code = what.problem;
    answer.content_type = http::content::problem;
    answer.add("Cache-Control", "no-store");
    auto& to = answer.body;
    to.append("{\"type\":");
    to.push_back('"');
    to.append(rules.base_url).append("/problems/").append(entry.name).append("\",\"title\":");
    append_plain_string(to, entry.title);
    to.append(",\"status\":");
    append_number(to, entry.status);
    to.append(",\"detail\":");
    append_string(to,
                  what.detail.empty() ? advice_for(what.problem) : std::string_view(what.detail));
    to.append(",\"instance\":\"urn:request:").append(request_id).append("\",\"code\":");
    append_plain_string(to, entry.name);
    to.append(",\"request_id\":");
    append_plain_string(to, request_id);
    if (!what.faults.empty()) append_faults(to, what.faults);
    if (!violated.empty()) append_names(to, violated);
    to.push_back('}');
}

std::string_view advice_for(problem code) {
    for (auto const& each : all_advice)
        if (each.code == code) return each.text;
    return "";
}

}  // namespace latchkey::api
