#include "helpers/kit/confine_helper.hpp"

#include <utility>

#include "base/system/file_access.hpp"

namespace latchkey::kit {

base::result<void> confine(std::vector<std::string> readable_files,
                           std::initializer_list<std::span<base::allowed_call const>> calls) {
    if (base::sanitized) return {};
    if (auto const given_up = base::give_up_privileges(); !given_up) return given_up;
    auto const restriction = base::restrict_files({.read = std::move(readable_files)});
    if (!restriction) return restriction.error();
    return base::filter_calls(calls);
}

}  // namespace latchkey::kit
