// Standard output of a command that follows: it ends between two lines, by SIGINT or because nobody
// reads any more, never in the middle of one. One thread.
#pragma once

#include <string_view>

namespace latchkey::cli {

// From now on SIGINT is noted, and a closed pipe is an error of write().
void note_interrupts();
bool is_interrupted();
// False: nobody reads the output any more (errno is EPIPE), it cannot be written, or SIGINT came.
bool write_followed(std::string_view text);
// The exit code after that: what was to be printed is not there, whoever went.
int end_of_output();
// Waits so long, or until SIGINT; false: nobody reads the output any more (errno is EPIPE).
bool wait_for_more(int milliseconds);

}  // namespace latchkey::cli
