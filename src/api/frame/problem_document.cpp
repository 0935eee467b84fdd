// The document is appended member by member to the response's body. Its detail is the error's own
// sentence, else what its faults say, else the advice of its code, from a table that is searched
// linearly: a problem is no hot path.
#include "api/frame/problem_document.hpp"

#include <algorithm>
#include <stdexcept>

#include "api/frame/json/json_writer.hpp"
#include "api/frame/refusal_detail.hpp"
#include "base/limits.hpp"

namespace latchkey::api {
namespace {

using base::problem;

std::string_view name_of(base::fault::location_kind place) {
    switch (place) {
        case base::fault::location_kind::pointer:
            return "pointer";
        case base::fault::location_kind::parameter:
            return "parameter";
        case base::fault::location_kind::header:
            break;
    }
    return "header";
}

void append_faults(std::string& output, std::vector<base::fault> const& faults) {
    append_name(output, "errors");
    auto const count = std::min(faults.size(), base::limits::faults_max);
    append_array(output, std::span(faults).first(count), [&](base::fault const& fault) {
        output.append("{\"").append(name_of(fault.kind)).append("\":");
        append_string(output, fault.location);
        output.append(",\"code\":");
        append_plain_string(output, base::name_of(fault.code));
        output.append(",\"detail\":");
        append_string(output, sentence_of(fault));
        output.push_back('}');
    });
}

// The sentence for people: the error's own, else what its faults say, else the advice of its code.
std::string detail_of(api_error const& error) {
    if (!error.detail.empty()) return error.detail;
    auto const summary = summary_of(error.faults);
    return summary.empty() ? std::string(advice_for(error.problem)) : summary;
}

// A conflict of one member points to it.
std::vector<base::fault> faults_of(api_error const& error) {
    if (error.problem != problem::email_taken || !error.faults.empty()) return error.faults;
    return {{.location = "/email",
             .code = base::field_code::not_unique,
             .detail = "belongs to another user"}};
}

void append_names(std::string& output, std::span<std::string_view const> names) {
    // The second is the spelling of draft-ietf-httpapi-ratelimit-headers-11 §5.1.
    for (auto const* const member : {"violated_policies", "violated-policies"}) {
        append_name(output, member);
        append_array(output, names, [&](std::string_view name) { append_string(output, name); });
    }
}

struct advice {
    problem code;
    std::string_view text;
};

constexpr advice all_advice[] = {
    {problem::malformed_request,
     "The bytes are not a valid HTTP request. Check the software that sends them; a proxy may have "
     "changed them."},
    {problem::invalid_json,
     "The body must be one JSON document in UTF-8, without repeated members. Check it with a JSON "
     "parser."},
    {problem::invalid_parameter,
     "A query parameter is unknown, repeated or has an invalid value. The member errors names it. "
     "Correct it, or leave it out."},
    {problem::conflicting_parameters,
     "Two query parameters cannot be used together, or contradict each other. Leave one out."},
    {problem::invalid_cursor,
     "A cursor is only valid for the list, filters and order of the response that it came from. "
     "Begin again without one."},
    {problem::duplicate_credentials, "The request has more than one API key. Send the key once."},
    {problem::idempotency_key_invalid,
     "An Idempotency-Key has 1 to 255 visible ASCII characters. Use a random UUID, for example."},
    {problem::key_missing,
     "The request has no API key. Send it, preferably as Authorization: Bearer KEY."},
    {problem::key_invalid,
     "The service does not know this key. Check that it is complete, and that it belongs to this "
     "service."},
    {problem::session_invalid,
     "The session of this browser has ended: it was too old, was ended by logging out everywhere, "
     "or is of another service. Log in again with the key."},
    {problem::signature_invalid,
     "The event's signature does not match its body, time and secret. Sign exactly the bytes of "
     "the body that are sent."},
    {problem::token_expired,
     "The token's time is over. Ask its issuer for another one, a little before this one ends."},
    {problem::token_invalid,
     "The token cannot be accepted; the detail says why. Check that its issuer, audience and key "
     "are those that the service is configured for."},
    {problem::token_not_yet_valid,
     "The token is valid from a later time on. Check the clock of its issuer."},
    {problem::key_deactivated,
     "The key is deactivated. Ask an administrator of keys for another one."},
    {problem::key_expired,
     "The key has expired. Ask for another one; rotate keys before they expire."},
    {problem::key_not_yet_active,
     "The key is not valid yet. Wait until the time in its not_before."},
    {problem::insufficient_scope,
     "The key may not do this. Ask an administrator of keys for the scope that WWW-Authenticate "
     "names."},
    {problem::ip_not_allowed,
     "The key may only be used from certain networks, and this address is in none of them. Send "
     "the request from one of them, or ask an administrator of keys to add yours to its "
     "ip_allowlist."},
    {problem::cross_site_request,
     "A session of a browser counts for the pages of this service alone. Send a key from another "
     "site or from a program: Authorization: Bearer KEY."},
    {problem::https_required,
     "API keys are accepted over HTTPS only. Use https://, and rotate a key that was sent in clear "
     "text."},
    {problem::not_found,
     "There is no resource with this id, or it was deleted. Check the id; the list of the resource "
     "has all ids."},
    {problem::route_not_found,
     "There is no such path. Check it against /openapi.json, which has all paths."},
    {problem::method_not_allowed,
     "The path does not support this method. Use one of the methods in Allow."},
    {problem::not_acceptable,
     "The service answers in JSON. Accept application/json, or leave the header out."},
    {problem::request_timeout,
     "The request took too long to arrive. Send it again without pauses."},
    {problem::email_taken,
     "Another user has this address; case does not matter. Use another one, or find that user with "
     "GET /api/v1/users?email=ADDRESS and change it instead."},
    {problem::invalid_state_transition,
     "A draft can be published or archived, a published post drafted or archived, an archived one "
     "drafted. Read the post and choose one of these."},
    {problem::idempotency_in_progress,
     "The first request with this Idempotency-Key is still running. Wait until it has ended, then "
     "send this one again."},
    {problem::rotation_in_progress,
     "The key already has a successor. Use that one; replaced_by of the key's record names it."},
    {problem::key_not_active,
     "Only an active key can be rotated. Reactivate it first, or create another one."},
    {problem::key_not_reactivatable,
     "A key that was deactivated as compromised or rotated cannot be reactivated. Create another "
     "one."},
    {problem::key_not_rotatable,
     "A record of kind jwt has no secret: its bearers get new tokens from their issuer. Use POST "
     "/api/v1/keys/ID/deactivate to stop them."},
    {problem::last_admin_key, "No other active key can manage keys. Create one first."},
    {problem::subject_taken,
     "Each pair of issuer and subject has one record, deactivated ones too. Use that one: change "
     "or reactivate it."},
    {problem::webhook_disabled,
     "The webhook is disabled, so nothing is sent to it. Enable it first with POST "
     "/api/v1/webhooks/ID/enable."},
    {problem::changes_expired,
     "Changes are kept for a time, and those that were asked for are gone. Read the records "
     "themselves anew, then go on from the oldest change that is kept."},
    {problem::precondition_failed,
     "The resource is not the version that If-Match or If-None-Match requires. Read it again and "
     "decide anew."},
    {problem::body_too_large,
     "The body is larger than the service accepts: 1 MiB unless configured otherwise, 256 KiB for "
     "an event, 128 KiB with the key in the body. Send less at once, in several requests, and the "
     "key in a header."},
    {problem::uri_too_long,
     "The request line is longer than the service accepts: 8 KiB unless configured otherwise. "
     "Leave out query parameters, or shorten them."},
    {problem::unsupported_media_type,
     "Send the body as application/json in UTF-8 (for PATCH also application/merge-patch+json)."},
    {problem::expectation_failed,
     "The only supported expectation is 100-continue. Leave the header Expect out."},
    {problem::validation_failed,
     "Members of the body are missing or invalid. Correct all that the member errors names, and "
     "send the request again."},
    {problem::idempotency_key_reused,
     "This Idempotency-Key was used for another request. Use a fresh one for each operation."},
    {problem::precondition_required,
     "Read the resource and send its ETag in If-Match, so that no concurrent change is lost."},
    {problem::rate_limited, "The key has used up a limit. Wait as long as Retry-After says."},
    {problem::too_many_auth_failures,
     "This address has sent too many unknown keys. Wait as long as Retry-After says."},
    {problem::headers_too_large,
     "The header section is larger, or has more fields, than the service accepts (16 KiB and 100 "
     "unless configured otherwise). Leave fields out: cookies, for example, are not read."},
    {problem::internal_error,
     "The service failed. Try again later; if the problem persists, give the request id to the "
     "operator of the service."},
    {problem::method_not_implemented,
     "The name of the method is longer than that of any. Use GET, HEAD, POST, PUT, PATCH, DELETE "
     "or "
     "OPTIONS."},
    {problem::overloaded, "The service is overloaded. Wait as long as Retry-After says."},
    {problem::store_busy,
     "Another process, such as a suspended command, holds the write lock of the store. Nothing was "
     "written; reads still work. Wait as long as Retry-After says."},
    {problem::behind,
     "This node of the cluster cannot write, or has not caught up with the others. Nothing was "
     "written. Wait as long as Retry-After says; another node may answer at once."},
    {problem::draining, "This instance is stopping. Send the request again; another one answers."},
    {problem::http_version_not_supported,
     "The service supports HTTP/1.1 and 1.0. Use one of them."},
    {problem::storage_full,
     "The store is full; reads and deletions still work. Delete what is not needed, or ask the "
     "operator of the service for more space, then send the request again."},
};

}  // namespace

void throw_exception_from_error(api_error const& error, boost::source_location const&) {
    throw std::logic_error("an error was used as a value: " + error.detail);
}

void render_problem(api_error const& error, settings const& settings, std::string_view request_id,
                    std::span<std::string_view const> violated, http::response& response) {
    auto const& entry = base::describe(error.problem);
    response.clear();
    response.status = entry.status;
    response.code = error.problem;
    response.content_type = http::content::problem;
    response.add("Cache-Control", "no-store");
    auto& output = response.body;
    output.append("{\"type\":");
    output.push_back('"');
    output.append(settings.base_url)
        .append("/problems/")
        .append(entry.name)
        .append("\",\"title\":");
    append_plain_string(output, entry.title);
    output.append(",\"status\":");
    append_number(output, entry.status);
    output.append(",\"detail\":");
    append_string(output, detail_of(error));
    output.append(",\"instance\":\"urn:request:").append(request_id).append("\",\"code\":");
    append_plain_string(output, entry.name);
    output.append(",\"request_id\":");
    append_plain_string(output, request_id);
    if (auto const faults = faults_of(error); !faults.empty()) append_faults(output, faults);
    if (!violated.empty()) append_names(output, violated);
    if (error.problem == base::problem::changes_expired) {
        append_name(output, "oldest");
        append_id_or_null(output, error.oldest_change);
    }
    output.push_back('}');
}

std::string_view advice_for(problem code) {
    for (auto const& each : all_advice)
        if (each.code == code) return each.text;
    return "";
}

}  // namespace latchkey::api
