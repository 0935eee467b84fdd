// The domain is written in the terms of the store: transactions, tables, tags and keys are words of
// the domain, too, and need no prefix in it.
#pragma once

namespace latchkey::store {}

namespace latchkey::domain {
using namespace store;
}  // namespace latchkey::domain
