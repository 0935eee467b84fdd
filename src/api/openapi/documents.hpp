// The documentation of the interface: OpenAPI 3.1 at /openapi.json for programs and a page at /docs
// for people, both made of the route table (route.hpp). Made once for each configuration, then
// immutable and shared by all workers.
#pragma once

#include <memory>
#include <string>

#include "api/settings.hpp"

namespace latchkey::api {

struct documents {
    std::string openapi, openapi_tag;  // the bytes, and their ETag with its quotes
    std::string docs, docs_tag;
};

// Takes some milliseconds. Servers and credentials are those of `settings`.
std::shared_ptr<documents const> make_documents(settings const& settings);

}  // namespace latchkey::api
