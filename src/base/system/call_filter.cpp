#include "base/system/call_filter.hpp"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

namespace latchkey::base {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t machine = AUDIT_ARCH_X86_64;
constexpr std::uint32_t first_x32_call = 0x40000000;  // the x32 ABI, with its own numbers
#elif defined(__aarch64__)
constexpr std::uint32_t machine = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t first_x32_call = UINT32_MAX;
#endif

// Instructions of classic BPF (Documentation/networking/filter.rst).
sock_filter load(std::size_t offset) {
    return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter return_action(std::uint32_t action) {
    return BPF_STMT(BPF_RET | BPF_K, action);
}
sock_filter skip_unless_equal(std::uint32_t value, unsigned char count) {
    return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count);
}

void append(std::vector<sock_filter>& program, allowed_call const& each,
            std::uint32_t action = SECCOMP_RET_ALLOW) {
    program.push_back(load(offsetof(seccomp_data, nr)));
    bool const conditional = each.argument >= 0;
    program.push_back(
        skip_unless_equal(static_cast<std::uint32_t>(each.call), conditional ? 4 : 1));
    if (conditional) {
        auto const index = static_cast<std::size_t>(each.argument);
        program.push_back(load(offsetof(seccomp_data, args) + sizeof(std::uint64_t) * index));
        program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, each.bits));
        program.push_back(skip_unless_equal(each.value, 1));
    }
    program.push_back(return_action(action));
}

// The kernel caches the numbers that are allowed whatever their arguments (Linux 5.11), so the
// length of the lists costs these nothing.
std::vector<sock_filter> build_filter(std::initializer_list<std::span<allowed_call const>> lists,
                                      forbidden_calls const& others) {
    std::vector<sock_filter> filter{load(offsetof(seccomp_data, arch)),
                                    skip_unless_equal(machine, 1),
                                    BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
                                    return_action(SECCOMP_RET_KILL_PROCESS),
                                    load(offsetof(seccomp_data, nr)),
                                    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first_x32_call, 0, 1),
                                    return_action(SECCOMP_RET_KILL_PROCESS)};
    for (auto const& calls : lists)
        for (auto const& each : calls) append(filter, each);
    append(filter, {__NR_tgkill, 0, UINT32_MAX, static_cast<std::uint32_t>(::getpid())});
    append(filter, {__NR_clone3}, SECCOMP_RET_ERRNO | ENOSYS);
    for (int const each : others.failing) append(filter, {each}, SECCOMP_RET_ERRNO | EPERM);
    filter.push_back(return_action(others.trap ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | EPERM));
    return filter;
}

}  // namespace

result<void> give_up_privileges() {
    ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    if (::syscall(SYS_capset, &header, none) != 0)
        return errno_error("cannot drop capabilities", errno);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return errno_error("cannot set PR_SET_NO_NEW_PRIVS", errno);
    return {};
}

result<void> filter_calls(std::initializer_list<std::span<allowed_call const>> lists,
                          forbidden_calls const& others) {
    auto filter = build_filter(lists, others);
    sock_fprog const program{.len = static_cast<unsigned short>(filter.size()),
                             .filter = filter.data()};
    auto const flags = others.all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0;
    long const code = ::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (code == 0) return {};
    if (code > 0) return error{"a thread has a system call filter of its own"};
    return errno_error("this kernel accepts no system call filter", errno);
}

}  // namespace latchkey::base
