// What a helper gives up for good before it meets a stranger: it talks to hosts through libraries
// that parse what those send. It keeps outgoing connections and reading what is named; it may start
// nothing, write no file, listen nowhere and map no executable memory that is not a file.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/system/call_filter.hpp"

namespace latchkey::kit {

// For the rest of the process, which has a single thread: no other calls than those of the lists,
// such as base/system/call_lists.hpp has. An error: the kernel refuses the filter. Where it has no
// Landlock, files stay open to the rights of the user. Builds with a sanitizer are left as they
// are.
base::result<void> confine(std::vector<std::string> readable_files,
                           std::initializer_list<std::span<base::allowed_call const>> calls);

}  // namespace latchkey::kit
