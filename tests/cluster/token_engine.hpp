// A node's quota with an engine in memory, which answers at once where a test says so.
//
//     token_engine engine;
//     engine.node().admit(…);    // pending
//     engine.answer(now);        // what the node asks is answered
#pragma once

#include <memory>
#include <string>

#include "cluster/quota.hpp"
#include "helpers/replicate/protocol/quota_grant.hpp"

namespace latchkey::cluster {

class token_engine {
  public:
    token_engine() : node_(quota::make({.node = "a", .process = 1, .keys = 1024}).value()) {}

    quota& node() { return *node_; }

    void answer(boot_ns now) {
        while (auto const question = node_->next_ask(now)) {
            if (is_away)
                node_->on_lost(question->id, now);
            else
                node_->on_answer(question->id,
                                 replicate::protocol::grant(rows_, question->ask, "a",
                                                            [](auto&) { return true; }),
                                 now);
        }
    }
    bool is_away = false;  // it refuses

  private:
    std::unique_ptr<quota> node_;
    replicate::protocol::quota_rows rows_;
};

}  // namespace latchkey::cluster
