// What the configuration says about the interface; immutable while it is in use, shared by workers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/deprecation.hpp"
#include "base/limits.hpp"
#include "model/cidr.hpp"

namespace latchkey::api {

struct documents;

struct settings {
    std::string base_url;     // "https://api.example.com", empty: relative references
    bool allow_query = true;  // credentials by way 3
    bool allow_body = true;   // credentials by way 4
    std::vector<model::cidr> trusted_proxies;
    // `key_invalid` by one address; what the desk's `failures` was made with. 0: no limit.
    std::uint32_t failures_per_minute = 30;
    std::string key_prefix = "lkey";         // of keys that are made
    std::int64_t key_ttl_seconds = 0;        // of keys that are made without an expiry; 0: none
    bool strict_transport_security = false;  // true with a configured certificate
    std::vector<deprecation> deprecations;
    bool require_if_match = false;  // PUT, PATCH and DELETE without it: 428
    std::size_t body_bytes_max = base::limits::body_bytes_max;
    // What describes the interface, made of all of the above by `make_documents` (documents.hpp).
    std::shared_ptr<api::documents const> documents;
};

}  // namespace latchkey::api
