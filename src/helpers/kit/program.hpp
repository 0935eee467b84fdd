// What the programs that the service starts as helpers have in common: their command line, and what
// they give up first.
//
//     int main(int count, char** arguments) {
//         return kit::run_helper({.name = "latchkey-deliver", .help = help}, serve, count,
//                                        arguments);
//     }
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"

namespace latchkey::kit {

struct helper_program {
    std::string_view name;
    std::string_view help;
};

// `--descriptor N`: serves the service at the other end of that SEQPACKET socket, as a session with
// a random number (hello.hpp), then ends the process without destroying what `serve` left behind.
// Else prints help, version or what is wrong. The exit code: 0, 1 failure, 2 wrong usage.
using serve_function = base::result<void>(base::descriptor socket, std::uint64_t session);
int run_helper(helper_program const& program, serve_function* serve, int argument_count,
               char** arguments);

}  // namespace latchkey::kit
