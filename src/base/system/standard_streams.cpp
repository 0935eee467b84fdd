#include "base/system/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace latchkey::base {

// Opening gives the lowest number that is free. The mode is the one that a program does not use
// there. Without /dev/null a path descriptor refuses both.
void open_standard_streams() {
    for (int const number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(number, F_GETFD) >= 0) continue;
        int descriptor = ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (descriptor < 0) descriptor = ::open("/", O_PATH);
        if (descriptor != number) ::_exit(1);
    }
}

bool is_writable(int descriptor) {
    int const flags = ::fcntl(descriptor, F_GETFL);
    return flags >= 0 && (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_RDONLY;
}

}  // namespace latchkey::base
