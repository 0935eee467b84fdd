#include "base/result.hpp"

#include <system_error>

namespace latchkey::base {

error errno_error(std::string_view what, int number) {
    auto const code = number < 0 ? -number : number;
    return error{std::string(what) + ": " + std::generic_category().message(code)};
}

}  // namespace latchkey::base
