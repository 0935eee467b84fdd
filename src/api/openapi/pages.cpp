// Handlers without a key: the health check, and the pages that explain problems.
#include "api/checks/precondition.hpp"
#include "api/handlers.hpp"
#include "api/openapi/page.hpp"
#include "api/problem.hpp"
#include "api/route.hpp"

namespace latchkey::api {

std::optional<api_error> show_health(public_request const&, http::response& response) {
    response.content_type = http::content::json;
    response.add("Cache-Control", "no-store");
    response.body.append(R"({"status":"ok"})");
    return std::nullopt;
}

std::optional<api_error> show_problem(public_request const& page, http::response& response) {
    auto const code = page.variable;
    for (auto const& entry : base::problems) {
        if (entry.code == base::problem::none || entry.name != code) continue;
        response.content_type = http::content::html;
        response.add("Cache-Control", "public, max-age=3600");
        response.add("Content-Security-Policy", page_policy());
        auto& output = response.body;
        begin_page(output, entry.name);
        output.append("<h1>");
        append_escaped(output, entry.title);
        output.append("</h1>\n<p><code>").append(entry.name).append("</code>, status ");
        output.append(std::to_string(entry.status)).append("</p>\n");
        append_marked(output, advice_for(entry.code));
        output.append("\n<p><a href=\"/docs\">All operations and codes</a></p>\n");
        end_page(output);
        add_weak_tag(response);
        return std::nullopt;
    }
    return make_error(base::problem::route_not_found, "there is no such problem");
}

}  // namespace latchkey::api
