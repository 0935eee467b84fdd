// Outcomes under an Idempotency-Key as a kind of record. A constant; any thread.
#pragma once

#include "domain/frame/kind.hpp"

namespace latchkey::domain {

void check_kept_outcomes(consistency_check& check);
extern kind const outcome_kind;

}  // namespace latchkey::domain
