// The documentation of the interface: OpenAPI 3.1 at /openapi.json for programs, and the pages for
// people at /docs and /problems, all made of the route table (route.hpp) and of the guides
// (web/guides.hpp). Made once for each configuration, then immutable and shared by all workers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/docs/client_packages.hpp"
#include "api/frame/settings.hpp"
#include "wire/http/response.hpp"

namespace latchkey::api {

struct documents {
    struct page {
        std::string path;  // "/docs/users"
        http::content type;
        std::string plain, gzip;  // empty where it was not compressed
        std::string hash;         // of the content, for its ETag; empty: it has none
    };

    std::string openapi, openapi_tag;  // the bytes, and their ETag with its quotes
    std::vector<page> pages;           // ascending by path
    page missing;                      // for a path with no page

    // Null: there is none with this path.
    page const* find(std::string_view path) const;
};

// Takes some ten milliseconds. Servers, credentials and links are those of `settings`; `packages`
// are handed out at /docs/clients.
std::shared_ptr<documents const> make_documents(settings const& settings,
                                                std::span<client_package const> packages = {});

}  // namespace latchkey::api
