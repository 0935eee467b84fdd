#include "api/frame/refusal_detail.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "base/nearest.hpp"

namespace latchkey::api {
namespace {

using base::problem;

constexpr std::size_t described_max = 5;

constexpr std::size_t shown_name_bytes_max = 200;

std::string place_of(base::fault const& fault) {
    bool const is_pointer = fault.kind == base::fault::location_kind::pointer;
    if (is_pointer && fault.location.empty()) return "The body";
    return "`" + fault.location.substr(is_pointer ? 1 : 0) + "`";
}

std::string text_of(base::wall_ms time) {
    std::string text(base::timestamp_bytes, '\0');
    base::format_timestamp(time, text.data());
    return text;
}

}  // namespace

std::string_view shown_name(std::string_view name) {
    if (name.size() <= shown_name_bytes_max) return name;
    auto end = shown_name_bytes_max;
    while (end != 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
    return name.substr(0, end);
}

std::string sentence_of(base::fault const& fault) {
    auto text = place_of(fault).append(" ").append(fault.detail);
    if (!text.ends_with('?')) text += '.';
    return text;
}

std::string summary_of(std::vector<base::fault> const& faults) {
    std::string text;
    auto const count = std::min(faults.size(), described_max);
    for (std::size_t i = 0; i < count; ++i)
        text.append(i == 0 ? "" : " ").append(sentence_of(faults[i]));
    if (faults.size() > count)
        text.append(" There are ").append(std::to_string(faults.size() - count)).append(" more.");
    return text;
}

std::string suggestion(std::string_view unknown, std::span<std::string_view const> names) {
    auto const name = base::nearest(unknown, names);
    return name ? ": did you mean `" + std::string(*name) + "`?" : std::string();
}

// What has expired was not deactivated before, so `expires_at` is before the end of a rotation.
std::string state_detail(problem problem, model::key const& key) {
    switch (problem) {
        case problem::key_expired:
            return "The key expired at " + text_of(key.expires_at) +
                   ". Ask for another one; rotate keys before they expire.";
        case problem::key_not_yet_active:
            return "The key is valid from " + text_of(key.not_before) + " on. Wait until then.";
        default:
            return {};
    }
}

std::string limit_detail(problem problem, settings const& settings, std::size_t body_bytes_max) {
    switch (problem) {
        case problem::body_too_large:
            return "The body has more than " + std::to_string(body_bytes_max) +
                   " bytes, the limit of this request. Send less at once, in several requests.";
        case problem::uri_too_long:
            return "The request line has more than " +
                   std::to_string(settings.request_line_bytes_max) +
                   " bytes, the limit here. Leave out query parameters, or shorten them.";
        case problem::headers_too_large:
            return "The header section has more than " + std::to_string(settings.header_bytes_max) +
                   " bytes or more than " + std::to_string(base::limits::header_fields_max) +
                   " fields, the limits here. Leave fields out: cookies of other services, for "
                   "example, are not read.";
        default:
            return {};
    }
}

}  // namespace latchkey::api
