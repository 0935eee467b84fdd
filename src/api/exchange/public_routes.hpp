// Routes of what needs no key: the handlers, the operations that describe them, and the rows of
// the table. Constants; any thread.
#pragma once

#include "api/frame/route.hpp"
#include "api/frame/schema.hpp"

namespace latchkey::api {

std::optional<api_error> show_health(public_request const&, http::response&);
std::optional<api_error> show_openapi(public_request const&, http::response&);
std::optional<api_error> show_page(public_request const&, http::response&);
// Of a path that has no page: one for people, a problem for programs.
std::optional<api_error> show_missing(public_request const&, http::response&);
std::optional<api_error> show_root(public_request const&, http::response&);
std::optional<api_error> show_icon(public_request const&, http::response&);
std::optional<api_error> show_protected_resource(public_request const&, http::response&);
std::optional<api_error> show_asset(public_request const&, http::response&);
std::optional<api_error> show_console(public_request const&, http::response&);
inline constexpr std::string_view protected_resource_path = "/.well-known/oauth-protected-resource";

namespace operations {

using enum success;
using enum base::problem;

inline constexpr operation get_health{.id = "getHealth",
                                      .group = "Service",
                                      .summary = "Check that the service answers",
                                      .result = health,
                                      .response_schema = "Health"};
inline constexpr operation get_openapi{.id = "getOpenApi",
                                       .group = "Service",
                                       .summary = "This description, as JSON",
                                       .result = document,
                                       .response_schema = "OpenApi"};
inline constexpr operation get_docs{.id = "getDocs",
                                    .group = "Service",
                                    .summary = "This description and guides, as HTML pages",
                                    .result = document};
inline constexpr operation get_docs_page{.id = "getDocsPage",
                                         .group = "Service",
                                         .summary = "A guide, or the operations of a group",
                                         .result = document};
inline constexpr operation get_client{
    .id = "getClient", .group = "Service", .summary = "A client package", .result = document};
inline constexpr operation list_problems{.id = "listProblems",
                                         .group = "Service",
                                         .summary = "All codes of problems, as an HTML page",
                                         .result = document};
inline constexpr operation get_problem{
    .id = "getProblem",
    .group = "Service",
    .summary = "What a code means and what to do, as an HTML page",
    .result = document,
    .problems = {route_not_found}};
inline constexpr operation get_root{.id = "getRoot",
                                    .group = "Service",
                                    .summary = "Leads a browser to the documents",
                                    .result = document};
inline constexpr operation get_icon{
    .id = "getIcon", .group = "Service", .summary = "The icon of the pages", .result = document};
inline constexpr operation get_asset{
    .id = "getAsset", .group = "Service", .summary = "A file of the pages", .result = document};
inline constexpr operation get_protected_resource{
    .id = "getProtectedResource", .group = "Service", .summary = "RFC 9728", .result = document};
inline constexpr operation get_console{
    .id = "getConsole", .group = "Service", .summary = "The console", .result = document};

}  // namespace operations

inline constexpr route public_routes[] = {
    {http::method::get, "/healthz", operations::get_health, model::scope::any,
     public_route{.run = show_health, .json = true, .any_query = true}},
    {http::method::get, "/openapi.json", operations::get_openapi, model::scope::any,
     public_route{show_openapi, true}},
    {http::method::get, "/docs", operations::get_docs, model::scope::any, public_route{show_page}},
    {http::method::get, "/docs/{guide}", operations::get_docs_page, model::scope::any,
     public_route{show_page, false, true}},
    {http::method::get, "/docs/clients/{package}", operations::get_client, model::scope::any,
     public_route{show_page, false, true}},
    {http::method::get, "/problems", operations::list_problems, model::scope::any,
     public_route{show_page}},
    {http::method::get, "/problems/{code}", operations::get_problem, model::scope::any,
     public_route{show_page}},
    {http::method::get, "/", operations::get_root, model::scope::any,
     public_route{show_root, false, true}},
    {http::method::get, "/favicon.ico", operations::get_icon, model::scope::any,
     public_route{show_icon, false, true}},
    {http::method::get, "/assets/{asset}", operations::get_asset, model::scope::any,
     public_route{show_asset, false, true}},
    {http::method::get, protected_resource_path, operations::get_protected_resource,
     model::scope::any, public_route{show_protected_resource, true, true}},
    {http::method::get, "/console", operations::get_console, model::scope::any,
     public_route{show_console, false, true}},
};

namespace schema {

object public_schemas();
std::span<parameter const> public_parameters();

}  // namespace schema

}  // namespace latchkey::api
