#include "api/exchange/static_files.hpp"

#include <algorithm>

#include "api/exchange/public_routes.hpp"
#include "api/frame/checks/negotiate.hpp"
#include "api/frame/problem_document.hpp"
#include "api/frame/route.hpp"
#include "web/files.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view assets_prefix = "/assets/";

http::content type_of(web::media media) {
    switch (media) {
        case web::media::javascript:
            return http::content::javascript;
        case web::media::style_sheet:
            return http::content::style_sheet;
        case web::media::svg:
            return http::content::svg;
        case web::media::html:
            break;
    }
    return http::content::html;
}

void show_file(http::request const& request, web::file const& file, std::string_view caching,
               http::response& response) {
    response.add("Cache-Control", caching);
    show_encoded(request, {file.plain, file.gzip, file.brotli}, file.hash, type_of(file.media),
                 response);
}

}  // namespace

void show_encoded(http::request const& request, encoded_content const& content,
                  std::string_view hash, http::content type, http::response& response) {
    auto const coding = best_coding(request);
    auto body = content.plain;
    std::string_view suffix;
    if (coding == coding::brotli && !content.brotli.empty()) {
        body = content.brotli;
        suffix = "-br";
        response.add("Content-Encoding", name_of(coding::brotli));
    } else if (coding != coding::identity && !content.gzip.empty()) {
        body = content.gzip;
        suffix = "-gzip";
        response.add("Content-Encoding", name_of(coding::gzip));
    }
    response.add("Vary", "Accept-Encoding");
    if (!hash.empty()) response.add("ETag", "\"", hash, suffix, "\"");
    response.content_type = type;
    response.body.append(body);
}

// Its URL changes with its content.
std::optional<api_error> show_asset(public_request const& call, http::response& response) {
    for (auto const& file : web::files())
        if (file.path.substr(assets_prefix.size()) == call.variable) {
            show_file(call.request, file, "public, max-age=31536000, immutable", response);
            return std::nullopt;
        }
    return make_error(base::problem::route_not_found, "There is no such file.");
}

std::optional<api_error> show_icon(public_request const& call, http::response& response) {
    show_file(call.request, web::find_file("icon.svg"), "public, max-age=86400", response);
    return std::nullopt;
}

std::optional<api_error> show_console(public_request const& call, http::response& response) {
    if (!call.settings.console) return show_missing(call, response);
    response.add("Content-Security-Policy",
                 "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                 "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors "
                 "'none'; require-trusted-types-for 'script'; trusted-types 'none'");
    show_file(call.request, web::find_file("console.html"), "no-cache", response);
    return std::nullopt;
}

// People get to the documents; programs are told that there is nothing.
std::optional<api_error> show_root(public_request const& call, http::response& response) {
    if (!asks_for_html(call.request)) return make_error(base::problem::route_not_found);
    response.status = 302;
    response.add("Location", "/docs");
    response.add("Vary", "Accept");
    return std::nullopt;
}

}  // namespace latchkey::api
