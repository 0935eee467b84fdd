// A reader takes all members of the body one after the other, then refuses the rest; it returns
// what it could read even where there were faults, since these are kept under an Idempotency-Key.
// Read-only members that were sent back become expectations, which the store compares with the
// record.
#include "api/keys/key_body.hpp"

#include <algorithm>

#include "api/frame/checks/credential.hpp"
#include "api/frame/json/json_reader.hpp"
#include "api/keys/key_members.hpp"
#include "auth/key_form.hpp"
#include "base/bytes.hpp"
#include "base/limits.hpp"

namespace latchkey::api {
namespace {

using base::field_code;
namespace limits = base::limits;

void take_project(members& body, model::key& key) {
    auto const word = body.word("project", false);
    if (!word) return;
    if (!model::is_project(*word))
        return body.fault("project", field_code::invalid_format,
                          "must be 1 to 64 of a-z, 0-9 and -");
    key.project = *word;
}

// `kind`, and of kind `jwt` whom the record is of.
void take_bearer(members& body, model::key& key) {
    auto const kind = body.word("kind", false).value_or("key");
    if (kind != "key" && kind != "jwt")
        return body.fault("kind", field_code::not_in_enum, "must be key or jwt");
    if (kind == "jwt") key.kind = model::key_kind::jwt;
    auto const take = [&](std::string_view name, std::size_t bytes_max) -> std::string {
        auto const* const value = body.value(name);
        if (kind == "key" && value != nullptr && !value->is_null())
            body.fault(name, field_code::invalid_format, "is for records of kind jwt");
        if (kind == "key") return {};
        auto const text = body.word(name, true);
        if (text && model::is_claim_text(*text, bytes_max)) return std::string(*text);
        if (text)
            body.fault(name, field_code::invalid_format,
                       "must have 1 to " + std::to_string(bytes_max) +
                           " bytes, without control characters and those that set the direction of "
                           "others");
        return {};
    };
    key.issuer = take("issuer", model::issuer_bytes_max);
    key.subject = take("subject", model::subject_bytes_max);
    if (key.kind == model::key_kind::jwt)
        key.digest = auth::digest_of(model::bearer_identity(key.issuer, key.subject));
}

void take_lifetime(members& body, key_defaults const& defaults, model::key& key) {
    key.not_before = take_time(body, "not_before").value_or(0);
    auto const expires_at = take_time(body, "expires_at");
    auto const* const relative = body.value("expires_in");
    if (relative != nullptr && !relative->is_null()) {
        auto const seconds =
            body.number("expires_in", false, limits::ttl_seconds_min, limits::ttl_seconds_max);
        if (expires_at.value_or(0) != 0)
            body.fault("expires_in", field_code::invalid_format, "cannot come with `expires_at`");
        if (seconds) key.expires_at = defaults.now + *seconds * 1000;
    } else if (expires_at) {
        key.expires_at = *expires_at;
    } else if (defaults.ttl_seconds != 0) {
        key.expires_at = defaults.now + defaults.ttl_seconds * 1000;
    }
    auto const* const name = expires_at.value_or(0) != 0 ? "expires_at" : "expires_in";
    if (key.expires_at != 0 && key.expires_at <= defaults.now)
        body.fault(name, field_code::out_of_range, "must be in the future");
    else if (key.expires_at != 0 && key.expires_at <= key.not_before)
        body.fault(name, field_code::out_of_range, "must be after `not_before`");
}

model::key take_key(members& body, key_defaults const& defaults, std::vector<base::fault>& faults) {
    model::key key;
    key.name = take_name(body, true).value_or("");
    take_bearer(body, key);
    key.project = defaults.project;
    take_project(body, key);
    key.environment = take_environment(body).value_or(key.environment);
    auto const fault_count = faults.size();
    key.scopes = take_scopes(body).value_or(defaults.scopes);
    if (key.scopes.empty() && faults.size() == fault_count)
        body.fault("scopes", field_code::required, "must name at least one scope");
    take_lifetime(body, defaults, key);
    if (auto limits = take_limits(body, faults)) key.rate_limits = std::move(*limits);
    key.ip_allowlist = take_allowlist(body).value_or(std::vector<model::cidr>());
    for (auto& [name, value] : take_metadata(body, faults, false).changes)
        key.metadata[name] = std::move(*value);
    return key;
}

// A read-only member that the client sent back: the store compares it with the record.
void take_sent_back(members& body, std::string_view name, bool is_time,
                    std::vector<domain::expected_member>& expected) {
    auto const* const value = body.value(name);
    if (value == nullptr) return;
    domain::expected_member member{std::string(name), {}};
    if (auto const* const number = value->if_int64()) {
        member.value = *number;
    } else if (auto const* const text = value->if_string()) {
        auto const time = is_time ? base::parse_timestamp(*text) : std::nullopt;
        member.value = std::string(*text);
        if (time) member.value = *time;
    } else if (!value->is_null()) {
        return body.fault(name, field_code::read_only_field, "cannot be changed");
    }
    expected.push_back(std::move(member));
}

constexpr std::string_view read_only_times[] = {"created_at", "deactivated_at", "rotation_ends_at"};
constexpr std::string_view read_only_rest[] = {
    "id",         "start",    "last4",       "state",
    "created_by", "replaces", "replaced_by", "deactivation_reason"};

void take_target(members& body, verify_body& verification) {
    auto const method = body.word("method", body.value("path") != nullptr);
    auto const path = body.word("path", body.value("method") != nullptr);
    if (method) verification.method = http::method_of(*method);
    if (method && (*verification.method == http::method::other ||
                   *verification.method == http::method::options))
        body.fault("method", field_code::not_in_enum,
                   "must be GET, HEAD, POST, PUT, PATCH or DELETE");
    if (path && (!path->starts_with('/') || path->size() > 2048))
        body.fault("path", field_code::invalid_format,
                   "must begin with / and have 2048 bytes at most");
    verification.path = path.value_or("");
}

}  // namespace

api_result<domain::create_key> read_new_key(http::request const& request,
                                            key_defaults const& defaults,
                                            std::vector<base::fault>& faults) {
    auto const object = read_object(request);
    if (!object) return object.error();
    members body(*object, faults);
    domain::create_key creation{take_key(body, defaults, faults)};
    for (auto const name : read_only_times) body.refuse_read_only(name);
    for (auto const name : read_only_rest) body.refuse_read_only(name);
    body.refuse_read_only("last_used_at");
    body.refuse_rest();
    return creation;
}

api_result<domain::change_key> read_key_change(http::request const& request,
                                               std::vector<base::fault>& faults) {
    auto const object = read_object(request);
    if (!object) return object.error();
    members body(*object, faults);
    domain::change_key change;
    change.name = take_name(body, false);
    change.environment = take_environment(body);
    change.scopes = take_scopes(body);
    change.not_before = take_time(body, "not_before");
    change.expires_at = take_time(body, "expires_at");
    change.rate_limits = take_limits(body, faults);
    change.ip_allowlist = take_allowlist(body);
    auto metadata = take_metadata(body, faults, true);
    change.clear_metadata = metadata.cleared;
    change.metadata = std::move(metadata.changes);
    for (auto const name : read_only_times) take_sent_back(body, name, true, change.expected);
    for (auto const name : read_only_rest) take_sent_back(body, name, false, change.expected);
    for (auto const* const name : {"project", "kind", "issuer", "subject"})
        take_sent_back(body, name, false, change.expected);
    // Changes by itself, so an old value is no attempt to change it.
    body.value("last_used_at");
    body.refuse_rest();
    return change;
}

api_result<model::deactivation> read_reason(http::request const& request,
                                            std::vector<base::fault>& faults) {
    auto const object = read_optional_object(request);
    if (!object) return object.error();
    members body(*object, faults);
    auto const reason = body.word("reason", false).value_or("manual");
    if (reason != "manual" && reason != "compromised")
        body.fault("reason", field_code::not_in_enum, "must be manual or compromised");
    body.refuse_rest();
    return reason == "compromised" ? model::deactivation::compromised : model::deactivation::manual;
}

api_result<verify_body> read_verify(http::request const& request,
                                    std::vector<base::fault>& faults) {
    auto object = read_object(request);
    if (!object) return object.error();
    members body(*object, faults);
    verify_body verification;
    verification.key_id = body.id("key_id", false).value_or(0);
    verification.key = body.word("key", object->if_contains("key_id") == nullptr).value_or("");
    if (!verification.key.empty() && verification.key_id != 0)
        body.fault("key_id", field_code::invalid_format, "must not come with `key`");
    if (auto const* const key = object->if_contains("key"); key != nullptr)
        if (auto const* const text = key->if_string()) wipe(*text);
    verification.scopes = take_scopes(body, true).value_or(model::scope_set());
    if (auto const text = body.word("ip", false)) {
        verification.ip = model::address::parse(*text);
        if (!verification.ip) body.fault("ip", field_code::invalid_format, "must be an IP address");
    }
    take_target(body, verification);
    verification.cost = static_cast<std::uint32_t>(body.number("cost", false, 0, 1000).value_or(1));
    body.refuse_rest();
    return verification;
}

base::result<model::key> read_import(std::string_view line, key_defaults const& defaults) {
    auto const document = read_json(line);
    if (!document.root) return base::error{document.error};
    auto const* const object = document.root->if_object();
    if (object == nullptr) return base::error{"it is not a JSON object"};
    std::vector<base::fault> faults;
    members body(*object, faults);
    auto key = take_key(body, defaults, faults);
    bool const is_bearer = key.kind == model::key_kind::jwt;
    auto const hex = is_bearer ? std::nullopt : body.word("sha256", true);
    if (hex && !base::from_hex(*hex, reinterpret_cast<char*>(key.digest.data()), key.digest.size()))
        body.fault("sha256", field_code::invalid_format, "must be 64 hexadecimal digits");
    body.refuse_rest();
    if (faults.empty()) return key;
    return base::error{faults.front().location + " " + faults.front().detail};
}

}  // namespace latchkey::api
