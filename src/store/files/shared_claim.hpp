// The claim on a store that a server hands over: for a while two servers hold one lock, so there is
// no moment without it. After `environment::open`, in the place of `claim_for_server`.
//
//     share_claim(*store, std::move(descriptor));    // beside the server that hands over
//     … it has ended …
//     own_claim(*store);
#pragma once

#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "store/environment.hpp"

namespace latchkey::store {

// Until `own_claim` this server lets the other one write first, as a command does. The error: the
// descriptor is no claim of this directory.
base::result<void> share_claim(environment& store, base::descriptor claim);
// Writes this process's id into `server.lock`.
void own_claim(environment& store);
// The descriptor of the claim, for a successor; the environment keeps owning it. Negative: there is
// no claim.
int claim_descriptor(environment& store);

}  // namespace latchkey::store
