// Runs a function in a child process in which system calls fail or limits are low.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace latchkey::test {

// Makes a system call of this process fail with `code` by a seccomp filter, as in a container or on
// an old kernel. False when no filter can be installed.
bool make_system_call_fail(unsigned number, int code);

// The result of `function` in a child process after `prepare`; another text if `prepare` or the
// child failed.
std::string output_after(std::function<bool()> const& prepare,
                         std::function<std::string()> const& function);

}  // namespace latchkey::test
