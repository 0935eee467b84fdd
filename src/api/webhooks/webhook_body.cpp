// As for keys, all members are taken and the faults collected, and read-only ones become
// expectations. The range of a replay is given in one of three ways; which one is decided by the
// names that are there, before any value is read, so that a mixture is a fault of its own.
#include "api/webhooks/webhook_body.hpp"

#include <algorithm>

#include "api/webhooks/webhook_members.hpp"
#include "auth/webhook_signature.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

constexpr std::string_view read_only[] = {"id",         "disabled_at",
                                          "project",    "disabled_reason",
                                          "created_by", "secret_rotation_ends_at",
                                          "created_at", "updated_at",
                                          "public_key"};
// These change by themselves, so an old value is no attempt to change them.
constexpr std::string_view volatile_members[] = {"position", "failing_since"};

bool is_time(std::string_view name) {
    return name.ends_with("_at");
}

// A read-only member that the client sent back: the store compares it with the record.
void take_sent_back(members& body, std::string_view name,
                    std::vector<domain::expected_member>& expected) {
    auto const* const value = body.value(name);
    if (value == nullptr) return;
    domain::expected_member member{std::string(name), {}};
    if (auto const* const number = value->if_int64()) {
        member.value = *number;
    } else if (auto const* const text = value->if_string()) {
        member.value = *text;
        auto const time = is_time(name) ? base::parse_timestamp(*text) : std::nullopt;
        auto const key = name == "public_key" ? auth::parse_public_key(*text) : std::nullopt;
        if (time) member.value = *time;
        if (key) member.value = std::string(key->begin(), key->end());
    } else if (!value->is_null()) {
        return body.fault(name, field_code::read_only_field, "cannot be changed");
    }
    expected.push_back(std::move(member));
}

void take_sequences(members& body, domain::replay_webhook& replay) {
    auto const* const value = body.value("sequences");
    if (value == nullptr) return;
    auto const* const list = value->if_array();
    if (list == nullptr) return body.fault("sequences", field_code::invalid_type, "must be a list");
    if (list->empty())
        return body.fault("sequences", field_code::too_short, "must name at least one");
    if (list->size() > model::webhook_replays_max)
        return body.fault("sequences", field_code::too_long, "must have at most 100 elements");
    for (std::size_t i = 0; i < list->size(); ++i) {
        auto const* const number = (*list)[i].if_int64();
        if (number == nullptr)
            body.fault("sequences", i, field_code::invalid_type, "must be an integer");
        else if (*number < 1 || *number > base::limits::id_max)
            body.fault("sequences", i, field_code::out_of_range, "must be a sequence");
        else
            replay.sequences.push_back(*number);
    }
}

// How the range is given: the members of one of three kinds, and of no other.
enum class range_kind : std::uint8_t { none, sequences, numbers, times, mixed };
range_kind kind_of(json_object const& object) {
    bool const has[] = {
        object.if_contains("sequences") != nullptr,
        object.if_contains("from_sequence") != nullptr ||
            object.if_contains("to_sequence") != nullptr,
        object.if_contains("from") != nullptr || object.if_contains("to") != nullptr};
    auto const count = std::ranges::count(has, true);
    if (count != 1) return count == 0 ? range_kind::none : range_kind::mixed;
    return has[0] ? range_kind::sequences : has[1] ? range_kind::numbers : range_kind::times;
}

}  // namespace

api_result<domain::create_webhook> read_new_webhook(http::request const& request,
                                                    std::span<model::cidr const> allowed,
                                                    std::vector<base::fault>& faults) {
    auto const object = read_object(request);
    if (!object) return object.error();
    members body(*object, faults);
    domain::create_webhook creation;
    auto& webhook = creation.record;
    webhook.url = take_url(body, true, allowed).value_or("");
    webhook.types = take_types(body).value_or(webhook.types);
    webhook.description = take_description(body).value_or("");
    webhook.ordered = take_boolean(body, "ordered").value_or(false);
    webhook.max_per_second = take_rate(body).value_or(0);
    for (auto& each : take_headers(body, faults, false).changes)
        webhook.headers.emplace_back(std::move(each.name), std::move(*each.value));
    auto const signatures = take_signatures(body).value_or(domain::webhook_signatures{});
    webhook.signs_v1 = signatures.v1;
    webhook.signs_v1a = signatures.v1a;
    for (auto const name : read_only) body.refuse_read_only(name);
    for (auto const name : volatile_members) body.refuse_read_only(name);
    body.refuse_read_only("enabled");
    body.refuse_rest();
    return creation;
}

api_result<domain::change_webhook> read_webhook_change(http::request const& request,
                                                       std::span<model::cidr const> allowed,
                                                       std::vector<base::fault>& faults) {
    auto const object = read_object(request);
    if (!object) return object.error();
    members body(*object, faults);
    domain::change_webhook change;
    change.url = take_url(body, false, allowed);
    change.types = take_types(body);
    change.description = take_description(body);
    change.ordered = take_boolean(body, "ordered");
    change.max_per_second = take_rate(body);
    auto headers = take_headers(body, faults, true);
    change.clear_headers = headers.cleared;
    change.headers = std::move(headers.changes);
    change.signatures = take_signatures(body);
    change.enabled = take_boolean(body, "enabled");
    for (auto const name : read_only) take_sent_back(body, name, change.expected);
    for (auto const name : volatile_members) body.value(name);
    body.refuse_rest();
    return change;
}

api_result<domain::replay_webhook> read_replay(http::request const& request,
                                               std::vector<base::fault>& faults) {
    auto const object = read_object(request);
    if (!object) return object.error();
    members body(*object, faults);
    domain::replay_webhook replay;
    auto const kind = kind_of(*object);
    if (kind == range_kind::none || kind == range_kind::mixed)
        body.fault(
            "sequences",
            kind == range_kind::none ? field_code::required : field_code::invalid_format,
            "or `from_sequence` and `to_sequence`, or `from` and `to`: one of these must be there");
    take_sequences(body, replay);
    bool const by_number = kind == range_kind::numbers, by_time = kind == range_kind::times;
    replay.first = body.number("from_sequence", by_number, 1, base::limits::id_max).value_or(0);
    replay.last = body.number("to_sequence", false, 1, base::limits::id_max).value_or(0);
    if (replay.last != 0 && replay.last < replay.first)
        body.fault("to_sequence", field_code::out_of_range, "must not be below `from_sequence`");
    replay.start = take_time(body, "from").value_or(0);
    replay.bound = take_time(body, "to").value_or(0);
    if (by_time && replay.start == 0 && faults.empty())
        body.fault("from", field_code::required, "is required");
    if (replay.bound != 0 && replay.bound <= replay.start)
        body.fault("to", field_code::out_of_range, "must be after `from`");
    body.refuse_rest();
    return replay;
}

}  // namespace latchkey::api
