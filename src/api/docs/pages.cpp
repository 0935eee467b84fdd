// Handlers without a key: the health check, the OpenAPI document and the pages for people.
#include "api/docs/documents.hpp"
#include "api/docs/page_frame.hpp"
#include "api/exchange/public_routes.hpp"
#include "api/exchange/static_files.hpp"
#include "api/frame/checks/negotiate.hpp"
#include "api/frame/problem_document.hpp"
#include "api/frame/route.hpp"

namespace latchkey::api {

std::optional<api_error> show_health(public_request const&, http::response& response) {
    response.content_type = http::content::json;
    response.add("Cache-Control", "no-store");
    response.body.append(R"({"status":"ok"})");
    return std::nullopt;
}

std::optional<api_error> show_openapi(public_request const& call, http::response& response) {
    auto const& documents = *call.settings.documents;
    response.content_type = http::content::json;
    response.body.append(documents.openapi);
    response.add("ETag", documents.openapi_tag);
    response.add("Cache-Control", "public, max-age=300");
    return std::nullopt;
}

// /docs, /problems and what is below them: the path names the page.
std::optional<api_error> show_page(public_request const& call, http::response& response) {
    auto const* page = call.settings.documents->find(call.request.path);
    bool const is_missing = page == nullptr;
    if (is_missing) {
        if (!asks_for_html(call.request))
            return make_error(base::problem::route_not_found, "There is no such page.");
        page = &call.settings.documents->missing;
        response.code = base::problem::route_not_found;
        response.status = base::describe(response.code).status;
    }
    response.add("Cache-Control", is_missing ? "no-store" : "public, max-age=300");
    response.add("Content-Security-Policy", page_policy);
    show_encoded(call.request, {page->plain, page->gzip, {}}, page->hash, page->type, response);
    return std::nullopt;
}

}  // namespace latchkey::api
