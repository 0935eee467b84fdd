// The URL of a webhook (api.md §17), in the one spelling that every parser reads alike: what the
// service checks and what a library connects to must be the same host (RFC 3986, and the ways
// around it that WHATWG URL and inet_aton() have). Pure; any thread.
//
//     auto const url = check_webhook_url("https://hooks.example.com/in?x=1", allowed);
//     if (!url) body.fault("url", field_code::invalid_format, url.error().message);
//
// A name can lead anywhere: where it does is checked on the address of each connection
// (public_address.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/address.hpp"
#include "model/cidr.hpp"

namespace latchkey::model {

inline constexpr std::size_t webhook_url_bytes_max = 2048;

struct webhook_url {
    bool encrypted = true;  // https
    std::string host;       // as it stands in the URL, an IPv6 address without its brackets
    std::optional<model::address> address;  // where the host is one
    std::uint16_t port = 443;
    std::string target = "/";  // path and query
};

// `allowed`: networks that are not public and may be reached nevertheless, also by http. Where
// there are any, names for private use (`.internal`, `.local` …) are taken too. The error says what
// the URL must be ("must begin with https://"), as the faults of a document do.
base::result<webhook_url> check_webhook_url(std::string_view text, std::span<cidr const> allowed);

// Scheme, host and port of such a URL, as they are spelled in it.
std::string_view origin_of(std::string_view url);

}  // namespace latchkey::model
