// The changes of the store as the scheduler of webhooks reads them, by the dispatcher's snapshot.
#pragma once

#include "delivery/scheduled_change.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::delivery {

class store_feed final : public delivery::change_feed {
  public:
    explicit store_feed(domain::snapshot const& snapshot) : snapshot_(snapshot) {}

    model::id last() const override { return snapshot_.changes().last; }
    void visit(model::id position, visitor visitor) const override {
        snapshot_.changes_after(position, [&](domain::change_view const& change) {
            return visitor({.sequence = change.sequence,
                            .type = change.type,
                            .project = change.project,
                            .subject = change.subject});
        });
    }

  private:
    domain::snapshot const& snapshot_;
};

}  // namespace latchkey::delivery
