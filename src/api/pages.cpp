// What needs no key: the health of the process, and the pages that explain problems to people.
#include "api/handlers.hpp"
#include "api/page.hpp"
#include "api/precondition.hpp"
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
        answer.add("Content-Security-Policy", page_policy());
        auto& to = answer.body;
        begin_page(to, entry.name);
        to.append("<h1>");
        append_escaped(to, entry.title);
        to.append("</h1>\n<p><code>").append(entry.name).append("</code>, status ");
        to.append(std::to_string(entry.status)).append("</p>\n");
        append_marked(to, advice_for(entry.code));
        to.append("\n<p><a href=\"/docs\">All operations and codes</a></p>\n");
        end_page(to);
        add_weak_tag(answer);
        return std::nullopt;
    }
    return trouble{base::problem::route_not_found, "there is no such problem", {}, {}};
}

}  // namespace latchkey::api
