// A store with a clock that a test moves, and the commands of webhooks in one line.
#pragma once

#include <atomic>
#include <fstream>

#include "../support.hpp"
#include "domain/webhooks/webhook_lists.hpp"
#include "domain/webhooks/webhook_record.hpp"
#include "store/environment_state.hpp"

namespace latchkey::domain {

inline std::atomic<std::int64_t> webhook_wall{1'700'000'000'000};

class webhook_store : public testing::Test {
  protected:
    temporary_directory directory_;
    std::unique_ptr<environment> store_ = open();

    std::unique_ptr<environment> open() {
        return environment::open({.directory = directory_.path(),
                                  .map_bytes = 1u << 30,
                                  .sync = false,
                                  .records_changes = true,
                                  .wall = [] { return webhook_wall.load(); }})
            .value();
    }

    static model::webhook_secret secret_of(char letter) {
        return {base::secret(std::string(32, letter)),
                base::secret(std::string(32, static_cast<char>(letter + 1))), 0};
    }
    static model::webhook a_webhook(std::string url = "https://example.com/hook") {
        return {.url = std::move(url), .description = {}, .project = {}};
    }
    outcome apply_one(command::any_action action, model::id caller = 0) {
        command request{.action = std::move(action), .caller = caller};
        if (caller != 0) request.required_scope = model::scope::webhooks_write;
        return one(*store_, std::move(request));
    }
    model::id create(model::webhook record = a_webhook(), model::id caller = 0) {
        auto const answer = apply_one(create_webhook{std::move(record), secret_of('a')}, caller);
        EXPECT_EQ(answer.problem, base::problem::none);
        return told(answer).entry.webhook.id;
    }
    static webhook_outcome told(outcome const& answer) {
        auto const* const result = std::get_if<webhook_outcome>(&answer.record);
        EXPECT_NE(result, nullptr);
        return result != nullptr ? *result : webhook_outcome{};
    }
    template <class Query>
    auto view(Query query) {
        snapshot snapshot(*store_);
        snapshot.renew();
        auto result = query(snapshot);
        damaged_ = snapshot.damaged();
        return result;
    }
    // Some change; returns its sequence.
    model::id change() {
        auto const name = "user" + std::to_string(++users_);
        get_user(one(*store_, new_user(name, name + "@example.org")));
        return view([](snapshot const& snapshot) { return last_change(snapshot); });
    }
    static model::id last_change(snapshot const& snapshot) { return snapshot.changes().last; }
    model::webhook_progress progress(model::id webhook) {
        return view([&](snapshot const& each) { return find_webhook(each, webhook)->progress; });
    }
    std::vector<model::id> pending_sequences(model::id webhook, model::id position = 0) {
        return view([&](snapshot const& each) {
            std::vector<model::id> sequences;
            visit_pending_deliveries(each, webhook, position, [&](model::delivery const& delivery) {
                sequences.push_back(delivery.sequence);
                return true;
            });
            return sequences;
        });
    }
    std::optional<model::delivery> delivery(model::id sequence, model::id webhook) {
        return view([&](snapshot const& each) { return find_delivery(each, sequence, webhook); });
    }
    std::string file() {
        std::ifstream input(directory_.path() + "/store.mdb", std::ios::binary);
        return {std::istreambuf_iterator<char>(input), {}};
    }

    unsigned users_ = 0;
    bool damaged_ = false;
};

}  // namespace latchkey::domain
