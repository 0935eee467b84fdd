// Who may give what (API §4): a command's caller against the keys that it wants to make or change.
// The command line and a key with `*` may do everything; any other key sees only its own project
// and gives nothing that it does not have itself. Private to the store.
//
//     giver const by(in, whole);
//     if (!by.sees(key)) return missing(whole, …);
//     if (auto const no = by.objection(key.scopes)) return refused(insufficient_scope, *no);
#pragma once

#include <optional>
#include <string>

#include "store/commands.hpp"

namespace latchkey::store {

class giver {
  public:
    giver(transaction& in, command const& whole);

    bool sees(model::key const& other) const;

    // A sentence when the caller may not do it.
    using objection_to = std::optional<std::string>;
    // Touch or make a key with these scopes.
    objection_to objection(model::scope_set const& scopes) const;
    objection_to objection_to_limits(std::vector<model::rate_limit> const& limits) const;
    objection_to objection_to_allowlist(std::vector<model::cidr> const& list) const;
    objection_to objection_to_expiry(base::wall_ms expires_at) const;
    // All four, and the project.
    objection_to objection_to_making(model::key const& made) const;
    // Of a key that changes itself.
    objection_to objection_to_change(model::key const& before, model::key const& after) const;

  private:
    bool unbounded_ = true;
    model::key key_;
};

// Would nobody be left who can manage keys over HTTP if `key` were not there? A key that is being
// rotated out does not count as one that is left.
bool is_last_admin(transaction& in, model::key const& key);

}  // namespace latchkey::store
