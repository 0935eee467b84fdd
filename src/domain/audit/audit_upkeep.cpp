// What the store as a whole does with the audit log, whose times stay as they are.
#include "domain/audit/audit_kind.hpp"
#include "domain/frame/consistency_check.hpp"

namespace latchkey::domain {
namespace {

constexpr tag audit_tags[] = {tag::audit_head, tag::audit_by_project, tag::audit_count,
                              tag::audit_made};

}  // namespace

constinit kind const audit_kind{.tags = audit_tags, .check = check_audit_index};

}  // namespace latchkey::domain
