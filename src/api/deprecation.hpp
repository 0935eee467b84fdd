// Routes that are to go: the `Deprecation` (RFC 9745) and `Sunset` (RFC 8594) fields of their
// answers, and where to read why. From the configuration; immutable.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace latchkey::api {

struct route;

struct deprecation {
    route const* of = nullptr;
    std::string since;   // "@1688169599", RFC 9745 §2.1
    std::string sunset;  // an HTTP date, RFC 8594 §3; empty: not known
    std::string link;    // of a page about it; empty: none
};

// "GET /api/v1/users since=2026-12-01T00:00:00Z sunset=2027-06-01T00:00:00Z link=https://…": the
// method and the pattern as they stand in the table of routes, `since` required, in any order.
base::result<deprecation> parse_deprecation(std::string_view text);

}  // namespace latchkey::api
