// Shared by the tests of the store: temporary directories, commands in one line, and an executor
// that waits for the writer on the thread of the test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>

#include "domain/admin/check_consistency.hpp"
#include "domain/snapshot.hpp"
#include "domain/store_terms.hpp"
#include "domain/writer.hpp"
#include "store/environment.hpp"

namespace latchkey::domain {

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
    // Without syncs, which only the crash tests need.
    auto store = environment::open({.directory = directory, .map_bytes = map_bytes, .sync = false});
    if (!store) ADD_FAILURE() << store.error().message;
    return store ? std::move(store.value()) : nullptr;
}

// Applies one command on this thread, as the command line does.
inline outcome one(environment& store, command request) {
    std::vector<command> commands;
    commands.push_back(std::move(request));
    auto outcomes = apply(store, std::move(commands));
    if (!outcomes) ADD_FAILURE() << outcomes.error().message;
    return outcomes ? outcomes.value().at(0) : outcome{.problem = base::problem::internal_error};
}

inline model::user get_user(outcome const& answer) {
    EXPECT_EQ(answer.problem, base::problem::none);
    auto const* const user = std::get_if<model::user>(&answer.record);
    EXPECT_NE(user, nullptr);
    return user != nullptr ? *user : model::user{};
}
inline model::post get_post(outcome const& answer) {
    EXPECT_EQ(answer.problem, base::problem::none);
    auto const* const post = std::get_if<model::post>(&answer.record);
    EXPECT_NE(post, nullptr);
    return post != nullptr ? *post : model::post{};
}
inline model::key get_key(outcome const& answer) {
    EXPECT_EQ(answer.problem, base::problem::none);
    auto const* const revoked = std::get_if<revocation>(&answer.record);
    auto const* const key =
        revoked != nullptr ? &revoked->key : std::get_if<model::key>(&answer.record);
    EXPECT_NE(key, nullptr);
    return key != nullptr ? *key : model::key{};
}

inline command new_user(std::string name, std::string email) {
    return {.action = create_user{std::move(name), std::move(email)}};
}
inline command new_post(model::id user, std::string title,
                        model::post_status status = model::post_status::draft,
                        std::string body = {}) {
    return {.action = create_post{user, std::move(title), std::move(body), status}};
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
    return {.action = create_key{std::move(record)}};
}

// Creates user `number` under Idempotency-Key `number` of key 1.
inline command new_user_once(unsigned number) {
    auto const name = "once" + std::to_string(number);
    auto request = new_user(name, name + "@example.org");
    request.idempotency = {1, key_number(number).digest, key_number(number).digest};
    return request;
}

// Counts answered tickets.
class ticket_waiter : public coro::executor {
  public:
    void post(coro::resumption&) noexcept override {
        std::lock_guard const lock(mutex_);
        ++posted_;
        condition_.notify_all();
    }
    void wait_for(std::size_t count) {
        std::unique_lock lock(mutex_);
        condition_.wait(lock, [&] { return posted_ >= count; });
        posted_ -= count;
    }

  private:
    std::mutex mutex_;
    std::condition_variable condition_;
    std::size_t posted_ = 0;
};

inline outcome ask(writer& writer, command request) {
    ticket_waiter executor;
    ticket pending;
    pending.command = std::move(request);
    pending.executor = &executor;
    if (!writer.submit(pending)) return {.problem = base::problem::overloaded};
    executor.wait_for(1);
    return pending.outcome;
}

inline void expect_sound(environment& store) {
    for (auto const& sentence : check_consistency(store)) ADD_FAILURE() << sentence;
}

}  // namespace latchkey::domain
