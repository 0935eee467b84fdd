#include "base/system/read_within.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/system/poll_until.hpp"

namespace latchkey::base {

descriptor open_to_read(std::string const& path) {
    return open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

// A regular file is always ready. A pipe without a writer reads as one that has ended, which poll
// tells apart: it reports an end only once there was a writer.
result<std::size_t> read_within(descriptor const& file, std::string const& path,
                                std::span<char> target, mono_ns patience) {
    auto const end = read_mono() + patience;
    std::size_t size = 0;
    while (size < target.size()) {
        pollfd ready{.fd = file.get(), .events = POLLIN, .revents = 0};
        int const count = poll_until({&ready, 1}, end);
        if (count == 0)
            return error{path + " is a pipe that nobody has written to its end in time"};
        auto const bytes =
            count < 0 ? -1 : ::read(file.get(), target.data() + size, target.size() - size);
        if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (bytes < 0) return errno_error("cannot read " + path, errno);
        if (bytes == 0) break;
        size += static_cast<std::size_t>(bytes);
    }
    return size;
}

}  // namespace latchkey::base
