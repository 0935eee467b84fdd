#include "api/openapi/documents.hpp"

#include <boost/json/serialize.hpp>

#include "api/handlers.hpp"
#include "api/openapi/openapi.hpp"
#include "api/openapi/page.hpp"
#include "api/route.hpp"
#include "base/bytes.hpp"
#include "base/hash.hpp"

namespace latchkey::api {
namespace {

std::string tag_of(std::string_view bytes) {
    std::string number;
    base::append(number, base::hash(bytes));
    return '"' + base::to_hex(number) + '"';
}

void show(std::string const& bytes, std::string const& tag, http::content type,
          http::response& response) {
    response.content_type = type;
    response.body.append(bytes);
    response.add("ETag", tag);
    response.add("Cache-Control", "public, max-age=300");
}

}  // namespace

std::shared_ptr<documents const> make_documents(settings const& settings) {
    auto const whole = describe_interface(settings);
    auto result = std::make_shared<documents>();
    result->openapi = boost::json::serialize(whole);
    result->openapi_tag = tag_of(result->openapi);
    result->docs = docs_page(whole);
    result->docs_tag = tag_of(result->docs);
    return result;
}

std::optional<api_error> show_openapi(public_request const& page, http::response& response) {
    auto const& documents = *page.settings.documents;
    show(documents.openapi, documents.openapi_tag, http::content::json, response);
    return std::nullopt;
}
std::optional<api_error> show_docs(public_request const& page, http::response& response) {
    auto const& documents = *page.settings.documents;
    show(documents.docs, documents.docs_tag, http::content::html, response);
    response.add("Content-Security-Policy", page_policy());
    return std::nullopt;
}

}  // namespace latchkey::api
