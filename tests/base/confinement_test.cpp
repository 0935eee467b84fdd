#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/check.hpp"
#include "base/system/call_filter.hpp"
#include "base/system/file_access.hpp"

namespace latchkey::base {
namespace {

// In a process of its own, since nothing takes it back: 0, or the number of what went wrong.
int run_apart(std::function<int()> const& action) {
    auto const child = ::fork();
    check(child >= 0, "cannot fork");
    if (child == 0) ::_exit(action());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class folder {
  public:
    folder() {
        std::string name = std::filesystem::temp_directory_path() / "latchkey-base-XXXXXX";
        check(::mkdtemp(name.data()) != nullptr, "no folder for a test");
        path_ = name;
    }
    ~folder() { std::filesystem::remove_all(path_); }
    folder(folder const&) = delete;
    folder& operator=(folder const&) = delete;

    std::string file(std::string const& name) const {
        std::ofstream(path_ + "/" + name) << name;
        return path_ + "/" + name;
    }

  private:
    std::string path_;
};

bool fails_to_open(std::string const& path, int flags, int error) {
    return ::open(path.c_str(), flags, 0600) < 0 && errno == error;
}

TEST(file_access, is_reading_what_was_named) {
    folder const files;
    auto const open = files.file("open"), closed = files.file("closed");
    auto const code = run_apart([&] {
        file_grants const grants{.read = {open, "/no/such/place"}};
        if (!give_up_privileges() || !restrict_files(grants)) return 1;
        if (::open(open.c_str(), O_RDONLY) < 0) return 2;
        if (!fails_to_open(closed, O_RDONLY, EACCES)) return 3;
        if (!fails_to_open(open, O_WRONLY, EACCES)) return 4;
        if (!fails_to_open(closed + "2", O_WRONLY | O_CREAT, EACCES)) return 5;
        if (::unlink(open.c_str()) == 0) return 6;
        ::execl("/bin/true", "true", nullptr);
        return errno == EACCES ? 0 : 7;
    });
    EXPECT_EQ(code, 0);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LATCHKEY_SANITIZED 1
#endif
#endif
#ifndef LATCHKEY_SANITIZED
TEST(call_filters, let_through_what_was_named_with_its_arguments) {
    auto const code = run_apart([] {
        constexpr allowed_call calls[] = {
            {__NR_socket, 0, UINT32_MAX, AF_INET}, {__NR_close}, {__NR_exit_group}};
        if (!give_up_privileges() || !filter_calls({calls})) return 1;
        if (::socket(AF_INET, SOCK_STREAM, 0) < 0) return 2;
        if (::socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EPERM) return 3;
        if (::syscall(__NR_getppid) != -1 || errno != EPERM) return 4;
        if (::syscall(__NR_clone3, nullptr, 0) != -1 || errno != ENOSYS) return 5;
        if (::fork() >= 0 || errno != EPERM) return 6;
        return 0;
    });
    EXPECT_EQ(code, 0);
}
#endif

}  // namespace
}  // namespace latchkey::base
