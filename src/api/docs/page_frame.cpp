#include "api/docs/page_frame.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/docs/client_packages.hpp"
#include "api/docs/html.hpp"
#include "base/ascii.hpp"
#include "web/files.hpp"
#include "web/guides.hpp"

namespace latchkey::api {
namespace {

using std::string;
using std::string_view;

void append_link(html& output, string_view target, string_view title, string_view current) {
    output.raw("<li><a href=\"").text(target).raw("\"");
    if (target == current) output.raw(" aria-current=\"page\"");
    output.raw(">").text(title).raw("</a></li>\n");
}

}  // namespace

// The operations of one group are shown, those of the others are folded.
string frame::navigation(string_view path) const {
    string markup;
    html output(markup);
    output.raw("<ul>\n");
    append_link(output, "/docs", "Overview", path);
    string_view group;
    for (auto const& guide : web::guides()) {
        if (guide.group != group) {
            group = guide.group;
            output.raw("</ul>\n<h2>").text(group).raw("</h2>\n<ul>\n");
        }
        append_link(output, "/docs/" + string(guide.name), guide.title, path);
    }
    output.raw("</ul>\n<h2>Reference</h2>\n");
    for (auto const& group : reference_.groups()) {
        auto const name = text_of(group.as_object(), "name");
        auto const page = "/docs/" + base::to_lower(name);
        output.raw(page == path ? "<details open>" : "<details>").raw("<summary>").text(name);
        output.raw("</summary>\n<ul>\n");
        append_link(output, page, "All operations", path);
        for (auto const& each : reference_.operations())
            if (each.page == page) {
                output.raw("<li><a href=\"").text(each.link()).raw("\"><span class=\"method ");
                output.raw(base::to_lower(each.method))
                    .raw("\">")
                    .text(each.method)
                    .raw("</span> ");
                output.text(each.summary()).raw("</a></li>\n");
            }
        output.raw("</ul></details>\n");
    }
    output.raw("<h2>More</h2>\n<ul>\n");
    append_link(output, "/docs/schemas", "Schemas", path);
    append_link(output, "/problems", "Problems", path);
    append_link(output, clients_path, "Client packages", path);
    if (has_console_) append_link(output, "/console", "Console", path);
    output.raw("<li><a href=\"/openapi.json\">openapi.json</a></li>\n</ul>\n");
    return markup;
}

string frame::page(string_view path, string_view title, string_view content) const {
    string markup;
    html output(markup);
    output
        .raw(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")
        .text(title)
        .raw(" · latchkey</title>\n<link rel=\"icon\" type=\"image/svg+xml\" href=\"")
        .raw(web::find_file("icon.svg").path)
        .raw("\">\n<link rel=\"stylesheet\" href=\"")
        .raw(web::find_file("docs.css").path)
        .raw("\">\n<script type=\"module\" src=\"")
        .raw(web::find_file("docs.js").path)
        .raw(
            "\"></script>\n</head>\n<body>\n"
            "<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header class=\"top\">\n"
            "<button class=\"menu\" popovertarget=\"navigation\">Menu</button>\n"
            "<a class=\"brand\" href=\"/docs\"><img src=\"")
        .raw(web::find_file("icon.svg").path)
        .raw(
            "\" alt=\"\" width=\"28\" height=\"28\"> latchkey</a>\n"
            "<div id=\"search\" data-index=\"/docs/search.json\"></div>\n"
            "<nav class=\"elsewhere\" aria-label=\"Elsewhere\">");
    output.link("/problems", "Problems").raw(" ").link("/openapi.json", "OpenAPI");
    if (has_console_) output.raw(" ").link("/console", "Console");
    output
        .raw(
            "</nav>\n</header>\n<div class=\"layout\">\n"
            "<nav id=\"navigation\" popover aria-label=\"Documents\">\n")
        .raw(navigation(path))
        .raw("</nav>\n<main id=\"content\" tabindex=\"-1\">\n")
        .raw(content)
        .raw("</main>\n</div>\n</body>\n</html>\n");
    return markup;
}

}  // namespace latchkey::api
