#include "api/docs/guide_pages.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/docs/html.hpp"
#include "api/docs/problem_pages.hpp"
#include "base/ascii.hpp"

namespace latchkey::api {
namespace {

using std::string;
using std::string_view;

void append_card(html& output, string_view target, string_view title, string_view text) {
    output.raw("<li><a href=\"").text(target).raw("\"><strong>").text(title);
    output.raw("</strong> <span>").line(text).raw("</span></a></li>\n");
}

void append_headings(html& output, web::guide const& guide) {
    output.raw("<nav class=\"toc\" aria-label=\"On this page\">\n<h2>On this page</h2>\n<ul>\n");
    for (auto const& heading : guide.headings)
        output.raw("<li>").link("#" + string(heading.id), heading.text).raw("</li>\n");
    if (guide.name == "errors")
        output.raw("<li>").link("#shared", "Problems of all operations").raw("</li>\n");
    output.raw("</ul>\n</nav>\n");
}

// Cards for all guides, by group.
void append_guides(html& output) {
    auto rest = web::guides();
    while (!rest.empty()) {
        auto const group = rest.front().group;
        output.heading("h2", base::to_lower(group), group).raw("<ul class=\"cards\">\n");
        for (; !rest.empty() && rest.front().group == group; rest = rest.subspan(1))
            append_card(output, "/docs/" + string(rest.front().name), rest.front().title,
                        rest.front().summary);
        output.raw("</ul>\n");
    }
}

// The guides before and after this one.
void append_neighbours(html& output, web::guide const& guide) {
    auto const all = web::guides();
    auto const index = static_cast<std::size_t>(&guide - all.data());
    output.raw("<p class=\"neighbours\">");
    if (index > 0)
        output.raw("<a rel=\"prev\" href=\"/docs/")
            .text(all[index - 1].name)
            .raw("\">← ")
            .text(all[index - 1].title)
            .raw("</a> ");
    if (index + 1 < all.size())
        output.raw("<a rel=\"next\" href=\"/docs/")
            .text(all[index + 1].name)
            .raw("\">")
            .text(all[index + 1].title)
            .raw(" →</a>");
    output.raw("</p>\n");
}

}  // namespace

string start_content(reference const& reference, string_view base_url) {
    auto const origin = base_url.empty() ? string_view("https://127.0.0.1:8443") : base_url;
    string markup;
    html output(markup);
    output.raw(
        "<h1>latchkey</h1>\n<p class=\"lead\">Users, posts and API keys over HTTP, in JSON: with "
        "rate limits that hold, writes that are on disk when they are answered, events from "
        "outside, and every change told once, in order.</p>\n");
    output.heading("h2", "try", "A first request");
    output.block("sh", "export LATCHKEY_URL=" + string(origin) +
                           "\nexport LATCHKEY_KEY=…    # 48 letters and digits\n"
                           "curl -sS \"$LATCHKEY_URL/api/v1/users\" \\\n"
                           "  -H \"Authorization: Bearer $LATCHKEY_KEY\"\n");
    output.raw("<p>").link("/docs/first-request", "Where the key comes from, and what comes back");
    output.raw("</p>\n");
    append_guides(output);
    output.heading("h2", "reference", "Reference").raw("<ul class=\"cards\">\n");
    for (auto const& group : reference.groups()) {
        auto const name = text_of(group.as_object(), "name");
        append_card(output, "/docs/" + base::to_lower(name), name,
                    text_of(group.as_object(), "description"));
    }
    output.raw("</ul>\n").heading("h2", "interface", "What holds everywhere");
    output.marked(text_of(reference.document().at("info").as_object(), "description"));
    return markup;
}

string missing_content(bool has_console) {
    string markup;
    html output(markup);
    output.raw(
        "<h1>There is no such page</h1>\n<p class=\"lead\">Nothing is at this path. The search "
        "looks through all documents.</p>\n<ul class=\"cards\">\n");
    append_card(output, "/docs", "Documents", "The guides, and the operations by group.");
    if (has_console)
        append_card(output, "/console", "Console",
                    "Keys, users, posts and webhooks, in the browser.");
    append_card(output, "/docs/first-request", "API",
                "Programs find it below /api/v1, with a key. This is a first request.");
    append_card(output, "/problems", "Problems", "What each code of an error means.");
    output.raw("</ul>\n");
    return markup;
}

string guide_content(reference const& reference, web::guide const& guide) {
    string markup;
    html output(markup);
    output.raw("<div class=\"guide\">\n<article>\n<h1>").text(guide.title).raw("</h1>\n");
    output.raw(guide.html);
    if (guide.name == "errors") output.raw(shared_problems_content(reference));
    append_neighbours(output, guide);
    output.raw("</article>\n");
    append_headings(output, guide);
    output.raw("</div>\n");
    return markup;
}

}  // namespace latchkey::api
