// Secrets come from a file or standard input: every process can see the arguments of a command.
#pragma once

#include <string>

#include "base/result.hpp"
#include "base/secret.hpp"

namespace latchkey::cli {

// The one line of a file, without its end; `-` is standard input. `subject` is what the error
// calls it, such as "the secret". What was read is wiped, but for the result.
base::result<base::secret> read_secret(std::string const& path, std::string const& subject);

}  // namespace latchkey::cli
