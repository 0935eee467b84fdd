// Handlers without a key: the health check, the OpenAPI document and the pages for people.
#include "api/docs/documents.hpp"
#include "api/docs/page_frame.hpp"
#include "api/exchange/public_routes.hpp"
#include "api/exchange/static_files.hpp"
#include "api/frame/checks/negotiate.hpp"
#include "api/frame/problem_document.hpp"
#include "api/frame/route.hpp"

namespace latchkey::api {
namespace {

void show_document(http::request const& request, documents::page const& page,
                   std::string_view caching, http::response& response) {
    response.add("Cache-Control", caching);
    response.add("Content-Security-Policy", page_policy);
    show_encoded(request, {page.plain, page.gzip, {}}, page.hash, page.type, response);
}

}  // namespace

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
    auto const* const page = call.settings.documents->find(call.request.path);
    if (page == nullptr) return show_missing(call, response);
    show_document(call.request, *page, "public, max-age=300", response);
    return std::nullopt;
}

std::optional<api_error> show_missing(public_request const& call, http::response& response) {
    if (!asks_for_html(call.request))
        return make_error(base::problem::route_not_found, "There is no such page.");
    response.code = base::problem::route_not_found;
    response.status = base::describe(response.code).status;
    show_document(call.request, call.settings.documents->missing, "no-store", response);
    return std::nullopt;
}

}  // namespace latchkey::api
