// Descriptors 0 to 2 that a program was started without.
#include "base/system/standard_streams.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace latchkey::base {
namespace {

bool is_refused(ssize_t result) {
    return result < 0 && errno == EBADF;
}

// In a process that has closed those of the three whose bit is set: the bits of those that are then
// not as they should be.
int run_without(int closed) {
    for (int number = 0; number < 3; ++number) ::close(number);
    int ends[2];
    if (::pipe(ends) != 0 || ends[0] != 0 || ends[1] != 1 || ::dup2(1, 2) != 2) return 8;
    for (int number = 0; number < 3; ++number)
        if ((closed & 1 << number) != 0) ::close(number);
    open_standard_streams();
    int wrong = 0;
    char byte = 'x';
    for (int number = 0; number < 3; ++number) {
        bool const was_closed = (closed & 1 << number) != 0;
        bool const refuses = number == 0 ? was_closed && is_refused(::read(number, &byte, 1))
                                         : was_closed && is_refused(::write(number, &byte, 1));
        bool const is_told = number == 0 || is_writable(number) != was_closed;
        if (::fcntl(number, F_GETFD) < 0 || refuses != was_closed || !is_told) wrong |= 1 << number;
    }
    int const next = ::dup(0);
    return next > 2 ? wrong : 8;
}

TEST(standard_streams, that_are_closed_are_opened_and_refuse) {
    for (int closed = 0; closed < 8; ++closed) {
        auto const child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) ::_exit(run_without(closed));
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 0) << closed;
    }
}

}  // namespace
}  // namespace latchkey::base
