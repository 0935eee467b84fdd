// Each function takes one member: it tells absent from null, checks type, then form, then size, and
// adds a fault with the place of the element. A list is walked to its end, so that each invalid
// element has its fault; nothing of a body with faults is stored.
#include "api/keys/key_members.hpp"

#include <algorithm>

#include "base/limits.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

// Null pointer: absent or invalid, which is added to the faults. JSON null is a fault.
json_array const* take_array(members& body, std::string_view name, std::size_t most) {
    auto const* const value = body.value(name);
    if (value == nullptr) return nullptr;
    auto const* const list = value->if_array();
    if (list == nullptr) {
        value->is_null() ? body.fault(name, field_code::null_not_allowed, "must not be null")
                         : body.fault(name, field_code::invalid_type, "must be a list");
        return nullptr;
    }
    if (list->size() <= most) return list;
    body.fault(name, field_code::too_long,
               "must have at most " + std::to_string(most) + " elements");
    return nullptr;
}

std::optional<model::rate_limit> take_limit(members& limit) {
    model::rate_limit result;
    auto const name = limit.word("name", true);
    if (name && !model::is_limit_name(*name))
        limit.fault("name", field_code::invalid_format,
                    "must be 1 to 32 of a-z, 0-9, _ and -, a letter first");
    auto const number = limit.number("limit", true, 1, model::rate_limit_max);
    auto const window = limit.number("window_seconds", true, 1, model::rate_window_seconds_max);
    auto const burst = limit.number("burst", false, 1, model::rate_limit_max);
    limit.refuse_rest();
    if (!name || !number || !window) return std::nullopt;
    result.name = *name;
    result.limit = static_cast<std::uint32_t>(*number);
    result.window_seconds = static_cast<std::uint32_t>(*window);
    // 0 stands for "the same as limit", so that sending back a shown record changes nothing.
    result.burst = burst && *burst != *number ? static_cast<std::uint32_t>(*burst) : 0;
    if (auto const most = model::burst_max(result); result.burst > most)
        limit.fault("burst", field_code::out_of_range,
                    "must be at most " + std::to_string(most) +
                        " with this limit and window: the bucket must fill within 126 years");
    return result;
}

}  // namespace

std::optional<std::string> take_name(members& body, bool required) {
    return body.text(
        "name", {.required = required, .points_min = 1, .points_max = model::key_name_points_max});
}

std::optional<model::environment> take_environment(members& body) {
    auto const word = body.word("environment", false);
    if (!word) return std::nullopt;
    auto const environment = model::find_environment(*word);
    if (!environment)
        body.fault("environment", field_code::not_in_enum,
                   "must be development, staging or production");
    return environment;
}

std::optional<model::scope_set> take_scopes(members& body, bool may_be_empty) {
    auto const* const list = take_array(body, "scopes", 64);
    if (list == nullptr) return std::nullopt;
    if (list->empty() && !may_be_empty) {
        body.fault("scopes", field_code::too_short, "must name at least one");
        return std::nullopt;
    }
    model::scope_set scopes;
    bool valid = true, explains = true;  // once: the list of scopes is long
    for (std::size_t i = 0; i < list->size(); ++i) {
        auto const* const text = (*list)[i].if_string();
        if (text != nullptr && scopes.add(*text)) continue;
        valid = false;
        if (text == nullptr)
            body.fault("scopes", i, field_code::invalid_type, "must be a string");
        else if (std::exchange(explains, false))
            body.fault("scopes", i, field_code::not_in_enum, model::unknown_scope_detail(*text));
        else
            body.fault("scopes", i, field_code::not_in_enum, "is not a scope");
    }
    return valid ? std::optional(scopes) : std::nullopt;
}

std::optional<std::vector<model::cidr>> take_allowlist(members& body) {
    auto const* const list = take_array(body, "ip_allowlist", model::ip_allowlist_max);
    if (list == nullptr) return std::nullopt;
    std::vector<model::cidr> networks;
    for (std::size_t i = 0; i < list->size(); ++i) {
        auto const* const text = (*list)[i].if_string();
        auto const network = text != nullptr ? model::cidr::parse(*text) : std::nullopt;
        if (network)
            networks.push_back(*network);
        else
            body.fault("ip_allowlist", i,
                       text == nullptr ? field_code::invalid_type : field_code::invalid_format,
                       "must be a network such as 10.0.0.0/8, host bits zero, or an address");
    }
    return networks;
}

std::optional<std::vector<model::rate_limit>> take_limits(members& body,
                                                          std::vector<base::fault>& faults) {
    auto const* const list = take_array(body, "rate_limits", model::rate_limits_max);
    if (list == nullptr) return std::nullopt;
    std::vector<model::rate_limit> limits;
    for (std::size_t i = 0; i < list->size(); ++i) {
        auto const* const object = (*list)[i].if_object();
        if (object == nullptr) {
            body.fault("rate_limits", i, field_code::invalid_type, "must be an object");
            continue;
        }
        members limit(*object, faults, "/rate_limits/" + std::to_string(i));
        auto const result = take_limit(limit);
        if (!result) continue;
        if (std::ranges::find(limits, result->name, &model::rate_limit::name) != limits.end())
            limit.fault("name", field_code::invalid_format, "must differ from the others");
        limits.push_back(*result);
    }
    return limits;
}

static_assert(2 * model::metadata_members_max <= base::limits::json_members_max,
              "a patch may replace all members of metadata by others");

metadata_change take_metadata(members& body, std::vector<base::fault>& faults, bool patch) {
    metadata_change result;
    auto const* const value = body.value("metadata");
    if (value == nullptr) return result;
    result.cleared = value->is_null();
    if (result.cleared) return result;
    auto const* const object = value->if_object();
    if (object == nullptr) {
        body.fault("metadata", field_code::invalid_type, "must be an object");
        return result;
    }
    members inner(*object, faults, "/metadata");
    // A patch may remove as much as it adds.
    std::size_t members_kept = 0, bytes_kept = 0, members_removed = 0, bytes_removed = 0;
    for (auto const& member : *object) {
        auto const* const text = member.value.if_string();
        if (text != nullptr)
            result.changes[member.name] = *text;
        else if (patch && member.value.is_null())
            result.changes[member.name] = std::nullopt;
        else
            inner.fault(member.name, field_code::invalid_type, "must be a string");
        bool const is_removed = patch && member.value.is_null();
        ++(is_removed ? members_removed : members_kept);
        (is_removed ? bytes_removed : bytes_kept) += member.name.size() + (text ? text->size() : 0);
    }
    if (std::max(members_kept, members_removed) > model::metadata_members_max ||
        std::max(bytes_kept, bytes_removed) > model::metadata_bytes_max) {
        body.fault("metadata", field_code::too_long, "must have at most 50 members and 16 KiB");
        result.changes.clear();  // the store checks the sum and would report it again
    }
    return result;
}

}  // namespace latchkey::api
