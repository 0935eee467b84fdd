// The state of bulk loads as a kind of record. A constant; any thread.
#pragma once

#include "domain/frame/kind.hpp"

namespace latchkey::domain {

void check_loads(consistency_check& check);
extern kind const load_kind;

}  // namespace latchkey::domain
