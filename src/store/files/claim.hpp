// The claim of a server, or of a restore, on a data directory: a lock (flock) on its `server.lock`.
// Private to store and domain.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"

namespace latchkey::store {

enum class claimant : std::uint8_t { server, restore };

// Returns the descriptor that holds the claim until it is closed. The error names the process that
// has it, and what that does.
base::result<base::descriptor> claim_directory(std::string const& directory,
                                               claimant claimant = claimant::server);

// Writes this process's id into the file of a claim that was another process's too.
void sign_claim(base::descriptor const& claim);
// Whether the descriptor is the claim's file in that directory.
bool is_claim_of(std::string const& directory, base::descriptor const& claim);

bool is_claimed(std::string const& directory);

}  // namespace latchkey::store
