// The metadata of a protected resource (RFC 9728), by which a client finds the issuers of tokens.
// Values; any thread.
#pragma once

#include <string>
#include <vector>

#include "api/frame/settings.hpp"

namespace latchkey::api {

// Fills settings::protected_resource and settings::challenge from base_url and the issuers whose
// tokens are accepted. They stay empty without an issuer, and without an https base_url: the
// document names the resource by an absolute URL (§1.2).
void describe_protected_resource(std::vector<std::string> const& issuers, settings& target);

}  // namespace latchkey::api
