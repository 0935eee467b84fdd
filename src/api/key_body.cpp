#include "api/key_body.hpp"

#include <algorithm>

#include "api/json_reader.hpp"
#include "api/key_members.hpp"
#include "base/bytes.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

void take_project(members& body, model::key& made) {
    auto const word = body.word("project", false);
    if (!word) return;
    if (!model::is_project(*word))
        return body.fault("project", field_code::invalid_format,
                          "must be 1 to 64 of a-z, 0-9 and -");
    made.project = *word;
}

void take_lifetime(members& body, key_defaults const& from, model::key& made) {
    made.not_before = take_time(body, "not_before").value_or(0);
    auto const until = take_time(body, "expires_at");
    auto const* const relative = body.value("expires_in");
    if (relative != nullptr && !relative->is_null()) {
        auto const seconds = body.number("expires_in", false, ttl_seconds_min, ttl_seconds_max);
        if (until.value_or(0) != 0)
            body.fault("expires_in", field_code::invalid_format,
                       "expires_at and expires_in exclude each other");
        if (seconds) made.expires_at = from.now + *seconds * 1000;
    } else if (until) {
        made.expires_at = *until;
    } else if (from.ttl_seconds != 0) {
        made.expires_at = from.now + from.ttl_seconds * 1000;
    }
    auto const* const name = until.value_or(0) != 0 ? "expires_at" : "expires_in";
    if (made.expires_at != 0 && made.expires_at <= from.now)
        body.fault(name, field_code::out_of_range, "must be in the future");
    else if (made.expires_at != 0 && made.expires_at <= made.not_before)
        body.fault(name, field_code::out_of_range, "must be after not_before");
}

model::key take_key(members& body, key_defaults const& from, std::vector<base::fault>& faults) {
    model::key made;
    made.name = take_name(body, true).value_or("");
    made.project = from.project;
    take_project(body, made);
    made.environment = take_environment(body).value_or(made.environment);
    auto const before = faults.size();
    made.scopes = take_scopes(body).value_or(from.scopes);
    if (made.scopes.empty() && faults.size() == before)
        body.fault("scopes", field_code::required, "must name at least one scope");
    take_lifetime(body, from, made);
    if (auto limits = take_limits(body, faults)) made.rate_limits = std::move(*limits);
    made.ip_allowlist = take_allowlist(body).value_or(std::vector<model::cidr>());
    for (auto& [name, value] : take_metadata(body, faults, false).changes)
        made.metadata[name] = std::move(*value);
    return made;
}

// A read-only member that was sent back, for the store to compare.
void take_sent_back(members& body, std::string_view name, bool is_time,
                    std::vector<store::sent_member>& to) {
    auto const* const value = body.value(name);
    if (value == nullptr) return;
    store::sent_member sent{std::string(name), {}};
    if (auto const* const number = value->if_int64()) {
        sent.value = *number;
    } else if (auto const* const text = value->if_string()) {
        auto const time = is_time ? base::parse_timestamp(*text) : std::nullopt;
        sent.value = std::string(*text);
        if (time) sent.value = *time;
    } else if (!value->is_null()) {
        return body.fault(name, field_code::read_only_field, "cannot be changed");
    }
    to.push_back(std::move(sent));
}

constexpr std::string_view read_only_times[] = {"created_at", "deactivated_at", "rotation_ends_at"};
constexpr std::string_view read_only_rest[] = {
    "id",         "start",    "last4",       "state",
    "created_by", "replaces", "replaced_by", "deactivation_reason"};

}  // namespace

or_trouble<store::create_key> read_new_key(http::request const& request, key_defaults const& from,
                                           std::vector<base::fault>& faults) {
    auto const object = read_object(request);
    if (!object) return object.error();
    members body(*object, faults);
    store::create_key made{take_key(body, from, faults)};
    for (auto const name : read_only_times) body.refuse_read_only(name);
    for (auto const name : read_only_rest) body.refuse_read_only(name);
    body.refuse_read_only("last_used_at");
    body.refuse_rest();
    return made;
}

or_trouble<store::change_key> read_key_change(http::request const& request,
                                              std::vector<base::fault>& faults) {
    auto const object = read_object(request);
    if (!object) return object.error();
    members body(*object, faults);
    store::change_key change;
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
    take_sent_back(body, "project", false, change.expected);
    // It moves by itself, so what was sent back may be old and is no attempt to change it.
    body.value("last_used_at");
    body.refuse_rest();
    return change;
}

or_trouble<std::int64_t> read_overlap(http::request const& request,
                                      std::vector<base::fault>& faults) {
    auto const object = read_optional_object(request);
    if (!object) return object.error();
    members body(*object, faults);
    auto const seconds = body.number("overlap_seconds", false, 0, overlap_seconds_max);
    body.refuse_rest();
    return seconds.value_or(overlap_seconds_default);
}

or_trouble<model::deactivation> read_reason(http::request const& request,
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

std::optional<trouble> read_nothing(http::request const& request,
                                    std::vector<base::fault>& faults) {
    auto const object = read_optional_object(request);
    if (!object) return object.error();
    members(*object, faults).refuse_rest();
    return std::nullopt;
}

or_trouble<verify_body> read_verify(http::request const& request,
                                    std::vector<base::fault>& faults) {
    auto const object = read_object(request);
    if (!object) return object.error();
    members body(*object, faults);
    verify_body made;
    made.key = body.word("key", true).value_or("");
    made.scopes = take_scopes(body, true).value_or(model::scope_set());
    if (auto const text = body.word("ip", false)) {
        made.ip = model::address::parse(*text);
        if (!made.ip) body.fault("ip", field_code::invalid_format, "must be an IP address");
    }
    made.cost = static_cast<std::uint32_t>(body.number("cost", false, 0, 1000).value_or(1));
    body.refuse_rest();
    return made;
}

base::result<model::key> read_import(std::string_view line, key_defaults const& from) {
    auto const document = read_json(line);
    if (!document.root) return base::error{document.wrong};
    auto const* const object = document.root->if_object();
    if (object == nullptr) return base::error{"it is not a JSON object"};
    std::vector<base::fault> faults;
    members body(*object, faults);
    auto made = take_key(body, from, faults);
    auto const hex = body.word("sha256", true);
    if (hex &&
        !base::from_hex(*hex, reinterpret_cast<char*>(made.digest.data()), made.digest.size()))
        body.fault("sha256", field_code::invalid_format, "must be 64 hexadecimal digits");
    body.refuse_rest();
    if (faults.empty()) return made;
    return base::error{faults.front().at + " " + faults.front().detail};
}

}  // namespace latchkey::api
