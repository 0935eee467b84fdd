// Verifies the chain of hashes of the audit log (audit.hpp).
//
//     for (auto const& sentence : domain::verify_audit(*environment).wrong) …
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/store_terms.hpp"
#include "model/key.hpp"
#include "store/environment.hpp"

namespace latchkey::domain {

struct audit_report {
    std::uint64_t entries = 0;
    model::digest last{};            // hash of the last entry
    std::vector<std::string> wrong;  // one sentence each, at most 100; empty: the chain is intact
};
// Reads the whole log in one snapshot; may run beside a server.
audit_report verify_audit(environment& store);

}  // namespace latchkey::domain
