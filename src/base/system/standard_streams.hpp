// Descriptors 0 to 2, which cron jobs and service managers may leave closed: the next files that a
// program opens would get these numbers, and its messages would be written over them.
#pragma once

namespace latchkey::base {

// Opens those of the three that are closed, so that reading standard input and writing standard
// output or error fail (EBADF). First in every main(): no file may be opened before. Ends the
// process if one cannot be opened.
void open_standard_streams();

// Is a descriptor open for writing? What was closed at the start is not.
bool is_writable(int descriptor);

}  // namespace latchkey::base
