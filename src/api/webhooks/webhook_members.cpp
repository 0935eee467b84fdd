// Each function takes one member and adds a fault where it is invalid. Header fields are compared
// without case with those before them and with a list of names that the service or the connection
// sets; a patch may send a masked value back, which means that the value stays.
#include "api/webhooks/webhook_members.hpp"

#include <algorithm>

#include "api/webhooks/webhook_json.hpp"
#include "base/ascii.hpp"
#include "domain/changes/change_types.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

// Null pointer: absent or invalid, which is added to the faults. JSON null is a fault.
json_array const* take_list(members& body, std::string_view name, std::size_t most) {
    auto const* const value = body.value(name);
    if (value == nullptr) return nullptr;
    auto const* const list = value->if_array();
    if (list == nullptr)
        value->is_null() ? body.fault(name, field_code::null_not_allowed, "must not be null")
                         : body.fault(name, field_code::invalid_type, "must be a list");
    else if (list->empty())
        body.fault(name, field_code::too_short, "must name at least one");
    else if (list->size() > most)
        body.fault(name, field_code::too_long,
                   "must have at most " + std::to_string(most) + " elements");
    else
        return list;
    return nullptr;
}

// Those that the service sets itself, or that belong to a connection.
bool is_reserved(std::string_view name) {
    static constexpr std::string_view names[] = {
        "host",    "content-length", "content-type", "connection", "transfer-encoding", "te",
        "trailer", "upgrade",        "expect",       "keep-alive", "user-agent"};
    auto const has_prefix = [&](std::string_view prefix) {
        return model::is_same_header(name.substr(0, prefix.size()), prefix);
    };
    return has_prefix("proxy-") || has_prefix("webhook-") ||
           std::ranges::any_of(
               names, [&](std::string_view each) { return model::is_same_header(name, each); });
}

// Visible ASCII, with spaces within at most: `Bearer abc`.
bool is_header_value(std::string_view text) {
    if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
    return std::ranges::all_of(text, [](char byte) { return byte >= ' ' && byte <= '~'; });
}

bool check_name(members& inner, std::string_view name,
                std::vector<domain::header_change> const& earlier) {
    if (!base::is_token(name))
        inner.fault(name, field_code::invalid_format, "is not the name of a header field");
    else if (is_reserved(name))
        inner.fault(name, field_code::invalid_format, "is set by the service, or not for clients");
    else if (std::ranges::any_of(earlier, [&](domain::header_change const& each) {
                 return model::is_same_header(each.name, name);
             }))
        inner.fault(name, field_code::invalid_format, "is there twice, but for the case");
    else
        return true;
    return false;
}

// Adds the member if it is valid.
void take_header(members& inner, json_member const& member, bool patch,
                 std::vector<domain::header_change>& changes) {
    if (!check_name(inner, member.name, changes)) return;
    auto const* const text = member.value.if_string();
    if (text == nullptr && !(patch && member.value.is_null()))
        return inner.fault(member.name, field_code::invalid_type, "must be a string");
    if (text == nullptr) return changes.push_back({member.name, std::nullopt, false});
    bool const is_mask = *text == header_mask;
    if (is_mask && !patch)
        return inner.fault(member.name, field_code::invalid_format,
                           "is the mask that stands for a value");
    if (!is_header_value(*text))
        return inner.fault(member.name, field_code::invalid_format,
                           "must be visible ASCII characters, with spaces within at most");
    changes.push_back({member.name, is_mask ? std::nullopt : std::optional(*text), is_mask});
}

}  // namespace

std::optional<std::string> take_url(members& body, bool required,
                                    std::span<model::cidr const> allowed) {
    auto const text = body.word("url", required);
    if (!text) return std::nullopt;
    if (text->size() > model::webhook_url_bytes_max) {
        body.fault("url", field_code::too_long, "must have at most 2048 bytes");
        return std::nullopt;
    }
    auto const url = model::check_webhook_url(*text, allowed);
    if (!url) body.fault("url", field_code::invalid_format, url.error().message);
    return url ? std::optional(std::string(*text)) : std::nullopt;
}

std::optional<std::vector<std::string>> take_types(members& body) {
    auto const* const list = take_list(body, "types", model::webhook_types_max);
    if (list == nullptr) return std::nullopt;
    std::vector<std::string> types;
    for (std::size_t i = 0; i < list->size(); ++i) {
        auto const* const text = (*list)[i].if_string();
        if (text == nullptr)
            body.fault("types", i, field_code::invalid_type, "must be a string");
        else if (!domain::change_types{}.add(*text))
            body.fault("types", i, field_code::not_in_enum,
                       "must be a type of change, such as user.created, user.* or *");
        else
            types.push_back(*text);
    }
    return types.size() == list->size() ? std::optional(std::move(types)) : std::nullopt;
}

std::optional<std::string> take_description(members& body) {
    auto const* const value = body.value("description");
    if (value != nullptr && value->is_null()) return std::string();
    return body.text("description",
                     {.points_max = model::webhook_description_points_max, .blank = true});
}

std::optional<bool> take_boolean(members& body, std::string_view name) {
    auto const* const value = body.value(name);
    if (value == nullptr) return std::nullopt;
    if (auto const* const truth = value->if_bool()) return *truth;
    value->is_null() ? body.fault(name, field_code::null_not_allowed, "must not be null")
                     : body.fault(name, field_code::invalid_type, "must be true or false");
    return std::nullopt;
}

std::optional<std::uint32_t> take_rate(members& body) {
    auto const* const value = body.value("max_per_second");
    if (value != nullptr && value->is_null()) return 0;
    auto const number = body.number("max_per_second", false, 1, model::webhook_rate_max);
    return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

std::optional<domain::webhook_signatures> take_signatures(members& body) {
    auto const* const list = take_list(body, "signatures", 2);
    if (list == nullptr) return std::nullopt;
    domain::webhook_signatures result{.v1 = false, .v1a = false};
    for (std::size_t i = 0; i < list->size(); ++i) {
        auto const* const text = (*list)[i].if_string();
        bool* const kind = text == nullptr  ? nullptr
                           : *text == "v1"  ? &result.v1
                           : *text == "v1a" ? &result.v1a
                                            : nullptr;
        if (kind == nullptr)
            body.fault("signatures", i,
                       text == nullptr ? field_code::invalid_type : field_code::not_in_enum,
                       "must be v1 or v1a");
        else if (*kind)
            body.fault("signatures", i, field_code::invalid_format, "is there twice");
        else
            *kind = true;
    }
    return result.v1 || result.v1a ? std::optional(result) : std::nullopt;
}

header_changes take_headers(members& body, std::vector<base::fault>& faults, bool patch) {
    header_changes result;
    auto const* const value = body.value("headers");
    if (value == nullptr) return result;
    result.cleared = value->is_null() && patch;
    if (result.cleared) return result;
    auto const* const object = value->if_object();
    if (object == nullptr) {
        body.fault("headers", field_code::invalid_type, "must be an object");
        return result;
    }
    members inner(*object, faults, "/headers");
    for (auto const& member : *object) take_header(inner, member, patch, result.changes);
    std::size_t bytes = 0, count = 0;
    for (auto const& each : result.changes) {
        bytes += each.value ? each.name.size() + each.value->size() : 0;
        count += each.value ? 1 : 0;
    }
    if (count > model::webhook_headers_max || bytes > model::webhook_header_bytes_max) {
        body.fault("headers", field_code::too_long, "must have at most 16 members and 4 KiB");
        result.changes.clear();  // the store checks the sum and would report it again
    }
    return result;
}

}  // namespace latchkey::api
