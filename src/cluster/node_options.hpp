// Which node of which cluster a process is. Values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cluster/lease.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"
#include "store/shared_log.hpp"

namespace latchkey::cluster {

// For simulations, which move time themselves: a node with it has no thread.
struct virtual_time {
    boot_ns (*boot)() = nullptr;         // of the node's machine
    base::wall_ms (*clock)() = nullptr;  // the same
    std::function<void()> pass;          // called instead of waiting, without any lock
};

struct node_options {
    std::string conninfo;  // of the engine, as libpq takes it
    std::string name;      // unique within the cluster
    replicate::protocol::identity instance{};
    store::cluster_id cluster{};  // zeros: the one that the engine has
    replicate::protocol::key_digest key_check{};
    std::string version;
    std::uint32_t schema = 0;
    // 0: a command, which holds no lease and which nobody waits for.
    std::uint32_t lease_ms = 0;
    std::optional<virtual_time> time;  // none: the machine's
};

}  // namespace latchkey::cluster
