#include "api/frame/checks/action_body.hpp"

#include "api/frame/checks/validate.hpp"
#include "base/limits.hpp"

namespace latchkey::api {
namespace {

constexpr std::int64_t overlap_seconds_default = 86'400;

}  // namespace

api_result<std::int64_t> read_overlap(http::request const& request,
                                      std::vector<base::fault>& faults) {
    auto const object = read_optional_object(request);
    if (!object) return object.error();
    members body(*object, faults);
    auto const seconds =
        body.number("overlap_seconds", false, 0, base::limits::overlap_seconds_max);
    body.refuse_rest();
    return seconds.value_or(overlap_seconds_default);
}

std::optional<api_error> read_nothing(http::request const& request,
                                      std::vector<base::fault>& faults) {
    auto const object = read_optional_object(request);
    if (!object) return object.error();
    members(*object, faults).refuse_rest();
    return std::nullopt;
}

}  // namespace latchkey::api
