// `[[jwt]]` of the configuration: whose JWTs are accepted (docs/api.md §19). Values; the functions
// that read files are for the main thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/bearer_issuers.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace latchkey::server {

// A wrong value: the setting, and a sentence that names it.
struct setting_error {
    std::string_view setting;
    std::string message;
    // Of a list, or of the tables [[jwt]]; none: the setting as a whole.
    std::optional<std::size_t> element = {};
};

// One table; the members are named as in the file.
struct jwt_settings {
    std::string issuer;
    std::vector<std::string> audience;
    std::string jwks;  // path of the file with the issuer's keys
    std::vector<std::string> algorithms = {"RS256", "ES256", "EdDSA"};
    std::uint64_t leeway_seconds = 5;
    std::string subject = "sub";   // the claim that names the subject
    std::string scopes = "scope";  // the claim; empty: tokens narrow no scopes
    std::string type;              // empty: JWT, at+jwt or none
    bool operator==(jwt_settings const&) const = default;
};

// Checks all but the files. An error names the issuer and the member.
std::vector<setting_error> find_errors(std::vector<jwt_settings> const& tables);

// A basic string, as TOML writes it.
std::string toml_string(std::string_view text);
// The tables as TOML.
std::string to_toml(std::vector<jwt_settings> const& tables);

// Reads the files; null: there are no tables. The error names the file, and each key that is wrong.
// With `former`, the keys that these issuers had there are accepted for a while; `clock` is the
// machine's. Returns `former` itself where nothing differs. Logs what was taken and what was
// left out.
base::result<std::shared_ptr<auth::bearer_issuers const>> load_issuers(
    std::vector<jwt_settings> const& tables,
    std::shared_ptr<auth::bearer_issuers const> const& former, base::wall_ms clock);

// Finds the files that cannot be taken. The errors are those of load_issuers.
std::vector<setting_error> find_issuer_errors(std::vector<jwt_settings> const& tables);

}  // namespace latchkey::server
