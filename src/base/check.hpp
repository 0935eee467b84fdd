// A broken assumption of our own ends the process with a message; it is never a way to report
// what a client, the disk or the kernel did. Always compiled in. Any thread.
//
//     base::check(slot < slots_.size(), "a slot outside the table");
#pragma once

#include <source_location>

namespace latchkey::base {

[[noreturn]] void fail_check(char const* what, std::source_location const& where) noexcept;

inline void check(bool holds, char const* what,
                  std::source_location const& where = std::source_location::current()) noexcept {
    if (!holds) [[unlikely]]
        fail_check(what, where);
}

}  // namespace latchkey::base
