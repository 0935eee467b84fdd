#include "api/docs/schema_text.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "api/docs/reference.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using json::object;
using std::string;
using std::string_view;

string text_of_value(json::value const& value) {
    return value.is_string() ? string(value.get_string()) : json::serialize(value);
}

void append_words(html& output, json::array const& values) {
    for (bool first = true; auto const& each : values) {
        if (!std::exchange(first, false)) output.raw(" | ");
        output.code(text_of_value(each));
    }
}

// "1 to 200", "at least 1", "at most 200"; empty: no bound.
string range_of(object const& schema, string_view least, string_view most) {
    auto const* const minimum = schema.if_contains(least);
    auto const* const maximum = schema.if_contains(most);
    if (minimum != nullptr && maximum != nullptr)
        return *minimum == *maximum
                   ? "exactly " + json::serialize(*minimum)
                   : json::serialize(*minimum) + " to " + json::serialize(*maximum);
    if (minimum != nullptr) return "at least " + json::serialize(*minimum);
    return maximum == nullptr ? string() : "at most " + json::serialize(*maximum);
}

void append_bounds(html& output, object const& schema) {
    struct bound {
        string_view least, most, unit;
    };
    static constexpr bound bounds[] = {{"minimum", "maximum", ""},
                                       {"minLength", "maxLength", " characters"},
                                       {"minItems", "maxItems", " elements"},
                                       {"minProperties", "maxProperties", " members"}};
    for (auto const& [least, most, unit] : bounds)
        if (auto const range = range_of(schema, least, most); !range.empty())
            output.raw(", ").text(range).raw(unit);
    if (auto const format = text_of(schema, "format"); !format.empty())
        output.raw(", ").text(format);
    if (auto const pattern = text_of(schema, "pattern"); pattern == "\\S")
        output.raw(", not blank");
    else if (!pattern.empty() && pattern.size() <= 48)
        output.raw(", pattern ").code(pattern);
    if (auto const* const value = schema.if_contains("default"))
        output.raw(", default ").code(text_of_value(*value));
}

}  // namespace

void append_type(html& output, object const& schema) {
    if (auto const name = name_in(schema); !name.empty()) {
        output.link("/docs/schemas/" + string(name), name);
        return;
    }
    if (auto const* const choice = schema.if_contains("anyOf")) {
        for (bool first = true; auto const& each : choice->as_array()) {
            if (!std::exchange(first, false)) output.raw(" or ");
            append_type(output, each.as_object());
        }
        return;
    }
    if (auto const* const values = schema.if_contains("enum")) {
        append_words(output, values->as_array());
        if (auto const* const value = schema.if_contains("default"))
            output.raw(", default ").code(text_of_value(*value));
        return;
    }
    if (auto const* const items = schema.if_contains("items")) {
        output.raw("list of ");
        append_type(output, items->as_object());
    } else if (auto const* const type = schema.if_contains("type")) {
        if (type->is_array()) {
            for (bool first = true; auto const& each : type->as_array())
                output.raw(std::exchange(first, false) ? "" : " or ").text(each.get_string());
        } else {
            output.text(type->get_string());
        }
    }
    append_bounds(output, schema);
}

void append_entry(html& output, string_view name, string_view note, object const& schema,
                  string_view description) {
    output.raw("<div><dt>").code(name);
    if (!note.empty()) output.raw(" <span class=\"note\">").text(note).raw("</span>");
    output.raw("</dt><dd><span class=\"type\">");
    append_type(output, schema);
    output.raw("</span>");
    if (!description.empty()) output.raw(" ").line(description);
    output.raw("</dd></div>\n");
}

void append_members(html& output, object const& schema, bool is_request) {
    auto const* const required = schema.if_contains("required");
    output.raw("<dl class=\"members\">\n");
    for (auto const& [name, property] : schema.at("properties").as_object()) {
        bool const is_required =
            required != nullptr && std::ranges::any_of(required->as_array(), [&](auto const& each) {
                return each == json::value(name);
            });
        auto const& member = property.as_object();
        auto const note = is_request ? (is_required ? "required" : "optional")
                                     : (is_required ? "" : "may be absent");
        append_entry(output, name, note, member, text_of(member, "description"));
    }
    output.raw("</dl>\n");
}

}  // namespace latchkey::api
