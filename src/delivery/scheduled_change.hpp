// The parts of a change that the scheduler of webhooks needs, and the feed from which it reads
// them. Values, any thread.
#pragma once

#include <string_view>

#include "base/function_ref.hpp"
#include "model/change.hpp"
#include "model/id.hpp"

namespace latchkey::delivery {

struct change {
    model::id sequence = 0;
    model::change_type type = model::change_type::user_created;
    std::string_view project;  // of the key or webhook that it is about; empty: none
    model::id subject = 0;     // of webhook.test: the webhook
};

// The changes that are kept, as one snapshot shows them.
class change_feed {
  public:
    virtual model::id last() const = 0;  // the newest sequence; 0: none
    // Visits the changes beyond `after` in order, until the visitor returns false.
    using visitor = base::function_ref<bool(change const&)>;
    virtual void visit(model::id position, visitor visitor) const = 0;

  protected:
    ~change_feed() = default;
};

}  // namespace latchkey::delivery
