// Each attempt is made in a child of its own, after the filter, by the very functions that the
// service calls. A sanitizer's build may need calls that the service does not, so a child makes
// system calls directly and ends without any clean-up.
#include "server/confine.hpp"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace latchkey::server {
namespace {

struct outcome {
    int status = 0;
    std::string said;  // on standard error
    bool killed() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS; }
    bool lived() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

// Not said to be one that does not return: before those AddressSanitizer makes a call of its own.
void leave(int code) {
    ::syscall(SYS_exit_group, code);
}

// `attempt` answers whether it got what it wanted.
template <class Attempt>
outcome confined(Attempt attempt) {
    int pipe[2];
    EXPECT_EQ(::pipe(pipe), 0);
    auto const child = ::fork();
    if (child == 0) {
        ::dup2(pipe[1], STDERR_FILENO);
        if (!give_up_privileges()) leave(2);
        hide_memory();
        if (!filter_system_calls()) leave(3);
        leave(attempt() ? 0 : 1);
    }
    ::close(pipe[1]);
    outcome seen;
    char bytes[512];
    for (ssize_t got; (got = ::read(pipe[0], bytes, sizeof bytes)) > 0;)
        seen.said.append(bytes, static_cast<std::size_t>(got));
    ::close(pipe[0]);
    EXPECT_EQ(::waitpid(child, &seen.status, 0), child);
    return seen;
}

template <class... Arguments>
outcome calling(long number, Arguments... arguments) {
    return confined([=] { return ::syscall(number, arguments...) >= 0; });
}

std::string scratch(char const* name) {
    auto const folder =
        std::filesystem::temp_directory_path() / ("confine-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    return folder / name;
}

TEST(confine, a_program_cannot_be_started) {
    char const* const words[] = {"true", nullptr};
    for (auto const number : {SYS_execve, SYS_execveat}) {
        auto const seen = number == SYS_execve
                              ? calling(number, "/bin/true", words, nullptr)
                              : calling(number, AT_FDCWD, "/bin/true", words, nullptr, 0);
        EXPECT_TRUE(seen.killed()) << number << " " << seen.status;
        EXPECT_NE(seen.said.find("system call " + std::to_string(number) + " is none"),
                  std::string::npos)
            << seen.said;
    }
}

TEST(confine, no_process_and_no_thread_can_be_made) {
    EXPECT_TRUE(calling(SYS_clone, SIGCHLD, 0, 0, 0, 0).killed());
    EXPECT_TRUE(calling(SYS_unshare, CLONE_NEWUSER).killed());
    // The C library asks first whether there is clone3 at all.
    EXPECT_TRUE(confined([] {
                    return ::syscall(SYS_clone3, nullptr, 0) == -1 && errno == ENOSYS;
                }).lived());
#ifdef SYS_fork
    EXPECT_TRUE(calling(SYS_fork).killed());
    EXPECT_TRUE(calling(SYS_vfork).killed());
#endif
}

TEST(confine, no_socket_can_be_made_and_nobody_be_called) {
    for (int const family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_PACKET})
        EXPECT_TRUE(calling(SYS_socket, family, SOCK_STREAM, 0).killed()) << family;
    EXPECT_TRUE(calling(SYS_connect, 0, nullptr, 0).killed());
    EXPECT_TRUE(calling(SYS_bind, 0, nullptr, 0).killed());
}

TEST(confine, no_other_process_can_be_looked_at_or_hurt) {
    auto const other = ::getpid();
    EXPECT_TRUE(calling(SYS_ptrace, PTRACE_ATTACH, other, 0, 0).killed());
    EXPECT_TRUE(calling(SYS_process_vm_readv, other, nullptr, 0, nullptr, 0, 0).killed());
    EXPECT_TRUE(calling(SYS_kill, other, 0).killed());
    EXPECT_TRUE(calling(SYS_tgkill, other, other, 0).killed());
    EXPECT_TRUE(calling(SYS_pidfd_open, other, 0).killed());
}

TEST(confine, there_is_no_way_past_the_filter) {
    io_uring_params params{};
    EXPECT_TRUE(calling(SYS_io_uring_setup, 8, &params).killed());
    EXPECT_TRUE(calling(SYS_io_uring_register, 0, IORING_REGISTER_BUFFERS, nullptr, 0).killed());
    EXPECT_TRUE(calling(SYS_memfd_create, "code", 0).killed());
    EXPECT_TRUE(calling(SYS_bpf, 0, nullptr, 0).killed());
    EXPECT_TRUE(calling(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0).killed());
#if defined(__x86_64__)
    EXPECT_TRUE(calling(0x40000000 + 59, "/bin/true", nullptr, nullptr).killed());  // x32's numbers
#endif
}

TEST(confine, no_memory_can_be_made_executable) {
    auto const page = static_cast<std::size_t>(::getpagesize());
    auto* const there = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(there, MAP_FAILED);
    EXPECT_TRUE(calling(SYS_mprotect, there, page, PROT_READ | PROT_WRITE).lived());
    EXPECT_TRUE(calling(SYS_mprotect, there, page, PROT_READ | PROT_EXEC).killed());
    auto const anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    EXPECT_TRUE(calling(SYS_mmap, 0, page, PROT_READ | PROT_WRITE, anonymous, -1, 0).lived());
    EXPECT_TRUE(calling(SYS_mmap, 0, page, PROT_READ | PROT_EXEC, anonymous, -1, 0).killed());
    ::munmap(there, page);
}

TEST(confine, a_file_that_is_there_is_not_overwritten) {
    auto const path = scratch("there"), absent = scratch("absent");
    std::ofstream(path) << "kept";
    auto const* const name = path.c_str();
    for (int const flags : {O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC, O_RDONLY | O_TRUNC,
                            O_WRONLY | O_CREAT, O_RDWR | O_CREAT | O_EXCL, O_RDONLY | O_CREAT})
        EXPECT_TRUE(calling(SYS_openat, AT_FDCWD, name, flags, 0600).killed()) << flags;
    EXPECT_TRUE(calling(SYS_openat, AT_FDCWD, "/tmp", O_TMPFILE | O_WRONLY, 0600).killed());
    EXPECT_TRUE(calling(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC).lived());
    EXPECT_TRUE(calling(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND, 0640).lived());
    EXPECT_TRUE(
        calling(SYS_openat, AT_FDCWD, absent.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600).lived());
    EXPECT_EQ(std::filesystem::file_size(path), 4u);
    std::filesystem::remove_all(std::filesystem::path(path).parent_path());
}

TEST(confine, nothing_is_left_of_privileges) {
    EXPECT_TRUE(confined([] { return ::syscall(SYS_getuid) >= 0; }).killed()) << "not on the list";
    auto const child = ::fork();
    if (child == 0) {
        bool const gave_up = bool(give_up_privileges());
        hide_memory();
        __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
        __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = {};
        bool const asked = ::syscall(SYS_capget, &header, have) == 0;
        bool none = true;
        for (auto const& each : have)
            none &= (each.effective | each.permitted | each.inheritable) == 0;
        leave(gave_up && asked && none && ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
                      ::prctl(PR_GET_DUMPABLE) == 0
                  ? 0
                  : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(confine, threads_that_were_there_are_confined_too) {
    auto const child = ::fork();
    if (child == 0) {
        std::atomic<bool> filtered{false};
        std::thread early([&filtered] {
            while (!filtered) std::this_thread::yield();
            ::syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
            leave(1);
        });
        int const nowhere = ::open("/dev/null", O_WRONLY);
        ::dup2(nowhere, STDERR_FILENO);
        if (!give_up_privileges() || !filter_system_calls()) leave(2);
        filtered = true;
        early.join();
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << status;
}

}  // namespace
}  // namespace latchkey::server
