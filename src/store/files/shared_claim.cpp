#include "store/files/shared_claim.hpp"

#include <utility>

#include "store/environment_state.hpp"
#include "store/files/claim.hpp"

namespace latchkey::store {

base::result<void> share_claim(environment& store, base::descriptor claim) {
    auto& state = store.native();
    if (!is_claim_of(state.directory, claim))
        return base::error{"the service that hands over does not serve the store in " +
                           state.directory};
    state.claim = std::move(claim);
    return {};
}

void own_claim(environment& store) {
    auto& state = store.native();
    sign_claim(state.claim);
    state.lock.set_server();
}

int claim_descriptor(environment& store) {
    return store.native().claim.get();
}

}  // namespace latchkey::store
