// What this helper has seen of the nodes: who may hold a lease, and until when. Clocks of machines
// are never compared: a node renews its row by counting, and a watcher times with its own clock how
// long a count has stood still. A lease whose renewal was first seen now began before, so it ends
// within its length from now; a second is added for clocks that run at different speeds.
//
// Nodes are told apart by name and instance: a new data directory under an old name does not end
// the lease of the old one. No I/O; time is an argument; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "helpers/replicate/protocol/replicate_messages.hpp"

namespace latchkey::replicate {

// A line of latchkey_node.
struct node_row {
    std::string name;
    replicate::protocol::identity instance{};
    std::uint64_t position = 0;
    std::uint64_t renewal = 0;
    std::uint32_t lease_ms = 0;
    std::uint32_t schema = 0;
    std::string version;
    bool departed = false;
};

class node_table {
  public:
    // Takes the lines of all nodes, in any order, as they were read from the engine after `now`.
    void observe(std::vector<node_row> const& lines, replicate::protocol::boot_ns now);

    // The position that all nodes but `self` have reached that may hold a lease at `now`; at most
    // `position`. And the last end of the leases of those that are not at `position`.
    replicate::protocol::confirmed confirmation(std::uint64_t position,
                                                replicate::protocol::identity const& self,
                                                replicate::protocol::boot_ns now) const;
    // The lowest position of a node that is alive, joining ones too; at most `position`.
    std::uint64_t lowest_position(std::uint64_t position, replicate::protocol::boot_ns now) const;
    // Is this node the first by name of the living nodes with a lease? That one does the work which
    // one node does for all.
    bool is_first(replicate::protocol::identity const& self,
                  replicate::protocol::boot_ns now) const;

    // nullptr: no line has that name.
    replicate::protocol::node_state const* find(std::string const& name) const;
    std::vector<replicate::protocol::node_state> list(replicate::protocol::boot_ns now) const;

  private:
    using key = std::pair<std::string, replicate::protocol::identity>;

    struct entry {
        replicate::protocol::node_state state;
        bool listed = false;  // the engine still has its line
    };

    static bool is_alive(entry const& entry, replicate::protocol::boot_ns now);

    std::map<key, entry> entries_;
};

}  // namespace latchkey::replicate
