// The names of actions in the audit log, which the rows of their kinds have.
#include <algorithm>

#include "domain/audit/audit.hpp"
#include "domain/frame/numbered_names.hpp"

namespace latchkey::domain {

std::span<std::string_view const> audit_names() {
    static numbered_names<64> const names(&kind::audited);
    return names.all();
}

std::optional<audit_action> find_audit_action(std::string_view name) {
    auto const names = audit_names();
    auto const place = std::ranges::find(names, name);
    if (place == names.end()) return std::nullopt;
    return static_cast<audit_action>(place - names.begin());
}

std::string_view name_of(audit_action action) {
    return audit_names()[static_cast<std::size_t>(action)];
}

}  // namespace latchkey::domain
