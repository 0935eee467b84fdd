// What the lanes of a helper share: the way to the node, the settings that it gave, and what is
// known of the log. A lane is a coroutine with a connection of its own:
//
//     append_lane    appends, which wait behind nothing else
//     follow_lane    tail, leases, positions of the others
//     state_lane     the folded state: long work, its connection open only when it is needed
//     quota_lane     tokens of limits
//
// One thread; lives as long as the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "helpers/kit/channel.hpp"
#include "helpers/replicate/conninfo.hpp"
#include "helpers/replicate/node_table.hpp"
#include "helpers/replicate/poller.hpp"
#include "helpers/replicate/postgres_connection.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"

namespace latchkey::replicate {

replicate::protocol::boot_ns read_boot_clock();

// Messages to the node.
class outbox {
  public:
    explicit outbox(kit::channel& channel) : channel_(channel) {}

    void send(replicate::protocol::message content, std::uint32_t request = 0);
    // failed{}: the answer to a request, or with 0 a word on the whole.
    void fail(replicate::protocol::failure reason, std::string text, std::uint32_t request = 0);
    // The node takes less than is sent: what can wait should.
    bool is_full() const;
    // Something was queued since the last flush.
    signal& news() { return news_; }

  private:
    kit::channel& channel_;
    signal news_;
};

struct context {
    explicit context(kit::channel& channel) : out(channel) {}

    // Says so once, and ends the work of all lanes; requests are refused from now on.
    void stop_for_good(replicate::protocol::failure reason, std::string text);
    // The row at `position` has that nonce, and this node has it or will get it.
    void advance(std::uint64_t position, replicate::protocol::identity const& nonce);
    // A lane has or lost its connection: `engine` is sent when that changes for all of them.
    void report(bool& lane_connected, bool connected, std::string const& text);

    replicate::poller poller;
    outbox out;
    replicate::protocol::configure settings;
    conninfo target;

    bool configured = false;
    bool stopped = false;
    replicate::protocol::failed stop_reason;
    bool append_connected = false, follow_connected = false;
    std::optional<bool> engine_told;
    std::string engine_text;

    // Once the cluster was found and is the right one.
    std::optional<replicate::protocol::identity> cluster;
    std::uint64_t head = 0;
    std::uint64_t folded = 0;
    node_table nodes;

    // The last row that was sent to the node or appended by it, and its nonce.
    std::uint64_t position = 0;
    replicate::protocol::identity nonce{};
    // That row is to be held against the log: a tail began, or the log has another one there.
    bool unchecked = false;

    signal follow_news;  // for the follow_lane: something of the above or a request
};

}  // namespace latchkey::replicate
