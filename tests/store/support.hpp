// What the tests of the store share: directories that go away, commands in one line, and waiting
// for the writer on the thread of the test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>

#include "store/environment.hpp"
#include "store/snapshot.hpp"
#include "store/verify.hpp"
#include "store/writer.hpp"

namespace latchkey::store {

class temporary_directory {
  public:
    temporary_directory() {
        std::string name =
            (std::filesystem::temp_directory_path() / "latchkey-store-XXXXXX").string();
        if (::mkdtemp(name.data()) != nullptr) path_ = name;
    }
    ~temporary_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_directory(temporary_directory const&) = delete;
    temporary_directory& operator=(temporary_directory const&) = delete;
    std::string const& path() const { return path_; }

  private:
    std::string path_;
};

inline std::unique_ptr<environment> open_store(std::string const& directory,
                                               std::uint64_t map_bytes = 1u << 30) {
    // Without syncs, since no test but those of crashes needs them.
    auto opened =
        environment::open({.directory = directory, .map_bytes = map_bytes, .sync = false});
    if (!opened) ADD_FAILURE() << opened.error().message;
    return opened ? std::move(opened.value()) : nullptr;
}

// One command on this thread, through the command line's door.
inline outcome one(environment& store, command what) {
    std::vector<command> commands;
    commands.push_back(std::move(what));
    auto outcomes = apply(store, std::move(commands));
    if (!outcomes) ADD_FAILURE() << outcomes.error().message;
    return outcomes ? outcomes.value().at(0) : outcome{.problem = base::problem::internal_error};
}

inline model::user made_user(outcome const& answer) {
    EXPECT_EQ(answer.problem, base::problem::none);
    auto const* const user = std::get_if<model::user>(&answer.record);
    EXPECT_NE(user, nullptr);
    return user != nullptr ? *user : model::user{};
}
inline model::post made_post(outcome const& answer) {
    EXPECT_EQ(answer.problem, base::problem::none);
    auto const* const post = std::get_if<model::post>(&answer.record);
    EXPECT_NE(post, nullptr);
    return post != nullptr ? *post : model::post{};
}
inline model::key made_key(outcome const& answer) {
    EXPECT_EQ(answer.problem, base::problem::none);
    auto const* const key = std::get_if<model::key>(&answer.record);
    EXPECT_NE(key, nullptr);
    return key != nullptr ? *key : model::key{};
}

inline command new_user(std::string name, std::string email) {
    return {.what = create_user{std::move(name), std::move(email)}};
}
inline command new_post(model::id user, std::string title,
                        model::post_status status = model::post_status::draft,
                        std::string body = {}) {
    return {.what = create_post{user, std::move(title), std::move(body), status}};
}
inline model::key key_number(unsigned number, std::initializer_list<std::string_view> scopes = {}) {
    model::key key;
    for (std::size_t i = 0; i < sizeof number; ++i)
        key.digest[i] = static_cast<unsigned char>(number >> (8 * i));
    key.name = "key " + std::to_string(number);
    key.start = "lkeyABCD";
    key.last4 = "wxyz";
    for (auto const scope : scopes) key.scopes.add(scope);
    return key;
}
inline command new_key(model::key record) {
    return {.what = create_key{std::move(record)}};
}

// A user of that number, under an Idempotency-Key of that number and of key 1.
inline command new_user_once(unsigned number) {
    auto const name = "once" + std::to_string(number);
    auto what = new_user(name, name + "@example.org");
    what.once = {1, key_number(number).digest, key_number(number).digest};
    return what;
}

// Waits for one ticket at a time.
class waiter : public coro::executor {
  public:
    void post(coro::resumption&) noexcept override {
        std::lock_guard const lock(mutex_);
        ++posted_;
        changed_.notify_all();
    }
    void wait_for(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return posted_ >= count; });
        posted_ -= count;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t posted_ = 0;
};

inline outcome ask(writer& through, command what) {
    waiter home;
    ticket mine;
    mine.command = std::move(what);
    mine.home = &home;
    if (!through.submit(mine)) return {.problem = base::problem::overloaded};
    home.wait_for(1);
    return mine.outcome;
}

inline void expect_whole(environment& store) {
    for (auto const& sentence : verify(store)) ADD_FAILURE() << sentence;
}

}  // namespace latchkey::store
