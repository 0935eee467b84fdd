#include "api/frame/resource.hpp"

namespace latchkey::api {

void show_resource(http::response& response) {
    response.content_type = http::content::json;
    response.add_lines("Cache-Control: private, no-cache\r\n");
}

void show_written(http::response& response) {
    response.content_type = http::content::json;
    response.add("Cache-Control", "no-store");
}

void answer_deleted(settings const&, domain::outcome const&, http::response& response) {
    response.status = 204;
    response.add("Cache-Control", "no-store");
}

bool sees_project(request_context const& context, std::string_view project) {
    return context.principal.may(model::scope::any) ||
           context.principal.record().project == project;
}

std::string scope_words(model::scope_set const& scopes) {
    std::string words;
    for (auto const& name : scopes.names()) words.append(words.empty() ? "" : " ").append(name);
    return words;
}

}  // namespace latchkey::api
