// What clients of a run were told, and whether that was true. An engine that fails over without the
// last of what it had promised takes back what nodes had told meanwhile: nothing is expected of
// that.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/entity_tag.hpp"
#include "node.hpp"

namespace latchkey::simulation {

// What happened in all runs: each kind must have.
struct event_counts {
    std::uint64_t acknowledged = 0, behind = 0, replayed = 0, rows = 0, crashes = 0, accepted = 0,
                  refused = 0, limited = 0, confirmed = 0, unconfirmed = 0, lost_rows = 0;
};

class history {
  public:
    history(event_counts& events, engine const& engine) : events_(events), engine_(engine) {}

    void note_answer(request const& answered, node const& teller);
    void note_acceptance(arrival const& request, node const& teller, real_ns now);
    void note_deletion(model::id user) { deletions_.insert(user); }
    // The engine lost rows, and of that node also that it holds a lease.
    void note_loss(real_ns now) { loss_time_ = now; }
    void note_forgotten(unsigned node, real_ns end) { forgotten_until_[node] = end; }

    // At the end.
    void check(store::environment& store) const;

  private:
    struct source {
        identity row{};
        unsigned node = 0;
        real_ns time = 0;
    };
    struct creation {
        source origin;
        std::string name;
        model::id id = 0;
    };
    struct change {
        source origin;
        model::entity_tag tag{};
    };
    struct deactivation {
        source origin;
        model::id key = 0;
        real_ns time = 0;  // from then on nobody accepts it
    };
    struct acceptance {
        arrival request;
        unsigned node = 0;
        real_ns time = 0;
    };

    // The row is one of those that are lost.
    bool is_void(source const& origin) const { return engine_.has_lost(origin.row); }
    void check_users(store::environment& store) const;
    void check_changes() const;
    void check_acceptances() const;
    void check_limit() const;

    event_counts& events_;
    engine const& engine_;
    std::vector<creation> creations_;
    std::vector<change> changes_;
    std::vector<deactivation> deactivations_;
    std::vector<acceptance> acceptances_;
    std::set<model::id> deletions_;
    real_ns loss_time_ = 0;
    std::map<unsigned, real_ns> forgotten_until_;
};

}  // namespace latchkey::simulation
