// The description of the interface, for programs and for people: OpenAPI 3.1 at /openapi.json and a
// page at /docs, both made of the route table (route.hpp). Made once for each configuration, then
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

// Takes some milliseconds. Servers and credentials are those of `rules`.
std::shared_ptr<documents const> make_documents(settings const& rules);

}  // namespace latchkey::api
