// Standard output may be closed, full, or a pipe that nobody reads any more: what a command prints
// there with stdio is not written until it is flushed. One thread.
#pragma once

#include <string>

namespace latchkey::cli {

// Before the output of a command that has changed something: what is so now, and how it is undone,
// as a sentence that is said if the output cannot be written. Never a secret. The last one counts.
void note_outcome(std::string sentence);

// After a command: flushes. The exit code, which is `code`, or failed, with a sentence, if a part
// of the output was not written.
int end_output(int code);

}  // namespace latchkey::cli
