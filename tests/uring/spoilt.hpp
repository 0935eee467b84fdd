// What something says in a process of its own where system calls fail or limits are low.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace latchkey::test {

// From here on that system call fails with `code`, by a seccomp filter, as a container or an old
// kernel would have it. False when no filter can be set.
bool make_system_call_fail(unsigned number, int code);

// What `ask` returns in a child in which `spoil` has been done first; another text when that could
// not be done or the child did not end well.
std::string said_after(std::function<bool()> const& spoil, std::function<std::string()> const& ask);

}  // namespace latchkey::test
