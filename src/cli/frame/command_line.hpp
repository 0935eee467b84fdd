// How the commands of `latchkey` end. Output for programs goes to standard output, messages for
// people to standard error.
#pragma once

namespace latchkey::cli {

// `unconfirmed`: a question was answered with no, or there was no terminal to ask at. `refused`:
// what was asked about, such as a key, would be refused. `undecided`: what was to be compared did
// not stand still. `interrupted`: as shells say it, 128 + SIGINT.
enum exit_code : int {
    done = 0,
    failed = 1,
    usage_error = 2,
    unconfirmed = 3,
    refused = 4,
    undecided = 5,
    configuration_error = 78,
    interrupted = 130
};

// All of them, for the help and the manual pages.
inline constexpr char const* exit_code_text =
    "0 success, 1 failure, 2 wrong usage, 3 a question was not confirmed,\n"
    "4 a key would be refused (keys verify), 5 nothing can be said while there are so many\n"
    "writes (cluster check), 78 wrong configuration, 130 interrupted (changes --follow).";

}  // namespace latchkey::cli
