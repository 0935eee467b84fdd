// The client libraries at /docs/clients (docs/api.md §13): which files there are in this version,
// and the page that says how to install them. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/version.hpp"
#include "wire/http/response.hpp"

namespace latchkey::api {

// A kind of package. Its name has the version, so that a folder with those of another one has none
// of these.
struct client_kind {
    std::string_view name;      // "latchkey-client-1.2.3.tgz"
    std::string_view language;  // "TypeScript"
    std::string_view command;   // what installs it, before its URL
    http::content type;
};
inline constexpr client_kind client_kinds[] = {
    {"latchkey-client-" LATCHKEY_VERSION ".tgz", "TypeScript", "npm install", http::content::gzip},
    {"latchkey_client-" LATCHKEY_VERSION "-py3-none-any.whl", "Python", "pip install",
     http::content::zip},
};
inline constexpr std::string_view clients_path = "/docs/clients";

// A package that the service hands out.
struct client_package {
    client_kind const* kind;
    std::string bytes;
};

// `base_url` as in the settings.
std::string clients_content(std::span<client_package const> packages, std::string_view base_url);

}  // namespace latchkey::api
