#include "domain/admin/inspect.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/system/descriptor.hpp"
#include "domain/admin/check_consistency.hpp"
#include "domain/audit/verify_audit.hpp"
#include "domain/snapshot.hpp"
#include "store/files/master_key.hpp"

namespace latchkey::domain {
namespace {

void send(int descriptor, std::string_view text) {
    while (!text.empty()) {
        auto const count = ::write(descriptor, text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

// The protocol of the child process: a letter and the rest of the line; the last line is "done".
// Faults of pages are sent before anything is read through LMDB.
void inspect_and_send(std::string const& directory, std::string key_file, int descriptor) {
    // The records can be checked without a key that is not usable.
    if (auto const key = load_master_key(directory, key_file, true); !key) {
        send(descriptor, "L" + key.error().message + "\n");
        if (!key_file.empty()) key_file.clear();
    }
    auto const result = environment::open(
        {.directory = directory, .master_key_file = key_file, .read_only = true, .any_time = true});
    if (!result) return send(descriptor, "E" + result.error().message + "\n");
    auto& store = **result;
    if (auto const warning = store.time_ahead()) send(descriptor, "T" + warning->message + "\n");
    std::vector<std::string> locked;
    auto const faults = check_consistency(store, &locked);
    for (auto const& sentence : locked) send(descriptor, "L" + sentence + "\n");
    for (auto const& sentence : faults) send(descriptor, "W" + sentence + "\n");
    auto const audit = verify_audit(store);
    for (auto const& sentence : audit.wrong) send(descriptor, "W" + sentence + "\n");
    std::string numbers;
    domain::snapshot snapshot(store);
    snapshot.renew();
    range const none{.limit = 0};
    auto const users = snapshot.users(none, [](auto const&) {}).total;
    auto const posts = snapshot.posts({}, none, [](auto const&) {}).total;
    auto const keys = snapshot.keys({}, none, [](auto const&, auto) {}).total;
    for (auto const number :
         {users, posts, keys, std::uint64_t{audit.entries}, snapshot.position()})
        numbers += "N" + std::to_string(number) + "\n";
    send(descriptor, numbers + "done\n");
}

std::string read_all(int descriptor) {
    std::string text;
    char buffer[4096];
    for (;;) {
        auto const count = ::read(descriptor, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return text;
        text.append(buffer, static_cast<std::size_t>(count));
    }
}

base::result<inspection_report> parse_report(std::string const& output, int status) {
    inspection_report report;
    std::vector<std::uint64_t> numbers;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        if (line == "done" && numbers.size() == 5) {
            report.users = numbers[0];
            report.posts = numbers[1];
            report.keys = numbers[2];
            report.audit_entries = numbers[3];
            report.position = numbers[4];
            return report;
        }
        auto const rest = line.empty() ? std::string() : line.substr(1);
        if (line.starts_with('E')) {
            if (report.locked.empty()) return base::error{rest};
            return report;  // for want of a usable key
        }
        if (line.starts_with('W')) report.wrong.push_back(rest);
        if (line.starts_with('L')) report.locked.push_back(rest);
        if (line.starts_with('T')) report.time_ahead = rest;
        if (line.starts_with('N')) numbers.push_back(std::stoull(rest));
    }
    auto const reason = "the store is damaged: reading it ended with " +
                        (WIFSIGNALED(status) ? std::string(::strsignal(WTERMSIG(status)))
                                             : "exit code " + std::to_string(WEXITSTATUS(status)));
    if (report.wrong.empty()) return base::error{reason};
    report.wrong.push_back(reason);
    return report;
}

}  // namespace

base::result<inspection_report> inspect(std::string const& directory,
                                        std::string const& master_key_file) {
    int pipe_ends[2];
    if (::pipe(pipe_ends) != 0) return base::errno_error("cannot make a pipe", errno);
    base::descriptor read_end(pipe_ends[0]), write_end(pipe_ends[1]);
    pid_t const child = ::fork();
    if (child < 0) return base::errno_error("cannot begin a process", errno);
    if (child == 0) {
        read_end.close();
        inspect_and_send(directory, master_key_file, write_end.get());
        ::_exit(0);
    }
    write_end.close();
    auto const output = read_all(read_end.get());
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return parse_report(output, status);
}

}  // namespace latchkey::domain
