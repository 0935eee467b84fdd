#include "api/docs/schema_pages.hpp"

#include <boost/json/object.hpp>
#include <set>

#include "api/docs/html.hpp"
#include "api/docs/json_text.hpp"
#include "api/docs/schema_text.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using std::string;
using std::string_view;

// The names of all schemas to which the value refers, at any depth.
void collect_names(json::value const& value, std::set<string_view>& names) {
    if (auto const* const list = value.if_array())
        for (auto const& each : *list) collect_names(each, names);
    auto const* const object = value.if_object();
    if (object == nullptr) return;
    if (text_of(*object, "$ref").starts_with("#/components/schemas/"))
        names.insert(name_in(*object));
    for (auto const& [key, member] : *object) collect_names(member, names);
}

void append_uses(html& output, std::vector<schema_uses::place> const& places) {
    if (places.empty()) return;
    output.heading("h2", "uses", "Where it is used").raw("<ul>\n");
    for (auto const& [path, title] : places) output.raw("<li>").link(path, title).raw("</li>\n");
    output.raw("</ul>\n");
}

}  // namespace

schema_uses::schema_uses(reference const& reference) {
    for (auto const& each : reference.operations())
        add(*each.operation, {each.link(), each.summary()});
    add(reference.document().at("webhooks").as_object(),
        {"/docs/webhooks#sent", "What is sent to a webhook"});
    for (auto const& [name, schema] : reference.schemas())
        add(schema.as_object(), {"/docs/schemas/" + string(name), name});
}

void schema_uses::add(json::object const& owner, place const& place) {
    std::set<string_view> names;
    for (auto const& [key, member] : owner) collect_names(member, names);
    for (auto const name : names) places_[name].push_back(place);
}

std::vector<schema_uses::place> const& schema_uses::of(string_view schema) const {
    static std::vector<place> const nowhere;
    auto const entry = places_.find(schema);
    return entry == places_.end() ? nowhere : entry->second;
}

string schema_list_content(reference const& reference) {
    string markup;
    html output(markup);
    output.raw(
        "<h1>Schemas</h1>\n<p class=\"lead\">The bodies of requests and answers. A request may "
        "have the members named here only; an answer may get more members with time.</p>\n"
        "<ul class=\"contents schemas\">\n");
    for (auto const& [name, schema] : reference.schemas()) {
        auto const description = text_of(schema.as_object(), "description");
        output.raw("<li id=\"").text(name).raw("\"><a href=\"/docs/schemas/").text(name);
        output.raw("\"><code>").text(name).raw("</code> <span class=\"summary\">");
        output.line(description.substr(0, description.find('\n'))).raw("</span></a></li>\n");
    }
    output.raw("</ul>\n");
    return markup;
}

string schema_content(reference const& reference, schema_uses const& uses, string_view name,
                      json::object const& schema) {
    string markup;
    html output(markup);
    output.raw("<p class=\"trail\">").link("/docs/schemas", "Schemas").raw("</p>\n<h1>");
    output.text(name).raw("</h1>\n<div class=\"columns\">\n<div class=\"text\">\n");
    output.marked(text_of(schema, "description"));
    if (schema.contains("properties")) {
        append_members(output, schema, schema.contains("additionalProperties"));
    } else {
        output.raw("<p>");
        append_type(output, schema);
        output.raw("</p>\n");
    }
    append_uses(output, uses.of(name));
    output.raw("</div>\n<div class=\"examples\">\n");
    if (schema.contains("properties") && name != "OpenApi")
        output.block("json", indented(reference.example_of(schema)) + "\n");
    output.raw("</div>\n</div>\n");
    return markup;
}

}  // namespace latchkey::api
