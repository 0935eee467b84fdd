#include "syscall_faults.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>

namespace latchkey::test {
namespace {

constexpr unsigned timeout_seconds = 60;

}  // namespace

bool make_system_call_fail(unsigned number, int code) {
    sock_filter const filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(code)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog const program{std::size(filter), const_cast<sock_filter*>(filter)};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

std::string output_after(std::function<bool()> const& prepare,
                         std::function<std::string()> const& function) {
    int ends[2];
    if (pipe(ends) != 0) return "there is no pipe";
    pid_t const child = fork();
    if (child == 0) {
        alarm(timeout_seconds);
        auto const text = prepare() ? function() : "the child could not be prepared";
        [[maybe_unused]] auto const count = ::write(ends[1], text.data(), text.size());
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    char bytes[1024];
    for (ssize_t size; (size = ::read(ends[0], bytes, sizeof bytes)) > 0;)
        text.append(bytes, static_cast<std::size_t>(size));
    ::close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? text : "the child ended with status " + std::to_string(status);
}

}  // namespace latchkey::test
