#include "base/result.hpp"

#include <system_error>

namespace latchkey::base {

error errno_error(std::string_view action, int number) {
    auto const code = number < 0 ? -number : number;
    return error{std::string(action) + ": " + std::generic_category().message(code)};
}

}  // namespace latchkey::base
