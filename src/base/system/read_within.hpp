// Reading a file whole at the start or by a reload, which must not hang: a pipe into which nobody
// writes would hold them, deaf to SIGTERM. Any thread.
//
//     auto const file = base::open_to_read(path);
//     if (!file.is_open()) return base::errno_error("cannot open " + path, errno);
//     auto const size = base::read_within(file, path, bytes);
//     if (!size) return size.error();
#pragma once

#include <span>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/system/descriptor.hpp"

namespace latchkey::base {

inline constexpr mono_ns pipe_patience = 5'000'000'000;

// A pipe without a writer opens at once. On failure it is not open, and errno says why.
descriptor open_to_read(std::string const& path);

// Reads to the end of the file or of `target`, and returns how much. Waits for a pipe for so long
// in all. The errors name `path`.
result<std::size_t> read_within(descriptor const& file, std::string const& path,
                                std::span<char> target, mono_ns patience = pipe_patience);

}  // namespace latchkey::base
