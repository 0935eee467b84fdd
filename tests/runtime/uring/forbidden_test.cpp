// The probe's messages where io_uring is missing, forbidden or lacks a resource, each in a child
// process in which a system call fails in that way. An operator reads these sentences, so the tests
// compare them in full.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "runtime/uring/probe.hpp"
#include "runtime/uring/ring.hpp"
#include "syscall_faults.hpp"

namespace latchkey::uring {
namespace {

using test::make_system_call_fail;
using test::output_after;

std::string probe_message() {
    auto const result = probe();
    return result ? "nothing" : result.error().message;
}

std::string message_when_setup_fails_with(int code) {
    return output_after([&] { return make_system_call_fail(__NR_io_uring_setup, code); },
                        probe_message);
}

bool limit(__rlimit_resource resource, rlim_t maximum) {
    rlimit const low{maximum, maximum};
    return setrlimit(resource, &low) == 0;
}

constexpr char no_descriptor[] =
    "no descriptor is left for io_uring: raise the limit of open files (ulimit -n, or LimitNOFILE= "
    "in the unit)";
constexpr char no_memory[] =
    "no memory may be locked for io_uring: raise the limit of locked memory (ulimit -l, or "
    "LimitMEMLOCK= in the unit)";

TEST(probe, names_the_remedy_for_each_refusal_of_io_uring) {
    EXPECT_EQ(output_after([] { return true; }, probe_message), "nothing");
    EXPECT_EQ(
        message_when_setup_fails_with(ENOSYS),
        "there is no io_uring here: Linux 6.1 or newer is needed and, in a container, a seccomp "
        "profile that allows io_uring_setup, io_uring_enter and io_uring_register");
    // The same error for the sysctl and for a seccomp profile.
    EXPECT_EQ(message_when_setup_fails_with(EPERM),
              "io_uring is forbidden here: set the sysctl kernel.io_uring_disabled to 0 or, in a "
              "container, use a seccomp profile that allows io_uring_setup, io_uring_enter and "
              "io_uring_register (Docker's default does not)");
    EXPECT_EQ(message_when_setup_fails_with(EINVAL),
              "this kernel's io_uring is too old: Linux 6.1 or newer is needed");
    EXPECT_EQ(message_when_setup_fails_with(ENOMEM), no_memory);
    EXPECT_EQ(message_when_setup_fails_with(EMFILE), no_descriptor);
    EXPECT_EQ(message_when_setup_fails_with(ENFILE), no_descriptor);
    auto const other = message_when_setup_fails_with(EIO);
    EXPECT_TRUE(other.starts_with("io_uring cannot be set up: ")) << other;
}

TEST(probe, reports_a_lack_of_descriptors) {
    int const next = dup(0);
    ::close(next);
    EXPECT_EQ(output_after([&] { return limit(RLIMIT_NOFILE, static_cast<rlim_t>(next)); },
                           probe_message),
              no_descriptor);
}

// Linux 5.12 to 6.13 does not count a ring as locked memory; others do, except for root.
TEST(probe, reports_a_lack_of_locked_memory) {
    auto const message = output_after(
        [] {
            constexpr uid_t unprivileged = 65534;
            return limit(RLIMIT_MEMLOCK, 0) && (geteuid() != 0 || setuid(unprivileged) == 0);
        },
        probe_message);
    EXPECT_TRUE(message == no_memory || message == "nothing") << message;
}

TEST(probe, reports_what_a_created_ring_cannot_do) {
    auto const message = output_after(
        [] { return make_system_call_fail(__NR_io_uring_register, EINVAL); }, probe_message);
    EXPECT_NE(message.find("Linux 6.1 or newer is needed"), std::string::npos) << message;
}

// A profile that allows io_uring_setup and no other call of io_uring.
TEST(probe, reports_that_only_the_setup_is_allowed) {
    for (unsigned const call : {__NR_io_uring_enter, __NR_io_uring_register})
        for (int const code : {EPERM, ENOSYS})
            EXPECT_EQ(
                output_after([&] { return make_system_call_fail(call, code); }, probe_message),
                message_when_setup_fails_with(code));
}

TEST(probe, leaves_no_descriptor_behind) {
    int const first_free = dup(0);
    ::close(first_free);
    ASSERT_TRUE(probe());
    int const next_free = dup(0);
    ::close(next_free);
    EXPECT_EQ(first_free, next_free);
}

}  // namespace
}  // namespace latchkey::uring
