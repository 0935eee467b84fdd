// Which addresses are of the public Internet, so that a URL given by a client cannot lead into the
// networks of the service itself: the IANA registries of special-purpose addresses (RFC 6890, as of
// 2024), without what is marked there as globally reachable only for a protocol of its own.
//
//     if (!may_connect(peer, true, networks)) refuse();
//
// IPv6 forms that have an IPv4 address inside (mapped, NAT64, 6to4, Teredo, ISATAP) are not public:
// a gateway may turn them into that one. A mapped address is stored like the IPv4 one
// (address.hpp), so a caller that has the text or the socket's family refuses it there. Any thread.
#pragma once

#include <span>

#include "model/address.hpp"
#include "model/cidr.hpp"

namespace latchkey::model {

bool is_public(address const& candidate);

// True if the address is in one of the networks that an operator has named, or it is public and
// the content is `encrypted`: what is sent in clear text goes to a named network only.
bool may_connect(address const& peer, bool encrypted, std::span<cidr const> allowed);

}  // namespace latchkey::model
