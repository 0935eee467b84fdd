#include "api/docs/schema_page.hpp"

#include <boost/json/object.hpp>

#include "api/docs/html.hpp"
#include "api/docs/json_text.hpp"
#include "api/docs/schema_text.hpp"

namespace latchkey::api {

std::string schemas_content(reference const& reference) {
    std::string markup;
    html output(markup);
    output.raw(
        "<h1>Schemas</h1>\n<p class=\"lead\">The bodies of requests and answers. A request may "
        "have the members named here only; an answer may get more members with time.</p>\n");
    for (auto const& [name, value] : reference.schemas()) {
        auto const& schema = value.as_object();
        output.raw("<section class=\"schema\">\n").heading("h2", name, name);
        output.raw("<div class=\"columns\">\n<div class=\"text\">\n");
        output.marked(text_of(schema, "description"));
        if (schema.contains("properties")) {
            append_members(output, schema, schema.contains("additionalProperties"));
        } else {
            output.raw("<p>");
            append_type(output, schema);
            output.raw("</p>\n");
        }
        output.raw("</div>\n<div class=\"examples\">\n");
        if (schema.contains("properties") && name != "OpenApi")
            output.block("json", indented(reference.example_of(schema)) + "\n");
        output.raw("</div>\n</div>\n</section>\n");
    }
    return markup;
}

}  // namespace latchkey::api
