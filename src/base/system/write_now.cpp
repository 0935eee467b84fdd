#include "base/system/write_now.hpp"

#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace latchkey::base {

ssize_t write_now(int number, std::string_view bytes) {
    struct stat status{};
    if (::fstat(number, &status) != 0) return -1;
    if (S_ISREG(status.st_mode)) return ::write(number, bytes.data(), bytes.size());
    if (S_ISSOCK(status.st_mode))
        return ::send(number, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (S_ISFIFO(status.st_mode)) {
        iovec const part{const_cast<char*>(bytes.data()), bytes.size()};
        auto const count = ::pwritev2(number, &part, 1, -1, RWF_NOWAIT);
        // Others: a kernel before 6.4, or a filter that has not the call.
        if (count >= 0 || errno == EAGAIN || errno == EPIPE) return count;
    }
    // What has room takes a page, if no other process is faster.
    pollfd room{number, POLLOUT, 0};
    if (::poll(&room, 1, 0) == 0) return errno = EAGAIN, -1;
    return ::write(number, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
}

}  // namespace latchkey::base
