// Which changes a webhook asks for (api.md §17).
#pragma once

#include <string>

#include "delivery/scheduled_change.hpp"
#include "domain/changes/change_types.hpp"
#include "model/webhook.hpp"

namespace latchkey::delivery {

class change_filter {
  public:
    explicit change_filter(model::webhook const& webhook)
        : webhook_(webhook.id), project_(webhook.project) {
        for (auto const& pattern : webhook.types) types_.add(pattern);
    }

    domain::change_types const& types() const { return types_; }
    bool wants(change const& change) const {
        if (change.type == model::change_type::webhook_test) return change.subject == webhook_;
        if (!types_.has(change.type)) return false;
        if (project_.empty() || change.project == project_) return true;
        return !model::is_about_key(change.type) &&
               change.type != model::change_type::webhook_disabled;
    }

  private:
    model::id webhook_;
    domain::change_types types_;
    std::string project_;  // empty: of all projects
};

}  // namespace latchkey::delivery
