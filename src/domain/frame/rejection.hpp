// Outcomes of commands that are not carried out, and the checks that all kinds of commands share.
// Private to the domain.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.hpp"
#include "domain/command.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

outcome reject(base::problem problem, std::string detail = {});
outcome reject_invalid(std::vector<base::fault> faults);
// The record does not exist: 422 if the command has faults anyway, else 404.
outcome reject_missing(command const& command, std::string detail);

// storage_full if the disk or the map is full; `growing`: the command needs space, so it is refused
// even while deletions are still admitted. Otherwise the transaction may grow from here on.
std::optional<base::problem> check_capacity(transaction& txn, bool growing);

// Evaluates the conditions against the record's tag, which `current` computes (nullopt: what the
// command acts on has none); `current` is called only if there are conditions. To be checked after
// existence and before conflicts and read-only members: a client that sends back an old record with
// its tag must learn that it is outdated.
std::optional<outcome> check_conditions(
    command const& command, base::function_ref<std::optional<model::entity_tag>()> current);
// The same for a command that creates something.
std::optional<outcome> check_conditions(command const& command);

// Adds a read_only_field fault for each member that the client sent back with another value than
// the record's.
struct read_only_members {
    model::id id = 0;
    std::optional<model::id> user_id;
    base::wall_ms created_at = 0;
    base::wall_ms updated_at = 0;
    std::optional<base::wall_ms> published_at;  // 0: null
};
void compare(expected_members const& expected, read_only_members const& record,
             std::vector<base::fault>& faults);

}  // namespace latchkey::domain
