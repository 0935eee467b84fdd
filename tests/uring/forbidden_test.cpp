// What the probe says where io_uring is missing or forbidden: each case in a child of its own whose
// seccomp filter makes io_uring_setup fail in that way, as a container or an old kernel would.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

#include "uring/probe.hpp"

namespace latchkey::uring {
namespace {

bool make_system_call_fail(unsigned number, unsigned short code) {
    sock_filter const filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog const program{std::size(filter), const_cast<sock_filter*>(filter)};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// What `probe` says in a child in which `spoil` has been done.
template <class Spoil>
std::string said_after(Spoil spoil) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_t const child = fork();
    if (child == 0) {
        std::string text = "the child could not be prepared";
        if (spoil()) {
            auto const able = probe();
            text = able ? "nothing" : able.error().message;
        }
        [[maybe_unused]] auto const written = ::write(ends[1], text.data(), text.size());
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    char bytes[1024];
    for (ssize_t size; (size = ::read(ends[0], bytes, sizeof bytes)) > 0;)
        text.append(bytes, static_cast<std::size_t>(size));
    ::close(ends[0]);
    waitpid(child, nullptr, 0);
    return text;
}

std::string said_when_setup_fails_with(unsigned short code) {
    return said_after([code] { return make_system_call_fail(__NR_io_uring_setup, code); });
}

TEST(probe, names_the_remedy_for_each_way_in_which_io_uring_is_refused) {
    EXPECT_EQ(said_after([] { return true; }), "nothing");
    EXPECT_EQ(
        said_when_setup_fails_with(ENOSYS),
        "there is no io_uring here: Linux 6.1 or newer is needed and, in a container, a seccomp "
        "profile that allows io_uring_setup, io_uring_enter and io_uring_register");
    auto const forbidden = said_when_setup_fails_with(EPERM);
    EXPECT_NE(forbidden.find("kernel.io_uring_disabled"), std::string::npos) << forbidden;
    EXPECT_NE(forbidden.find("seccomp"), std::string::npos) << forbidden;
    EXPECT_NE(said_when_setup_fails_with(EINVAL).find("too old"), std::string::npos);
    EXPECT_NE(said_when_setup_fails_with(ENOMEM).find("LimitMEMLOCK"), std::string::npos);
    EXPECT_NE(said_when_setup_fails_with(EMFILE).find("LimitNOFILE"), std::string::npos);
}

TEST(probe, says_what_a_ring_that_can_be_made_cannot_do) {
    auto const said =
        said_after([] { return make_system_call_fail(__NR_io_uring_register, EINVAL); });
    EXPECT_NE(said.find("Linux 6.1 or newer is needed"), std::string::npos) << said;
}

TEST(probe, leaves_no_descriptor_behind) {
    int const before = dup(0);
    ::close(before);
    ASSERT_TRUE(probe());
    int const after = dup(0);
    ::close(after);
    EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace latchkey::uring
