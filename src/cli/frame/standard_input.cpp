#include "cli/frame/standard_input.hpp"

#include <string>

namespace latchkey::cli {

base::result<void> claim_standard_input(std::string_view input) {
    static std::string owner;
    if (!owner.empty() && owner != input)
        return base::error{owner + " and " + std::string(input) +
                           " cannot both come from standard input: name a file for one of them"};
    owner = input;
    return {};
}

}  // namespace latchkey::cli
