#include "base/system/descriptor.hpp"

#include <unistd.h>

#include <cerrno>

namespace latchkey::base {

void descriptor::close() {
    if (!is_open()) return;
    int const code = errno;
    ::close(release());
    errno = code;
}

descriptor open_file(std::string const& path, int flags, mode_t mode) {
    return descriptor(::open(path.c_str(), flags | O_CLOEXEC, mode));
}

}  // namespace latchkey::base
