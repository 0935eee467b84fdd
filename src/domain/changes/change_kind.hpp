// The log of changes as a kind of record. A constant; any thread.
#pragma once

#include "domain/frame/kind.hpp"

namespace latchkey::domain {

void check_changes(consistency_check& check);
extern kind const change_kind;

}  // namespace latchkey::domain
