// The names of the members of one JSON text, to find those that are repeated in one object. A hash
// table of 128-bit fingerprints with open addressing; names are hashed with a secret key (SipHash),
// so a client cannot choose names that collide, and a false match is as likely as a guess of 128
// bits. For one text on one thread; up to 32 names without an allocation.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/keyed_hash.hpp"

namespace latchkey::api {

class member_names {
  public:
    member_names() = default;
    member_names(member_names const&) = delete;
    member_names& operator=(member_names const&) = delete;

    // `object` numbers the objects of the text. False: it has the name already.
    bool insert(std::uint64_t object, std::string_view name);

  private:
    // The slot of `name`, or the free slot for it.
    base::fingerprint& find(base::fingerprint const& name);
    void grow();

    std::array<base::fingerprint, 64> first_{};  // all zero: free
    std::vector<base::fingerprint> rest_;
    std::span<base::fingerprint> slots_ = first_;  // a power of two, at most half full
    std::size_t count_ = 0;
};

}  // namespace latchkey::api
