// A second process over a store, for the tests that need one:
//
//     store-child load DIRECTORY SEED     commands until it is killed; prints each answer
//     store-child apply DIRECTORY COUNT   creates users, 16 per group
//     store-child claim DIRECTORY         prints "claimed", or why it cannot
//     store-child once DIRECTORY COUNT    creates users under Idempotency-Keys; prints their ids
//     store-child doom DIRECTORY USER     deletes a user
//     store-child renew DIRECTORY COUNT   renews a snapshot for a tracer; prints what it shows
//     store-child disk DIRECTORY          behaviour on a full disk: a small one, mounted there
//     store-child holes DIRECTORY         the same, where no free pages are adjacent
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

namespace latchkey::domain {
namespace {

std::unique_ptr<environment> open_durably(std::string const& directory) {
    auto store = environment::open({.directory = directory, .map_bytes = 1u << 30});
    if (!store) {
        std::fprintf(stderr, "%s\n", store.error().message.c_str());
        std::_Exit(3);
    }
    return std::move(store.value());
}

// Prints one line per answer: "+u 7", "-u 7", "+p 9 7" (a post and its user), "-p 9 0".
void report(char sign, char kind, model::id id, model::id user = 0) {
    char line[60];
    int const size = std::snprintf(line, sizeof line, "%c%c %lld %lld\n", sign, kind,
                                   static_cast<long long>(id), static_cast<long long>(user));
    if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(size)) != size) std::_Exit(4);
}

void load_forever(writer& writer, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<model::id> users, posts;
    for (;;) {
        auto const choice = random() % 100;
        if (users.size() < 3 || choice < 20) {
            auto const email = std::to_string(random()) + "@example.org";
            users.push_back(get_user(ask(writer, new_user("u", email))).id);
            report('+', 'u', users.back());
        } else if (choice < 75) {
            auto const user = users[random() % users.size()];
            auto const status = static_cast<model::post_status>(random() % 3);
            posts.push_back(get_post(ask(writer, new_post(user, "t", status,
                                                          std::string(random() % 3000, 'b'))))
                                .id);
            report('+', 'p', posts.back(), user);
        } else if (choice < 95 && !posts.empty()) {
            auto const index = random() % posts.size();
            if (ask(writer, {.action = delete_post{posts[index]}}).problem == base::problem::none)
                report('-', 'p', posts[index]);
            posts.erase(posts.begin() + static_cast<std::ptrdiff_t>(index));
        } else {
            auto const index = random() % users.size();
            if (ask(writer, {.action = delete_user{users[index]}}).problem == base::problem::none)
                report('-', 'u', users[index]);
            users.erase(users.begin() + static_cast<std::ptrdiff_t>(index));
        }
    }
}

// Exit code 77: mounting is not permitted on this system.
void mount_small_disk(std::string const& directory, char const* options) {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) std::_Exit(77);
    ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("tmpfs", directory.c_str(), "tmpfs", 0, options) != 0) std::_Exit(77);
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

// Uses up the rest of the disk, as other programs may.
void fill_rest_of_disk(std::string const& directory) {
    int const descriptor = ::open((directory + "/eaten").c_str(), O_WRONLY | O_CREAT, 0600);
    std::string const bytes(1 << 16, 'x');
    while (::write(descriptor, bytes.data(), bytes.size()) > 0) continue;
    ::close(descriptor);
}

int run_on_small_disk(std::string const& directory) {
    mount_small_disk(directory, "size=110m,mode=0700");
    int count = 0;
    {
        auto const store = open_durably(directory);
        get_user(one(*store, new_user("Ann", "ann@example.org")));
        count = fill_disk(*store);
        expect(count > 100, 11);
        fill_rest_of_disk(directory);
        expect(one(*store, {.action = delete_post{1}}).problem == base::problem::none, 12);
    }
    // A new process finds the blocks that the last one reserved.
    auto const store = open_durably(directory);
    auto const refusal = one(*store, new_user("Bob", "bob@example.org")).problem;
    expect(refusal == base::problem::storage_full, 13);
    auto const delete_posts = [&](int first, int end) {
        for (int i = first; i < end; ++i)
            expect(one(*store, {.action = delete_post{i}}).problem == base::problem::none, 14);
    };
    // The pages that the deletions freed are usable, though the disk is as full as before.
    delete_posts(2, 60);
    expect(one(*store, new_user("Bob", "bob@example.org")).problem == base::problem::none, 15);
    delete_posts(60, count + 1);
    expect(check_consistency(*store).empty(), 16);
    expect(fill_disk(*store) > 10, 17);
    expect(check_consistency(*store).empty(), 18);
    return 0;
}

base::problem post_of(environment& store, std::size_t bytes) {
    return one(store, new_post(1, "t", model::post_status::draft, std::string(bytes, 'b'))).problem;
}

// Creates posts of that length, many per transaction, until one is refused; returns their number.
int fill_disk_with(environment& store, std::size_t bytes) {
    for (int count = 0;;) {
        std::vector<command> group;
        for (int i = 0; i < 64; ++i)
            group.push_back(new_post(1, "t", model::post_status::draft, std::string(bytes, 'b')));
        auto const answers = apply(store, std::move(group)).value();
        for (auto const& answer : answers) {
            if (answer.problem == base::problem::storage_full) return count;
            expect(answer.problem == base::problem::none, 10);
            ++count;
        }
    }
}

void delete_posts(environment& store, model::id first, model::id last, model::id step) {
    for (auto id = first; id <= last;) {
        std::vector<command> group;
        for (; group.size() < 64 && id <= last; id += step)
            group.push_back({.action = delete_post{id}});
        auto const answers = apply(store, std::move(group)).value();
        for (auto const& answer : answers) expect(answer.problem == base::problem::none, 14);
    }
}

// Deletes every second post of a disk full of one-page posts: more than half is free then, but a
// long post needs adjacent pages.
int run_on_disk_with_holes(std::string const& directory) {
    mount_small_disk(directory, "size=300m,mode=0700");
    auto store = open_durably(directory);
    get_user(one(*store, new_user("Ann", "ann@example.org")));
    auto const count = fill_disk_with(*store, 3000);
    expect(count > 10'000, 11);
    delete_posts(*store, 1, count, 2);
    for (int starts = 0; starts < 3; ++starts) {
        fill_disk_with(*store, 65'000);
        expect(post_of(*store, 65'000) == base::problem::storage_full, 12);
        store.reset();
        if (starts == 0) fill_rest_of_disk(directory);
        store = open_durably(directory);
    }
    expect(post_of(*store, 1000) == base::problem::none, 13);
    expect(one(*store, new_user("Bob", "bob@example.org")).problem == base::problem::none, 15);
    delete_posts(*store, 2, count / 2, 2);
    for (int i = 0; i < 50; ++i) expect(post_of(*store, 65'000) == base::problem::none, 17);
    expect(check_consistency(*store).empty(), 18);
    return 0;
}

// Renews a snapshot `times` times, and stops before and after each one for the tracer.
int renew_traced(environment& store, std::uint64_t times) {
    domain::snapshot snapshot(store);
    snapshot.renew();
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 77;
    for (std::uint64_t i = 0; i < times; ++i) {
        snapshot.reset();
        ::raise(SIGSTOP);
        snapshot.renew();
        ::raise(SIGSTOP);
        auto const total = snapshot.users({}, [](auto const&) {}).total;
        std::printf("%" PRIu64 " %" PRIu64 "\n", snapshot.version(), total);
        std::fflush(stdout);
    }
    return 0;
}

int run_child(std::string const& mode, std::string const& directory, std::uint64_t number) {
    if (mode == "disk") return run_on_small_disk(directory);
    if (mode == "holes") return run_on_disk_with_holes(directory);
    auto const store = open_durably(directory);
    if (mode == "claim") {
        auto const claim = store->claim_for_server();
        std::printf("%s\n", claim ? "claimed" : claim.error().message.c_str());
        return 0;
    }
    if (mode == "renew") return renew_traced(*store, number);
    if (mode == "doom")
        return one(*store, {.action = delete_user{static_cast<model::id>(number)}}).problem ==
                       base::problem::none
                   ? 0
                   : 5;
    if (mode == "once") {
        for (std::uint64_t i = 0; i < number; ++i)
            report('+', 'u', get_user(one(*store, new_user_once(static_cast<unsigned>(i)))).id);
        return 0;
    }
    if (mode == "apply") {
        for (std::uint64_t i = 0; i < number;) {
            std::vector<command> group;
            for (; group.size() < 16 && i < number; ++i)
                group.push_back(new_user("child", "child" + std::to_string(i) + "@example.org"));
            for (auto const& each : apply(*store, std::move(group)).value())
                if (each.problem != base::problem::none) return 6;
        }
        return 0;
    }
    domain::writer writer(*store);
    std::vector<std::thread> all;
    for (std::uint64_t t = 0; t < 3; ++t)
        all.emplace_back([&, t] { load_forever(writer, number * 10 + t); });
    for (auto& thread : all) thread.join();
    return 0;
}

}  // namespace
}  // namespace latchkey::domain

int main(int count, char** arguments) {
    if (count < 3) return 2;
    return latchkey::domain::run_child(arguments[1], arguments[2],
                                       count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 0);
}
