// Assertions of invariants: a violated one is a bug of the program and ends the process with a
// message. Never a way to report what a client, the disk or the kernel did. Compiled into every
// build. Any thread.
//
//     base::check(slot < slots_.size(), "a slot outside the table");
#pragma once

#include <source_location>

namespace latchkey::base {

[[noreturn]] void fail_check(char const* message, std::source_location const& location) noexcept;

inline void check(bool holds, char const* message,
                  std::source_location const& location = std::source_location::current()) noexcept {
    if (!holds) [[unlikely]]
        fail_check(message, location);
}

}  // namespace latchkey::base
