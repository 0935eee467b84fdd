// The cost of a durable write alone: creates users, one per commit, on one thread, with the
// commands that the server groups.
//
//     commits DATA SECONDS      prints {"commits":…,"seconds":…}; adds users to the store
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/clock.hpp"
#include "domain/writer.hpp"
#include "store/environment.hpp"

using namespace latchkey;

int main(int count, char** arguments) {
    if (count != 3) {
        std::fprintf(stderr, "commits DATA SECONDS\n");
        return 2;
    }
    auto environment = store::environment::open({.directory = arguments[1]});
    if (!environment) {
        std::fprintf(stderr, "commits: %s\n", environment.error().message.c_str());
        return 1;
    }
    auto const begin = base::read_clocks();
    auto const end = begin.mono + static_cast<base::mono_ns>(std::atof(arguments[2]) * 1e9);
    std::uint64_t commits = 0;
    auto now = begin.mono;
    for (; now < end; now = base::read_clocks().mono) {
        auto const email =
            "commit" + std::to_string(begin.wall) + "x" + std::to_string(commits) + "@example.com";
        std::vector<domain::command> commands(1);
        commands.front().action = domain::create_user{"Ada Lovelace", email};
        auto const outcomes = domain::apply(**environment, std::move(commands));
        if (!outcomes || outcomes->front().problem != base::problem::none) {
            std::fprintf(stderr, "commits: a user was refused\n");
            return 1;
        }
        ++commits;
    }
    std::printf("{\"commits\":%llu,\"seconds\":%.6f}\n", static_cast<unsigned long long>(commits),
                static_cast<double>(now - begin.mono) / 1e9);
}
