// What latchkey-replicate says to its node, with the engine of a simulation in place of SQL: the
// same order of steps, and the table of nodes that the program has (helpers/replicate/node_table.hpp). Each
// step that waits for the engine there may take several turns here.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "engine.hpp"
#include "helpers/kit/channel.hpp"

namespace latchkey::simulation {

class helper {
  public:
    // `channel` is the helper's end; a new helper goes on with that of the one before.
    helper(engine& engine, dice& dice, machine const& machine, kit::channel& channel,
           std::uint64_t session);
    ~helper() { engine_.release(this); }
    helper(helper const&) = delete;
    helper& operator=(helper const&) = delete;

    void turn();
    // It cannot reach the engine.
    void cut(bool is_cut) { is_cut_ = is_cut; }
    bool has_late_messages() const { return !outbox_.empty(); }

  private:
    enum class stage : std::uint8_t { none, renewing, renewed, lines_read };
    enum class lease_state : std::uint8_t { none, holding, ended };

    void receive();
    void deliver();
    void take(replicate::protocol::envelope parcel);
    void take_follow(replicate::protocol::envelope const& parcel);
    void send(replicate::protocol::message content, std::uint32_t request = 0);
    void stop_for_lost_rows();
    void connect();
    void report_connection();
    void refuse_all();
    void serve_appends();
    void serve(replicate::protocol::envelope const& parcel);
    replicate::protocol::append_result try_append(replicate::protocol::append const& content);
    replicate::protocol::append_result find_fate(replicate::protocol::resolve const& question);
    replicate::protocol::reserved take_reservation(replicate::protocol::reserve const& place,
                                                   std::uint32_t request);
    void advance(std::uint64_t position, identity const& nonce);
    void answer_ask(std::uint32_t request, replicate::protocol::quota_ask const& ask);
    bool is_alive(replicate::protocol::quota_member const& member);
    bool check_position();
    void greet();
    void follow();
    bool finish_stage();
    void begin_renewal();
    std::uint64_t shown_position() const;
    void poll_rows();
    void observe_lines();

    engine& engine_;
    dice& dice_;
    machine const& machine_;
    kit::channel& channel_;
    std::uint64_t session_;
    std::deque<std::pair<cluster::boot_ns, std::string>> outbox_;  // by the time of arrival
    replicate::protocol::configure settings_;
    bool is_configured_ = false, is_stopped_ = false, is_cut_ = false;
    std::uint64_t append_term_ = 0, follow_term_ = 0;  // of the connections; 0: none
    std::optional<bool> told_connected_;
    std::deque<replicate::protocol::envelope> requests_;

    bool tails_ = false, is_unchecked_ = false;
    std::uint64_t position_ = 0, head_ = 0;
    identity nonce_{};
    std::optional<cluster::boot_ns> doubt_time_;  // since when every server lacks rows
    stage stage_ = stage::none;
    lease_state lease_ = lease_state::none;
    cluster::boot_ns lease_time_ = 0, renewal_start_ = 0;
    replicate::node_row renewal_;
    std::uint64_t applied_ = 0, told_ = 0;
    bool is_urgent_ = false;
    cluster::boot_ns applied_time_ = 0, nodes_time_ = 0;
    std::uint64_t watched_ = 0, lines_watched_ = 0;
    std::vector<replicate::node_row> lines_;
    replicate::node_table nodes_;
    std::uint32_t departure_ = 0;

    struct sighting {
        replicate::protocol::quota_member line;
        cluster::boot_ns time = 0;  // since when it is unchanged
    };
    std::map<std::string, sighting> sightings_;
};

}  // namespace latchkey::simulation
