// The store as the scheduler of webhooks sees it: changes, and what was committed of webhooks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "delivery/delivery_schedule.hpp"

namespace latchkey::delivery {

class fake_store final : public change_feed {
  public:
    struct entry {
        model::webhook webhook;
        model::webhook_progress progress;
        std::map<model::id, model::delivery> deliveries;
        std::map<std::uint64_t, model::webhook_replay> replays;
    };

    // Begins with the change after the last one.
    model::webhook& add(model::id id);
    model::id change(model::change_type type = model::change_type::user_created,
                     std::string project = {}, model::id subject = 0);
    void replay(model::id webhook, model::id first, model::id last);
    void forget_before(model::id sequence);  // changes
    void commit(std::vector<report> const& reports);
    entry& of(model::id webhook) { return entries.at(webhook); }
    // Adds the enabled webhooks to the schedule, and retires the others.
    void load_into(delivery_schedule& schedule) const;

    model::id last() const override { return last_; }
    void visit(model::id position, visitor visitor) const override;
    bool keeps(model::id sequence) const { return changes_.contains(sequence); }
    std::size_t reads() const { return reads_; }

    std::map<model::id, entry> entries;

  private:
    struct retained_range {
        model::change_type type;
        std::string project;
        model::id subject;
    };
    std::map<model::id, retained_range> changes_;
    model::id last_ = 0;
    std::uint64_t last_ordinal_ = 0;
    mutable std::size_t reads_ = 0;
};

}  // namespace latchkey::delivery
