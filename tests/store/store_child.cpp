// Another process over the same store, for the tests that need one:
//     store-child load DIRECTORY SEED     commands until it is killed; tells what was answered
//     store-child apply DIRECTORY COUNT   that many users, 16 at a time
//     store-child claim DIRECTORY         says why it cannot, or "claimed"
//     store-child once DIRECTORY COUNT    that many users, each under an Idempotency-Key; their ids
//     store-child doom DIRECTORY USER     deletes one
//     store-child renew DIRECTORY COUNT   a snapshot, and what it shows, for who traces it
//     store-child disk DIRECTORY          what happens on a full disk, a small one of its own there
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "support.hpp"

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

// One line for each answer that this process was given: "+u 7", "-u 7", "+p 9 7" (a post and its
// user), "-p 9 0".
void tell(char sign, char kind, model::id id, model::id user = 0) {
    char line[60];
    int const size = std::snprintf(line, sizeof line, "%c%c %lld %lld\n", sign, kind,
                                   static_cast<long long>(id), static_cast<long long>(user));
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
            tell('+', 'p', posts.back(), user);
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

// Exit code 77: this system does not let us mount anything.
void mount_small_disk(std::string const& directory) {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) std::_Exit(77);
    ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=110m,mode=0700") != 0) std::_Exit(77);
}

void expect(bool holds, int code) {
    if (!holds) std::_Exit(code);
}

int fill_disk(environment& store) {
    for (int count = 0;; ++count) {
        auto const answer =
            one(store, new_post(1, "t", model::post_status::draft, std::string(60'000, 'b')));
        if (answer.problem == base::problem::storage_full) return count;
        expect(answer.problem == base::problem::none, 10);
    }
}

// What others do with the rest of the disk.
void eat_disk(std::string const& directory) {
    int const to = ::open((directory + "/eaten").c_str(), O_WRONLY | O_CREAT, 0600);
    std::string const bytes(1 << 16, 'x');
    while (::write(to, bytes.data(), bytes.size()) > 0) continue;
    ::close(to);
}

int run_on_small_disk(std::string const& directory) {
    mount_small_disk(directory);
    int count = 0;
    {
        auto const store = open_durably(directory);
        made_user(one(*store, new_user("Ann", "ann@example.org")));
        count = fill_disk(*store);
        expect(count > 100, 11);
        eat_disk(directory);
        expect(one(*store, {.what = delete_post{1}}).problem == base::problem::none, 12);
    }
    // A new process finds the blocks that the last one asked for.
    auto const store = open_durably(directory);
    auto const full = one(*store, new_user("Bob", "bob@example.org")).problem;
    expect(full == base::problem::storage_full, 13);
    auto const delete_posts = [&](int from, int to) {
        for (int i = from; i < to; ++i)
            expect(one(*store, {.what = delete_post{i}}).problem == base::problem::none, 14);
    };
    // What the deletions freed is room again, though the disk is as full as before.
    delete_posts(2, 60);
    expect(one(*store, new_user("Bob", "bob@example.org")).problem == base::problem::none, 15);
    delete_posts(60, count + 1);
    expect(verify(*store).empty(), 16);
    expect(fill_disk(*store) > 10, 17);
    expect(verify(*store).empty(), 18);
    return 0;
}

// Renews a snapshot as often, and stops before and behind each time for who traces it.
int renew_watched(environment& store, std::uint64_t times) {
    snapshot seen(store);
    seen.renew();
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 77;
    for (std::uint64_t i = 0; i < times; ++i) {
        seen.reset();
        ::raise(SIGSTOP);
        seen.renew();
        ::raise(SIGSTOP);
        auto const total = seen.users({}, [](auto const&) {}).total;
        std::printf("%" PRIu64 " %" PRIu64 "\n", seen.version(), total);
        std::fflush(stdout);
    }
    return 0;
}

int run(std::string const& what, std::string const& directory, std::uint64_t number) {
    if (what == "disk") return run_on_small_disk(directory);
    auto const store = open_durably(directory);
    if (what == "claim") {
        auto const claimed = store->claim_for_server();
        std::printf("%s\n", claimed ? "claimed" : claimed.error().message.c_str());
        return 0;
    }
    if (what == "renew") return renew_watched(*store, number);
    if (what == "doom")
        return one(*store, {.what = delete_user{static_cast<model::id>(number)}}).problem ==
                       base::problem::none
                   ? 0
                   : 5;
    if (what == "once") {
        for (std::uint64_t i = 0; i < number; ++i)
            tell('+', 'u', made_user(one(*store, new_user_once(static_cast<unsigned>(i)))).id);
        return 0;
    }
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
