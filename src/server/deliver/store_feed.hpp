// The changes of the store as the scheduler of webhooks reads them, by the dispatcher's snapshot.
#pragma once

#include "store/snapshot.hpp"
#include "webhook/change.hpp"

namespace latchkey::server {

class store_feed final : public webhook::change_feed {
  public:
    explicit store_feed(store::snapshot const& snapshot) : snapshot_(snapshot) {}

    model::id last() const override { return snapshot_.changes().last; }
    void visit(model::id position, visitor visitor) const override {
        snapshot_.changes_after(position, [&](store::change_view const& change) {
            return visitor({.sequence = change.sequence,
                            .type = change.type,
                            .project = change.project,
                            .subject = change.subject});
        });
    }

  private:
    store::snapshot const& snapshot_;
};

}  // namespace latchkey::server
