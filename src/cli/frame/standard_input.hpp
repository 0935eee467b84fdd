// Standard input is read once: of a command that names it for two of its inputs the second one
// would be empty. One thread.
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace latchkey::cli {

// Says that `input`, such as "the secret", comes from standard input. The error, a sentence, names
// both inputs where another one does already.
base::result<void> claim_standard_input(std::string_view input);

}  // namespace latchkey::cli
