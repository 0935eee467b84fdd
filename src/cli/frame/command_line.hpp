// How the commands of `latchkey` end. Output for programs goes to standard output, messages for
// people to standard error.
#pragma once

namespace latchkey::cli {

// `unconfirmed`: a question was answered with no, or there was no terminal to ask at. `refused`:
// what was asked about, such as a key, would be refused. `undecided`: what was to be compared did
// not stand still.
enum exit_code : int {
    done = 0,
    failed = 1,
    usage_error = 2,
    unconfirmed = 3,
    refused = 4,
    undecided = 5,
    configuration_error = 78
};

}  // namespace latchkey::cli
