#include "store/inspect.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "store/audit.hpp"
#include "store/snapshot.hpp"
#include "store/verify.hpp"

namespace latchkey::store {
namespace {

// What the other process tells: a letter and the rest of the line; the last line is "done".
std::string look(std::string const& directory) {
    auto const opened = environment::open({.directory = directory, .read_only = true});
    if (!opened) return "E" + opened.error().message + "\n";
    auto& store = **opened;
    std::string told;
    for (auto const& sentence : verify(store)) told += "W" + sentence + "\n";
    auto const audit = verify_audit(store);
    for (auto const& sentence : audit.wrong) told += "W" + sentence + "\n";
    snapshot seen(store);
    seen.renew();
    range const none{.limit = 0};
    auto const users = seen.users(none, [](auto const&) {}).total;
    auto const posts = seen.posts({}, none, [](auto const&) {}).total;
    auto const keys = seen.keys({}, none, [](auto const&, auto) {}).total;
    for (auto const number : {users, posts, keys, std::uint64_t{audit.entries}})
        told += "N" + std::to_string(number) + "\n";
    return told + "done\n";
}

void tell(int to, std::string_view text) {
    while (!text.empty()) {
        auto const sent = ::write(to, text.data(), text.size());
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
}

std::string all_from(int descriptor) {
    std::string all;
    char some[4096];
    for (;;) {
        auto const got = ::read(descriptor, some, sizeof some);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return all;
        all.append(some, static_cast<std::size_t>(got));
    }
}

base::result<inspected> understand(std::string const& told, int status) {
    inspected seen;
    std::vector<std::uint64_t> numbers;
    std::istringstream lines(told);
    for (std::string line; std::getline(lines, line);) {
        if (line == "done" && numbers.size() == 4) {
            seen.users = numbers[0], seen.posts = numbers[1];
            seen.keys = numbers[2], seen.audit_entries = numbers[3];
            return seen;
        }
        auto const rest = line.empty() ? std::string() : line.substr(1);
        if (line.starts_with('E')) return base::error{rest};
        if (line.starts_with('W')) seen.wrong.push_back(rest);
        if (line.starts_with('N')) numbers.push_back(std::stoull(rest));
    }
    return base::error{"the store is damaged: reading it ended with " +
                       (WIFSIGNALED(status) ? std::string(::strsignal(WTERMSIG(status)))
                                            : "exit code " + std::to_string(WEXITSTATUS(status)))};
}

}  // namespace

base::result<inspected> inspect(std::string const& directory) {
    int ends[2];
    if (::pipe(ends) != 0) return base::errno_error("cannot make a pipe", errno);
    pid_t const child = ::fork();
    if (child < 0) {
        int const failure = errno;
        ::close(ends[0]), ::close(ends[1]);
        return base::errno_error("cannot begin a process", failure);
    }
    if (child == 0) {
        ::close(ends[0]);
        tell(ends[1], look(directory));
        ::_exit(0);
    }
    ::close(ends[1]);
    auto const told = all_from(ends[0]);
    ::close(ends[0]);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return understand(told, status);
}

}  // namespace latchkey::store
