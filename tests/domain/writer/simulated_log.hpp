// A shared log with faults, by a seed: appends that are lost, late, doubled or of unknown outcome,
// rows that arrive late, an engine that is away, and nodes that crash around an append. One thread
// runs all nodes, so a seed replays a run exactly.
//
//     simulated_engine engine(seed, {});
//     simulated_log log(engine);           // one for each node
//     … transactions of the nodes, which may throw node_crash …
//     engine.step();                       // between two turns of nodes: what was late happens
//     engine.heal();                       // from now on no faults
#pragma once

#include <random>

#include "memory_log.hpp"

namespace latchkey::domain {

// Chances in a thousand, of each append, call or step.
struct fault_rates {
    unsigned loss = 40;          // the append does not reach the engine, which the node cannot tell
    unsigned late = 40;          // it reaches the engine in a later step, if at all
    unsigned unanswered = 40;    // it is carried out, but the answer is lost
    unsigned doubled = 40;       // it reaches the engine once more in a later step
    unsigned crash_before = 15;  // the node ends
    unsigned crash_after = 15;   // the same, with the row in the log
    unsigned crash_applied = 10;  // the same, with the row in its store
    unsigned unresolved = 300;    // the fate of a row cannot be told yet
    unsigned outage = 30;         // the engine is away from this step on
    unsigned return_ = 300;       // it is back
    unsigned arrival = 400;       // rows arrive at a node that looks for them
    unsigned landing = 300;       // a late append reaches the engine
};

class simulated_engine {
  public:
    explicit simulated_engine(std::uint64_t seed, fault_rates const& rates = {})
        : rates_(rates), random_(seed) {}

    void step();
    void heal();
    std::vector<log_row> const& rows() const { return rows_; }
    std::uint64_t head() const { return rows_.size(); }
    // Of the run: the nodes' driver decides by it too.
    std::uint64_t number(std::uint64_t bound) { return random_() % bound; }
    bool happens(unsigned per_thousand) { return !is_healed_ && number(1000) < per_thousand; }

  private:
    friend class simulated_log;
    bool try_append(log_row const& row);

    fault_rates rates_;
    std::mt19937_64 random_;
    std::vector<log_row> rows_;
    std::vector<log_row> late_rows_;  // on their way to the engine
    bool is_away_ = false, is_healed_ = false;
};

class simulated_log final : public shared_log {
  public:
    explicit simulated_log(simulated_engine& engine) : engine_(engine) {}

    append_result append(log_row const& row) override;
    append_result resolve(log_row const& row) override;
    std::vector<log_row> rows_after(std::uint64_t position, std::size_t bytes_max) override;
    bool fetch(std::uint64_t position) override;
    void applied(std::uint64_t position, row_nonce const&, bool urgent) override;
    std::uint64_t confirmed() const override { return UINT64_MAX; }
    base::wall_ms last_lease_end() const override { return 0; }
    void on_arrival(std::function<void()>) override {}

    // The node begins again: what had arrived is gone.
    void restart() { arrivals_ = 0; }

  private:
    simulated_engine& engine_;
    std::uint64_t arrivals_ = 0;  // rows of the engine that this node has
};

}  // namespace latchkey::domain
