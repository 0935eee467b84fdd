// Another process over the same store, for the tests that need one:
//     store-child load DIRECTORY SEED     commands until it is killed; tells what was answered
//     store-child apply DIRECTORY COUNT   that many users, 16 at a time
//     store-child claim DIRECTORY         says why it cannot, or "claimed"
//     store-child doom DIRECTORY USER     deletes one
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/store/support.hpp"

namespace latchkey::store {
namespace {

std::unique_ptr<environment> open_durably(std::string const& directory) {
    auto opened = environment::open({.directory = directory, .map_bytes = 1u << 30});
    if (!opened) {
        std::fprintf(stderr, "%s\n", opened.error().message.c_str());
        std::_Exit(3);
    }
    return std::move(opened.value());
}

// One line for each answer that this process was given: "+u 7", "-u 7", "+p 9", "-p 9".
void tell(char sign, char kind, model::id id) {
    char line[40];
    int const size =
        std::snprintf(line, sizeof line, "%c%c %lld\n", sign, kind, static_cast<long long>(id));
    if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(size)) != size) std::_Exit(4);
}

void load_forever(writer& through, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<model::id> users, posts;
    for (;;) {
        auto const pick = random() % 100;
        if (users.size() < 3 || pick < 20) {
            auto const email = std::to_string(random()) + "@example.org";
            users.push_back(made_user(ask(through, new_user("u", email))).id);
            tell('+', 'u', users.back());
        } else if (pick < 75) {
            auto const user = users[random() % users.size()];
            auto const status = static_cast<model::post_status>(random() % 3);
            posts.push_back(made_post(ask(through, new_post(user, "t", status,
                                                            std::string(random() % 3000, 'b'))))
                                .id);
            tell('+', 'p', posts.back());
        } else if (pick < 95 && !posts.empty()) {
            auto const at = random() % posts.size();
            if (ask(through, {.what = delete_post{posts[at]}}).problem == base::problem::none)
                tell('-', 'p', posts[at]);
            posts.erase(posts.begin() + static_cast<std::ptrdiff_t>(at));
        } else {
            auto const at = random() % users.size();
            if (ask(through, {.what = delete_user{users[at]}}).problem == base::problem::none)
                tell('-', 'u', users[at]);
            users.erase(users.begin() + static_cast<std::ptrdiff_t>(at));
        }
    }
}

int run(std::string const& what, std::string const& directory, std::uint64_t number) {
    auto const store = open_durably(directory);
    if (what == "claim") {
        auto const claimed = store->claim_for_server();
        std::printf("%s\n", claimed ? "claimed" : claimed.error().message.c_str());
        return 0;
    }
    if (what == "doom")
        return one(*store, {.what = delete_user{static_cast<model::id>(number)}}).problem ==
                       base::problem::none
                   ? 0
                   : 5;
    if (what == "apply") {
        for (std::uint64_t i = 0; i < number;) {
            std::vector<command> group;
            for (; group.size() < 16 && i < number; ++i)
                group.push_back(new_user("child", "child" + std::to_string(i) + "@example.org"));
            for (auto const& each : apply(*store, std::move(group)).value())
                if (each.problem != base::problem::none) return 6;
        }
        return 0;
    }
    writer through(*store);
    std::vector<std::thread> all;
    for (std::uint64_t t = 0; t < 3; ++t)
        all.emplace_back([&, t] { load_forever(through, number * 10 + t); });
    for (auto& thread : all) thread.join();
    return 0;
}

}  // namespace
}  // namespace latchkey::store

int main(int count, char** arguments) {
    if (count < 3) return 2;
    return latchkey::store::run(arguments[1], arguments[2],
                                count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 0);
}
