#include "api/frame/refusal_detail.hpp"

#include <algorithm>

#include "base/limits.hpp"

namespace latchkey::api {
namespace {

using base::problem;

constexpr std::size_t described_max = 5;

std::string place_of(base::fault const& fault) {
    if (fault.kind != base::fault::location_kind::pointer) return fault.location;
    return fault.location.empty() ? "the body" : fault.location.substr(1);
}

}  // namespace

std::string summary_of(std::vector<base::fault> const& faults) {
    std::string text;
    auto const count = std::min(faults.size(), described_max);
    for (std::size_t i = 0; i < count; ++i) {
        if (i != 0) text += "; ";
        text.append(place_of(faults[i])).append(" ").append(faults[i].detail);
    }
    if (faults.size() > count)
        text.append("; and ").append(std::to_string(faults.size() - count)).append(" more");
    if (!text.empty() && text.back() != '.') text += '.';
    return text;
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
