// What needs no key: the health of the process, and the pages that explain problems to people.
#include "api/handlers.hpp"
#include "api/problem.hpp"

namespace latchkey::api {

std::optional<trouble> show_health(std::string_view, settings const&, http::response& answer) {
    answer.content_type = http::content::json;
    answer.add("Cache-Control", "no-store");
    answer.body.append(R"({"status":"ok"})");
    return std::nullopt;
}

std::optional<trouble> show_problem(std::string_view code, settings const&,
                                    http::response& answer) {
    for (auto const& entry : base::problems) {
        if (entry.code == base::problem::none || entry.name != code) continue;
        answer.content_type = http::content::html;
        answer.add("Cache-Control", "public, max-age=3600");
        answer.add("Content-Security-Policy", "default-src 'none'");
        // Every piece is text of our own, which needs no escaping in HTML.
        answer.body.append("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>")
            .append(entry.name)
            .append("</title>\n<h1>")
            .append(entry.title)
            .append("</h1>\n<p><code>")
            .append(entry.name)
            .append("</code>, status ")
            .append(std::to_string(entry.status))
            .append("</p>\n<p>")
            .append(advice_for(entry.code))
            .append("</p>\n</html>\n");
        return std::nullopt;
    }
    return trouble{base::problem::route_not_found, "there is no such problem", {}, {}};
}

}  // namespace latchkey::api
