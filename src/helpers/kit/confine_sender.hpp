// What this process gives up for good before it meets a stranger: it talks to hosts that clients of
// the service chose, through libraries that parse what those send. It keeps outgoing connections
// over TCP and UDP, threads, and reading the authorities of TLS and what resolves names; it may
// start nothing, write no file, listen nowhere, reach no Unix socket, and read no other file.
#pragma once

#include <span>
#include <string>

#include "base/result.hpp"

namespace latchkey::kit {

// For the rest of the process, which has a single thread. An error: the kernel refuses the filter.
// Builds with a sanitizer, whose run time does more than the program, are left as they are.
// `files`: what names and certificates need, beside the folders of the system.
base::result<void> confine_sender(std::span<std::string const> files);

}  // namespace latchkey::kit
