// Two forks: the supervisor, and the helper that it executes. The supervisor keeps a spare of
// itself, which waits on a pipe that only the active one holds open: it closes when that ends,
// however it ends. Processes are tied to their parents by PR_SET_PDEATHSIG. Pauses before a new
// start double up to 5 s.
#include "helpers/kit/start.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/clock.hpp"
#include "base/system/call_filter.hpp"
#include "base/system/log.hpp"
#include "base/time_units.hpp"
#include "helpers/kit/channel.hpp"

namespace latchkey::kit {
namespace {

constexpr int helper_descriptor = 3;
constexpr base::mono_ns first_pause = base::second / 10, longest_pause = 5 * base::second;
// A helper that lived so long was well: the next pause is the first one again.
constexpr base::mono_ns healthy_life = 30 * base::second;

std::string own_folder() {
    std::array<char, 4096> path;
    auto const size = ::readlink("/proc/self/exe", path.data(), path.size());
    std::string_view const name(path.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return std::string(name.substr(0, name.rfind('/') + 1));
}

void pause_for(base::mono_ns time) {
    timespec const pause{time / base::second, time % base::second};
    ::nanosleep(&pause, nullptr);
}

struct helper_program {
    std::string path, name;
};

pid_t start(helper_program const& program) {
    auto const self = ::getpid();
    auto const child = ::fork();
    if (child != 0) return child;
    end_with(self);
    ::execl(program.path.c_str(), program.name.c_str(), "--descriptor", "3", nullptr);
    ::_exit(127);
}

// In the spare supervisor: until the one that started it has ended, or the service.
void await_turn(int life_of_active) {
    std::array<pollfd, 2> polled{{{life_of_active, 0, 0}, {helper_descriptor, 0, 0}}};
    while (::poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) {
    }
    // Both at once when the service ends: a helper then ends by itself, and its supervisor.
    pollfd service{helper_descriptor, 0, 0};
    if (::poll(&service, 1, 0) > 0) ::_exit(0);
    ::close(life_of_active);
}

// Forks the spare: it returns as the active supervisor once this one has ended. Its process, and 0
// in the spare itself; without one the helper is started again as long as this process lives.
pid_t start_spare() {
    std::array<int, 2> life{-1, -1};
    if (::pipe2(life.data(), O_CLOEXEC) != 0) return -1;
    auto const spare = ::fork();
    ::close(life[spare == 0 ? 1 : 0]);
    if (spare == 0) await_turn(life[0]);
    if (spare < 0) ::close(life[1]);
    return spare;
}

// Starts the helper, and the spare, again and again; returns in a spare whose turn has come.
void supervise(helper_program const& program, base::mono_ns pause) {
    pid_t helper = -1, spare = -1;
    base::mono_ns begin = 0;
    for (;;) {
        if (helper < 0) {
            begin = base::read_mono();
            helper = start(program);
        }
        if (spare < 0) {
            spare = start_spare();
            if (spare == 0) return;
        }
        int status = 0;
        auto const process = helper < 0 ? helper : ::waitpid(-1, &status, 0);
        if (process == spare) spare = -1;
        if (process > 0 && process != helper) continue;
        // By itself it ends only when the service has closed its end of the socket.
        if (process > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) ::_exit(0);
        if (process < 0 && errno == EINTR) continue;
        helper = -1;
        if (base::read_mono() - begin > healthy_life) pause = first_pause;
        base::log(base::severity::warning,
                  "the helper " + program.name + " has ended and is started again");
        pause_for(pause);
        pause = std::min(2 * pause, longest_pause);
    }
}

// Signals stay blocked as the service has them: a terminal and a service manager send SIGTERM to
// the helper too, while the service still needs it for its last commits.
[[noreturn]] void supervise_in_turn(helper_program const& program, int socket) {
    ::signal(SIGCHLD, SIG_DFL);  // ignored, it would leave no status of the helper to wait for
    if (socket == helper_descriptor)
        ::fcntl(socket, F_SETFD, 0);
    else
        ::dup2(socket, helper_descriptor);
    ::close_range(helper_descriptor + 1, ~0U, 0);
    [[maybe_unused]] auto const ignored = base::give_up_privileges();
    base::put_log_style_into_environment();
    for (;;) {
        supervise(program, first_pause);
        base::log(base::severity::warning, "the supervisor of " + program.name +
                                               " has ended, and another one takes its place");
        pause_for(first_pause);  // its helper ends with it
    }
}

}  // namespace

void end_with(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (::getppid() != parent) ::_exit(0);
}

std::string find_helper(std::string const& name) {
    auto const folder = own_folder();
    // A build folder has each in the folder of its sources: "helpers/deliver/latchkey-deliver".
    auto const layer = "helpers/" + name.substr(name.find('-') + 1) + "/";
    for (auto const& path : {folder + name, folder + layer + name,
                             folder + "../lib/latchkey/" + name, "/usr/lib/latchkey/" + name})
        if (::access(path.c_str(), X_OK) == 0) return path;
    return {};
}

base::result<base::descriptor> start_helper(std::string const& program) {
    auto const path = find_helper(program);
    if (path.empty())
        return base::error{"there is no program " + program +
                           ": install the package that has it (latchkey, latchkey-cluster)"};
    auto sockets = kit::make_socket_pair();
    if (!sockets) return sockets.error();
    auto const parent = ::getpid();
    auto const child = ::fork();
    if (child < 0) return base::errno_error("cannot start the supervisor of " + program, errno);
    if (child == 0) {
        end_with(parent);
        auto const name = "super-" + program.substr(program.find('-') + 1);
        ::prctl(PR_SET_NAME, name.c_str(), 0, 0, 0);
        supervise_in_turn({path, program}, sockets->second.get());
    }
    return std::move(sockets->first);
}

base::descriptor start_optional_helper(std::string const& program, std::string const& loss) {
    auto socket = start_helper(program);
    if (socket) return std::move(*socket);
    base::log(base::severity::warning, loss + ": " + socket.error().message);
    return {};
}

}  // namespace latchkey::kit
