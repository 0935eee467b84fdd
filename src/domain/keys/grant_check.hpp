// Which keys a command's caller may create or change (api.md §4). The command line and a key with
// the scope `*` may do everything; any other key sees only its own project and grants nothing that
// it does not have itself. Private to the domain.
//
//     grant_check const grants(txn, command);
//     if (!grants.can_see(key)) return reject_missing(command, …);
//     if (auto reason = grants.scope_denial(key.scopes))
//         return reject(problem::insufficient_scope, std::move(*reason));
#pragma once

#include <optional>
#include <string>

#include "domain/command.hpp"
#include "model/key.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

class grant_check {
  public:
    grant_check(transaction& txn, command const& command);

    bool can_see(model::key const& other) const { return can_see(other.project); }
    // May the caller see what belongs to `project`? Empty: what belongs to all projects.
    bool can_see(std::string_view project) const;
    // The project that the caller is confined to; empty: to none.
    std::string_view project() const;
    // Does the caller have this scope too?
    bool allows(model::scope scope) const { return unbounded_ || key_.scopes.allows(scope); }

    // The reason why the caller may not do it; nullopt: it may.
    using denial = std::optional<std::string>;
    // Creating or changing a key with these scopes.
    denial scope_denial(model::scope_set const& scopes) const;
    denial limits_denial(std::vector<model::rate_limit> const& limits) const;
    denial allowlist_denial(std::vector<model::cidr> const& list) const;
    denial expiry_denial(base::wall_ms expires_at) const;
    // Creating a key: all four, and the project.
    denial creation_denial(model::key const& key) const;
    // Changing a key, which may be the caller itself.
    denial change_denial(model::key const& old_key, model::key const& new_key) const;

  private:
    bool unbounded_ = true;
    model::key key_;
};

// Is `key` the last one that can manage keys over HTTP? A key that is being rotated out does not
// count as another one.
bool is_last_admin(transaction& txn, model::key const& key);

}  // namespace latchkey::domain
