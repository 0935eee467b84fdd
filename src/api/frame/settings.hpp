// The configuration of the HTTP interface. Immutable while it is in use, shared by workers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "model/cidr.hpp"

namespace latchkey::api {

struct documents;
struct route;

// A route that will be removed: the `Deprecation` (RFC 9745) and `Sunset` (RFC 8594) fields of its
// responses, and a page that explains it.
struct deprecation {
    route const* target = nullptr;
    std::string date;    // "@1688169599", RFC 9745 §2.1
    std::string sunset;  // an HTTP date, RFC 8594 §3; empty: not known
    std::string link;    // a page about it; empty: none
};

struct settings {
    std::string base_url;     // "https://api.example.com"; empty: relative references
    bool allow_query = true;  // keys in the query (api.md §2, way 3)
    bool allow_body = true;   // keys in the body (way 4)
    std::vector<model::cidr> trusted_proxies;
    std::vector<model::cidr> webhook_networks;  // not public, and webhooks may reach them
    std::string key_prefix = "lkey";            // of new keys
    std::int64_t key_ttl_seconds = 0;           // of new keys without an expiry; 0: none
    bool strict_transport_security = false;     // true with a configured certificate
    std::vector<deprecation> deprecations;
    bool require_if_match = false;  // PUT, PATCH and DELETE without If-Match: 428
    bool in_cluster = false;        // api.md §15 holds
    bool records_changes = true;    // false: there are no changes and no webhooks (api.md §16)
    bool console = true;            // /console is shown, and keys are exchanged for cookies there
    std::size_t streams_max = base::limits::streams_max;  // open at once (api.md §16)
    std::size_t body_bytes_max = base::limits::body_bytes_max;
    // Those of http::size_limits, for the refusals that name them.
    std::size_t request_line_bytes_max = base::limits::request_line_bytes_max;
    std::size_t header_bytes_max = base::limits::header_bytes_max;
    // The results of describe_protected_resource (exchange/protected_resource.hpp): a JSON
    // document, and the part of WWW-Authenticate that names it on 401. Empty: there is none.
    std::string protected_resource, challenge;
    // The description of the interface, made of the members above by `make_documents`
    // (docs/documents.hpp).
    std::shared_ptr<api::documents const> documents;

    bool trusts(model::address const& proxy) const {
        return std::ranges::any_of(
            trusted_proxies, [&](model::cidr const& network) { return network.contains(proxy); });
    }
};

}  // namespace latchkey::api
