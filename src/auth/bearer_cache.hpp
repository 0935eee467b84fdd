// Authentication of a JWT (api.md §19): its signature and claims are verified once, then its digest
// stands for it until it expires. One per worker, used on its thread only.
//
//     tokens.use(issuers);                              // when the configuration has changed
//     if (tokens.may_be_token(text))
//         verdict = tokens.authenticate(text, client, snapshot, now, may_verify);
//
// The cache holds no principal: the token's digest leads to the digest of its key record, which
// auth::cache judges at every call. So a change of the record counts for the next request, as it
// does for a key. Kept are tokens that an issuer has signed: those of a record, and those that come
// too late or too early, whatever their subject. So what nobody signed evicts nothing.
//
// A hit allocates nothing and costs the SHA-256 of the token, which a burst of requests with one
// token saves as one with a key does (recent_text.hpp). The caller wipes the bytes of the token.
#pragma once

#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <cstdint>
#include <memory>
#include <string_view>

#include "auth/bearer_grant.hpp"
#include "auth/bearer_issuers.hpp"
#include "auth/cache.hpp"

namespace latchkey::auth {

class bearer_cache {
  public:
    // `keys` outlives it. `entries`: a power of two, at least 4; 64 bytes each. `keeps_text`:
    // recent_text.hpp.
    explicit bearer_cache(cache& keys, std::size_t entries = 4096, bool keeps_text = true);
    ~bearer_cache();
    bearer_cache(bearer_cache const&) = delete;
    bearer_cache& operator=(bearer_cache const&) = delete;

    // Null or without issuers: no token is recognised. Others than before: forgets all tokens.
    void use(std::shared_ptr<bearer_issuers const> issuers);
    // Once a turn, after its requests.
    void forget_text();

    // False: there is no issuer, or the text does not begin as a JWT; it can only be a key.
    bool may_be_token(std::string_view text) const;

    // The problems of cache::authenticate for its record, where `key_invalid` says that there is
    // none; token_invalid, token_expired or token_not_yet_valid, with a sentence;
    // too_many_auth_failures: it is not known yet, and `may_verify` is false. The text passes
    // `may_be_token`; what turns out to be no JWT is looked up as a key.
    verdict authenticate(std::string_view token, model::address const* client,
                         domain::snapshot const& snapshot, base::instant now, bool may_verify);
    // Whether its token, if the caller showed one, is still good: it may have expired, or the
    // issuers may have changed. For what goes on after its request was answered.
    bool is_good(principal const& caller, base::instant now) const;

    struct counters {
        std::uint64_t hits = 0;      // answered by the cache
        std::uint64_t verified = 0;  // signature and claims were right
        std::uint64_t refusals = 0;  // verified, and found to be wrong, expired or early
    };
    counters const& count() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace latchkey::auth
