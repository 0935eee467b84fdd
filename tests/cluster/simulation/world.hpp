// Some nodes over one engine, in one thread and in virtual time. A seed decides whose turn it is,
// how time moves, what clients ask for and what fails. Of limits it shows that nodes keep them
// beside all that; what fails about them alone has a simulation of its own (../quota_simulation.hpp).
//
//     world(seed, directory, events).run();
#pragma once

#include "history.hpp"

namespace latchkey::simulation {

// Of the stores that nodes begin with: keys 1 to key_count, and users.
inline constexpr unsigned key_count = 12;
void make_template(std::string const& directory);

class world {
  public:
    // In `directory` is the template; nodes' directories are made beside it. `is_traced`: what
    // happens is printed.
    world(std::uint64_t seed, std::string const& directory, event_counts& events, bool is_traced);

    void run();

  private:
    void step();
    void pass(node& waiting);
    void turn_of(node& next);
    void write(node& next);
    void read(node& next);
    void end(node& next);
    void start(node& next);
    void route(std::unique_ptr<request> request);
    void take_answers(node& next);
    void compare(node& next);

    void ask();
    domain::command next_command(int number, node& first);
    void fail();
    void fail_process(node& next);
    void fail_engine();
    void lose_promises();

    void settle();
    void go_on_until_settled();
    bool is_settled();
    void check_losers();
    void check();
    void trace(node const* place, std::string const& sentence) const;

    dice dice_;
    event_counts& events_;
    bool const is_traced_;
    real_ns now_ = 0;
    engine engine_;
    std::vector<std::unique_ptr<node>> nodes_;
    history history_;
    std::uint64_t sessions_ = 0;
    int requests_ = 0;
    std::map<unsigned, std::vector<std::unique_ptr<request>>> repeats_;  // for each node's start
    model::id deactivated_ = 0;  // the key that was asked for last; 0: none
    bool may_lose_;
    std::map<identity, std::uint64_t> states_;  // hashes of whole stores, by the last row
    std::map<unsigned, identity> compared_;     // of each node: the row at its last comparison
};

}  // namespace latchkey::simulation
