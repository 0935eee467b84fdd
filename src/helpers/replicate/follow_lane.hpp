// What goes on beside the appends: the rows of others (polled), this node's leases, the positions
// of the others, questions about the cluster. Each step is one short round trip, so none waits long
// for another; a step whose connection breaks is due again on the next one.
//
// A lease: this node's line is renewed and committed, then the head is read. A row above that head
// was committed after the renewal could be seen, so a node that waits for the row to be applied
// everywhere sees the renewal, and waits for this node.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "helpers/replicate/engine_connection.hpp"
#include "helpers/replicate/lane_context.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"
#include "runtime/coro/task.hpp"

namespace latchkey::replicate {

class follow_lane {
  public:
    explicit follow_lane(context& shared);

    // tail, begin_lease, applied, watch, leave, status.
    void take(replicate::protocol::envelope request);
    // This node reads the state at `position`: its line keeps the rows after it from being removed.
    void join(std::uint64_t position);
    // A cluster was made: looks at once.
    void look_again();

    coro::task<> run();

  private:
    enum class lease_state : std::uint8_t { none, joining, holding, ended };
    struct departure {
        std::uint32_t request = 0;
        std::string node;
        std::uint64_t renewal = 0;
        bool in_progress = false;
    };

    coro::task<> follow();
    base::mono_ns next_step() const;
    // False: the connection is lost, or something went wrong that ends it.
    coro::task<bool> take_steps();
    coro::task<bool> greet();
    coro::task<bool> check_cluster();
    coro::task<bool> check_position(bool gap);
    void doubt_host();
    coro::task<bool> poll_rows();
    coro::task<bool> renew();
    coro::task<bool> take_over();
    coro::task<bool> write_position();
    std::uint64_t shown_position() const;
    coro::task<bool> poll_nodes();
    coro::task<bool> depart(departure* leaving);
    coro::task<bool> report_status(std::uint32_t request);
    void tell_confirmation();
    void refuse_all(replicate::protocol::failure reason, std::string const& text);
    bool keep(engine_error const& error);

    context& shared_;
    engine_connection engine_;
    std::string complaint_;     // why there is no cluster, told once
    std::string engine_error_;  // what the engine answered last instead of an answer, told once

    base::mono_ns connection_time_ = 0;  // when it was made
    // Since when each server that was reached lacks rows that this node has applied.
    std::optional<replicate::protocol::boot_ns> doubt_time_;

    bool tailing_ = false;
    std::uint64_t first_ = 0;  // the log has all rows after it
    base::mono_ns tail_interval_;
    base::mono_ns tail_time_ = 0;

    lease_state lease_ = lease_state::none;
    base::mono_ns lease_time_ = 0;
    std::optional<std::uint64_t> renewal_;  // the last one, if it is known
    std::uint64_t foreign_renewal_ = 0;     // of another instance under this name, when first seen
    bool foreign_ = false;

    // The last row that the server of this connection is known to have as this node has it.
    std::uint64_t server_position_ = 0;
    std::uint64_t applied_ = 0, applied_told_ = 0;
    bool applied_urgent_ = false;
    base::mono_ns applied_time_ = 0;

    std::uint64_t watched_ = 0;
    std::optional<replicate::protocol::confirmed> confirmation_;
    base::mono_ns watch_start_ = 0, nodes_time_ = 0, nodes_told_ = 0;

    std::vector<departure> departures_;
    std::vector<std::uint32_t> status_requests_;
};

}  // namespace latchkey::replicate
