// What the helper has said of itself and of the engine. Guarded by its client's mutex.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"

namespace latchkey::cluster {

struct engine_state {
    bool is_ready = false;      // the helper has joined the cluster
    bool is_connected = false;  // to the engine
    std::optional<replicate::protocol::ready> last_ready;
    std::optional<replicate::protocol::failed> fatal;
    std::optional<replicate::protocol::failed> complaint;  // not fatal, and the last one
    std::string text;                                      // of the connection

    // The engine is reached, and has nothing against this node.
    bool is_usable() const { return is_ready && is_connected && !fatal; }
    bool has_no_cluster() const {
        return complaint && complaint->reason == replicate::protocol::failure::no_cluster;
    }
    base::error reason_of_silence() const {
        if (fatal) return base::error{fatal->text};
        if (complaint && !is_ready) return base::error{complaint->text};
        if (!is_connected && !text.empty())
            return base::error{"the engine cannot be reached: " + text};
        return base::error{"the engine did not answer in time"};
    }
};

}  // namespace latchkey::cluster
