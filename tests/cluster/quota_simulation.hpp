// Rate limits across nodes in virtual time: nodes with clocks of their own, whose rates differ too,
// and an engine that answers late, loses asks and answers, stands still and then carries out what
// has queued up, and fails over to a server with another time of day. Nodes are cut off, stopped,
// end, come back as another process; limits are patched. Everything follows from the seed.
//
// Each admission is recorded at its real time, and the promise is checked over all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "base/time_units.hpp"
#include "cluster/quota.hpp"
#include "cluster/quota_purse.hpp"
#include "helpers/replicate/protocol/quota_grant.hpp"
#include "quota_promise.hpp"

namespace latchkey::cluster {

// What a wrong implementation would do; tests show that the check notices it.
enum class sabotage : std::uint8_t {
    nothing,
    engine_clock,  // buckets are measured with the engine's time of day
    no_reserve,    // nothing is kept for silent members
    no_hold,       // tokens are charged as if they were spent at once
    no_lag         // an estimate that lags behind is taken for exact
};

struct scenario {
    std::uint64_t seed = 1;
    std::size_t nodes = 3;
    real_ns duration = 30 * base::second;
    bool has_faults = true;
    sabotage fault = sabotage::nothing;
    std::vector<model::rate_limit> limits;  // of the only key; empty: some keys by the seed
    std::vector<double> demand;             // requests per second by node
    real_ns latency = 0;                    // one way; 0: by the seed
    // The first node loses the engine between, if that is all that is to fail.
    real_ns cut_start = 0, cut_end = 0;
};

// What became of the requests for one limit.
struct key_report {
    std::vector<model::rate_limit> limits;
    struct epoch {  // of one setting, in force on all nodes
        std::vector<model::rate_limit> limits;
        real_ns start = 0, end = 0;
    };
    std::vector<epoch> epochs;
    std::vector<real_ns> admissions;  // in their order
    std::uint64_t requests = 0, refusals = 0, behind = 0, waits = 0;
    std::uint64_t requests_early = 0;  // in the first minute
};

class simulation {
  public:
    explicit simulation(scenario const& settings);
    ~simulation();

    void run();

    std::vector<key_report> const& keys() const { return keys_; }
    // Of all keys, limits and settings; 0 or less: the promise was kept.
    double excess_max() const;
    quota::counters total() const;
    real_ns wait_max() const { return wait_max_; }
    std::uint64_t events() const { return sequence_; }

  private:
    struct node;
    struct event {
        real_ns time = 0;
        std::uint64_t order = 0;
        std::function<void()> act;
        bool operator<(event const& other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };

    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    bool one_in(std::uint64_t count) { return below(count) == 0; }
    void at(real_ns time, std::function<void()> act);
    real_ns latency();

    void choose_keys();
    void choose_faults();
    void choose_fault(real_ns time);
    void patch(std::size_t key, real_ns time);
    void start(node& target);
    void end(node& target);

    void begin_requests(node& target, std::size_t key);
    void request(node& target, std::size_t key);
    bool settle(node& target, std::size_t key, quota_ticket& ticket, real_ns start);
    void retry(node& target);
    void turn(node& target);
    void deliver(std::size_t index, std::uint64_t process, quota::question question);
    void carry_out(std::size_t index, std::uint64_t process, quota::question const& question);
    void take_answer(std::size_t index, std::uint64_t process, real_ns time, std::uint32_t id,
                     replicate::protocol::quota_answer const& answer);
    bool is_alive(replicate::protocol::quota_member const& member) const;
    void renew_lease(node& target);

    scenario const settings_;
    std::mt19937_64 random_;
    real_ns now_ = 0;
    std::uint64_t sequence_ = 0;
    std::priority_queue<event> events_;
    std::vector<std::unique_ptr<node>> nodes_;
    std::vector<key_report> keys_;
    std::vector<std::vector<double>> demand_;  // by key, node

    replicate::protocol::quota_rows rows_;
    real_ns latency_ = 0;
    real_ns engine_stop_ = 0;        // until then nothing is carried out
    bool loses_ = false;             // what arrives meanwhile is lost
    std::int64_t engine_clock_ = 0;  // of its time of day beyond the real time
    quota::counters past_{};
    real_ns wait_max_ = 0;
};

}  // namespace latchkey::cluster
