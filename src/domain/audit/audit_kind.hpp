// The audit log as a kind of record. A constant; any thread.
#pragma once

#include "domain/frame/kind.hpp"

namespace latchkey::domain {

void check_audit_index(consistency_check& check);
extern kind const audit_kind;

}  // namespace latchkey::domain
