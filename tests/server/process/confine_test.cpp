// Each attempt runs in a child process, confined by the same functions as the service. A sanitizer
// build may need calls that the service does not make, so the child makes system calls directly and
// exits without any clean-up.
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

#include "base/system/call_filter.hpp"
#include "base/system/file_access.hpp"
#include "server/process/confine_service.hpp"

namespace latchkey::server {
namespace {

struct outcome {
    int status = 0;
    std::string error_output;
    bool killed() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS; }
    bool lived() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

// Not [[noreturn]]: AddressSanitizer inserts a call of its own before those.
void leave(int code) {
    ::syscall(SYS_exit_group, code);
}

// `attempt` returns whether it succeeded.
template <class Attempt>
outcome confined(Attempt attempt) {
    int pipe[2];
    EXPECT_EQ(::pipe(pipe), 0);
    auto const child = ::fork();
    if (child == 0) {
        ::dup2(pipe[1], STDERR_FILENO);
        if (!base::give_up_privileges()) leave(2);
        hide_memory();
        if (!filter_system_calls()) leave(3);
        leave(attempt() ? 0 : 1);
    }
    ::close(pipe[1]);
    outcome result;
    char bytes[512];
    for (ssize_t size; (size = ::read(pipe[0], bytes, sizeof bytes)) > 0;)
        result.error_output.append(bytes, static_cast<std::size_t>(size));
    ::close(pipe[0]);
    EXPECT_EQ(::waitpid(child, &result.status, 0), child);
    return result;
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
        auto const result = number == SYS_execve
                                ? calling(number, "/bin/true", words, nullptr)
                                : calling(number, AT_FDCWD, "/bin/true", words, nullptr, 0);
        EXPECT_TRUE(result.killed()) << number << " " << result.status;
        EXPECT_NE(result.error_output.find("system call " + std::to_string(number) + " is none"),
                  std::string::npos)
            << result.error_output;
    }
}

TEST(confine, no_process_and_no_thread_can_be_made) {
    EXPECT_TRUE(calling(SYS_clone, SIGCHLD, 0, 0, 0, 0).killed());
    EXPECT_TRUE(calling(SYS_unshare, CLONE_NEWUSER).killed());
    // The C library tries clone3 first.
    EXPECT_TRUE(confined([] {
                    return ::syscall(SYS_clone3, nullptr, 0) == -1 && errno == ENOSYS;
                }).lived());
#ifdef SYS_fork
    EXPECT_TRUE(calling(SYS_fork).killed());
    EXPECT_TRUE(calling(SYS_vfork).killed());
#endif
}

TEST(confine, no_socket_can_be_created_or_connected) {
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

// Four directories with a file each: one with write access, one with read access, one in which
// files may be removed, and one without access.
class confine_files_test : public testing::Test {
  protected:
    void SetUp() override {
        for (auto const* const name : {"own", "read", "sockets", "other"}) {
            std::filesystem::create_directories(root + "/" + name);
            std::ofstream(in(name)) << "kept";
        }
    }
    void TearDown() override { std::filesystem::remove_all(root); }
    std::string in(std::string const& name) const { return root + "/" + name + "/file"; }

    // 0, or the errno of the attempt; -1: the system has no Landlock.
    template <class Attempt>
    int confined_to_files(Attempt attempt, bool by_rules = true) const {
        auto const child = ::fork();
        if (child == 0) {
            base::file_grants const grants{
                .read = {root + "/read"}, .write = {root + "/own"}, .remove = {root + "/sockets"}};
            bool given_up = bool(base::give_up_privileges());
            if (by_rules) {
                auto const outcome = base::restrict_files(grants);
                if (outcome && !*outcome) leave(77);
                given_up = given_up && outcome;
            }
            hide_memory();
            if (!given_up || !filter_system_calls()) leave(76);
            errno = 0;
            leave(attempt() >= 0 ? 0 : errno);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status)) << status;
        return WEXITSTATUS(status) == 77 ? -1 : WEXITSTATUS(status);
    }
    bool is_there() const {
        return confined_to_files([] { return 0; }) == 0;
    }

    static long open_file(std::string const& path, int flags) {
        return ::syscall(SYS_openat, AT_FDCWD, path.c_str(), flags | O_CLOEXEC, 0600);
    }
    static long move_file(std::string const& source, std::string const& target) {
        return ::syscall(SYS_renameat2, AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(), 0);
    }
    static long remove_file(std::string const& path) {
        return ::syscall(SYS_unlinkat, AT_FDCWD, path.c_str(), 0);
    }

    static constexpr int appended = O_WRONLY | O_CREAT | O_APPEND;
    static constexpr int made_new = O_WRONLY | O_CREAT | O_EXCL;
    std::string const root = scratch("files");
};

TEST_F(confine_files_test, its_own_stay_as_they_were) {
    if (!is_there()) GTEST_SKIP() << "no Landlock in this kernel";
    EXPECT_EQ(confined_to_files([&] { return open_file(in("own"), O_RDONLY); }), 0);
    EXPECT_EQ(confined_to_files([&] { return open_file(in("own"), appended); }), 0);
    EXPECT_EQ(confined_to_files([&] { return open_file(root + "/own", O_RDONLY | O_DIRECTORY); }),
              0);
    EXPECT_EQ(confined_to_files([&] { return open_file(in("own") + ".new", made_new); }), 0);
    EXPECT_EQ(confined_to_files([&] { return move_file(in("own") + ".new", in("own")); }), 0);
    EXPECT_EQ(confined_to_files([&] {
                  return ::syscall(SYS_mkdirat, AT_FDCWD, (root + "/own/tls").c_str(), 0700);
              }),
              0);
    EXPECT_EQ(confined_to_files([&] { return remove_file(in("own")); }), 0);
    EXPECT_EQ(confined_to_files([&] { return open_file(in("read"), O_RDONLY); }), 0);
    EXPECT_EQ(confined_to_files([&] { return remove_file(in("sockets")); }), 0);
}

TEST_F(confine_files_test, no_other_is_read_appended_to_replaced_or_removed) {
    if (!is_there()) GTEST_SKIP() << "no Landlock in this kernel";
    for (bool const by_rules : {false, true}) {
        int const expected_error = by_rules ? EACCES : 0;  // by the filter alone it is all possible
        auto const attempt = [&](auto action) { return confined_to_files(action, by_rules); };
        EXPECT_EQ(attempt([&] { return open_file(in("other"), O_RDONLY); }), expected_error);
        EXPECT_EQ(attempt([&] { return open_file("/etc/passwd", O_RDONLY); }), expected_error);
        EXPECT_EQ(attempt([&] { return open_file(in("other"), appended); }), expected_error);
        EXPECT_EQ(attempt([&] { return open_file(in("read"), appended); }), expected_error);
        EXPECT_EQ(attempt([&] { return open_file(in("sockets"), O_RDONLY); }), expected_error);
        EXPECT_EQ(attempt([&] { return open_file(in("other") + ".new", made_new); }),
                  expected_error);
        // A rename replaces a file whatever its mode.
        auto const move = attempt([&] { return move_file(in("own"), in("other")); });
        EXPECT_TRUE(by_rules ? move == EACCES || move == EXDEV : move == 0) << move;
        std::ofstream(in("own")) << "kept";
        EXPECT_EQ(attempt([&] { return move_file(in("other"), in("other") + "2"); }),
                  expected_error);
        EXPECT_EQ(attempt([&] { return remove_file(in("read")); }), expected_error);
        if (!by_rules) TearDown(), SetUp();
    }
}

// The filter allows opening for append, as a log is. /proc/self/mem opened like this would let root
// write to read-only pages.
TEST_F(confine_files_test, the_process_itself_is_not_written_by_a_file) {
    if (::geteuid() != 0) GTEST_SKIP() << "refused to anyone but root";
    if (!is_there()) GTEST_SKIP() << "no Landlock in this kernel";
    auto const attempt = [] { return open_file("/proc/self/mem", appended); };
    EXPECT_EQ(confined_to_files(attempt, false), 0);
    EXPECT_EQ(confined_to_files(attempt), EACCES);
}

TEST_F(confine_files_test, a_link_is_followed_to_where_it_leads) {
    using strings = std::vector<std::string>;
    EXPECT_EQ(places_of(in("own")), strings{root + "/own"});
    EXPECT_EQ(places_of(in("absent")), strings{root + "/absent"});
    EXPECT_EQ(places_of("name"), strings{"."});
    EXPECT_EQ(places_of("/name"), strings{"/"});
    EXPECT_EQ(places_of("/dev/null"), strings{"/dev/null"});
    auto const first = root + "/read/first", second = root + "/other/second";
    std::filesystem::create_symlink("../other/second", first);
    std::filesystem::create_symlink(in("own"), second);
    EXPECT_EQ(places_of(first), (strings{root + "/read", root + "/read/../other", root + "/own"}));
    std::filesystem::create_symlink(first, in("own") + "2");
    std::filesystem::remove(second);
    std::filesystem::create_symlink(in("own") + "2", second);
    EXPECT_EQ(places_of(first).size(), 40u) << "a ring of links ends";
}

TEST(confine, nothing_is_left_of_privileges) {
    EXPECT_TRUE(confined([] { return ::syscall(SYS_getuid) >= 0; }).killed()) << "not on the list";
    auto const child = ::fork();
    if (child == 0) {
        bool const gave_up = bool(base::give_up_privileges());
        hide_memory();
        __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
        __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = {};
        bool const capabilities_read = ::syscall(SYS_capget, &header, have) == 0;
        bool none = true;
        for (auto const& each : have)
            none &= (each.effective | each.permitted | each.inheritable) == 0;
        leave(gave_up && capabilities_read && none &&
                      ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && ::prctl(PR_GET_DUMPABLE) == 0
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
        if (!base::give_up_privileges() || !filter_system_calls()) leave(2);
        filtered = true;
        early.join();
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << status;
}

}  // namespace
}  // namespace latchkey::server
