// What the probe says where io_uring is missing, forbidden or short of something: each case in a
// process of its own in which io_uring_setup fails in that way. The sentences are what an operator
// reads, so they stand here in full.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "spoilt.hpp"
#include "uring/probe.hpp"
#include "uring/ring.hpp"

namespace latchkey::uring {
namespace {

using test::make_system_call_fail;
using test::said_after;

std::string probed() {
    auto const able = probe();
    return able ? "nothing" : able.error().message;
}

std::string said_when_setup_fails_with(int code) {
    return said_after([&] { return make_system_call_fail(__NR_io_uring_setup, code); }, probed);
}

bool limit(__rlimit_resource which, rlim_t most) {
    rlimit const low{most, most};
    return setrlimit(which, &low) == 0;
}

constexpr char no_descriptor[] =
    "no descriptor is left for io_uring: raise the limit of open files (ulimit -n, or LimitNOFILE= "
    "in the unit)";
constexpr char no_memory[] =
    "no memory may be locked for io_uring: raise the limit of locked memory (ulimit -l, or "
    "LimitMEMLOCK= in the unit)";

TEST(probe, names_the_remedy_for_each_way_in_which_io_uring_is_refused) {
    EXPECT_EQ(said_after([] { return true; }, probed), "nothing");
    EXPECT_EQ(
        said_when_setup_fails_with(ENOSYS),
        "there is no io_uring here: Linux 6.1 or newer is needed and, in a container, a seccomp "
        "profile that allows io_uring_setup, io_uring_enter and io_uring_register");
    // By the sysctl or by a profile: the kernel answers the same.
    EXPECT_EQ(said_when_setup_fails_with(EPERM),
              "io_uring is forbidden here: set the sysctl kernel.io_uring_disabled to 0 or, in a "
              "container, use a seccomp profile that allows io_uring_setup, io_uring_enter and "
              "io_uring_register (Docker's default does not)");
    EXPECT_EQ(said_when_setup_fails_with(EINVAL),
              "this kernel's io_uring is too old: Linux 6.1 or newer is needed");
    EXPECT_EQ(said_when_setup_fails_with(ENOMEM), no_memory);
    EXPECT_EQ(said_when_setup_fails_with(EMFILE), no_descriptor);
    EXPECT_EQ(said_when_setup_fails_with(ENFILE), no_descriptor);
    auto const other = said_when_setup_fails_with(EIO);
    EXPECT_TRUE(other.starts_with("io_uring cannot be set up: ")) << other;
}

TEST(probe, says_so_when_no_descriptor_is_left) {
    int const next = dup(0);
    ::close(next);
    EXPECT_EQ(said_after([&] { return limit(RLIMIT_NOFILE, static_cast<rlim_t>(next)); }, probed),
              no_descriptor);
}

// Linux 5.12 to 6.13 does not count a ring as locked memory; others do, for whoever is not root.
TEST(probe, says_so_when_no_memory_may_be_locked) {
    auto const said = said_after(
        [] {
            constexpr uid_t nobody = 65534;
            return limit(RLIMIT_MEMLOCK, 0) && (geteuid() != 0 || setuid(nobody) == 0);
        },
        probed);
    EXPECT_TRUE(said == no_memory || said == "nothing") << said;
}

TEST(probe, says_what_a_ring_that_can_be_made_cannot_do) {
    auto const said =
        said_after([] { return make_system_call_fail(__NR_io_uring_register, EINVAL); }, probed);
    EXPECT_NE(said.find("Linux 6.1 or newer is needed"), std::string::npos) << said;
}

// A profile that lets a ring be made and nothing be done with it.
TEST(probe, says_so_when_only_the_set_up_is_allowed) {
    for (unsigned const call : {__NR_io_uring_enter, __NR_io_uring_register})
        for (int const code : {EPERM, ENOSYS})
            EXPECT_EQ(said_after([&] { return make_system_call_fail(call, code); }, probed),
                      said_when_setup_fails_with(code));
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
