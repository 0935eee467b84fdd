// The page at /docs: the OpenAPI document as HTML.
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "api/openapi/openapi.hpp"
#include "api/openapi/page.hpp"
#include "api/route.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using json::object;
using std::string;
using std::string_view;

string_view text_of(object const& object, string_view member) {
    auto const* const value = object.if_contains(member);
    return value == nullptr || !value->is_string() ? string_view() : value->get_string();
}
string_view name_in(object const& reference) {
    auto const path = text_of(reference, "$ref");
    return path.substr(path.rfind('/') + 1);
}

class page {
  public:
    explicit page(object const& document)
        : document_(document), components_(document.at("components").as_object()) {}

    string render() {
        auto const& info = document_.at("info").as_object();
        begin_page(output_, text_of(info, "title"));
        append("<h1>", text_of(info, "title"), "</h1>\n");
        append_marked(output_, text_of(info, "description"));
        output_.append(
            "<p>The same for programs: <a href=\"/openapi.json\">openapi.json</a></p>\n");
        append_contents();
        append_credentials();
        for (auto const& group : document_.at("tags").as_array()) append_group(group.as_object());
        append_sent();
        append_schemas();
        append_problems();
        end_page(output_);
        return std::move(output_);
    }

  private:
    void append(string_view opening, string_view text, string_view closing) {
        output_.append(opening);
        append_escaped(output_, text);
        output_.append(closing);
    }

    // `each(method, path, operation, path item)`, of one group.
    template <class Each>
    void for_each_operation(string_view group, Each each) {
        for (auto const& [path, item] : document_.at("paths").as_object()) {
            bool const below_prefix = item.as_object().contains("servers");
            auto const whole = (below_prefix ? string(prefix) : string()).append(string_view(path));
            for (auto const& [method, value] : item.as_object()) {
                if (method == "parameters" || method == "servers") continue;
                auto const& operation = value.as_object();
                if (operation.at("tags").as_array().front().get_string() == group)
                    each(method, whole, operation, item.as_object());
            }
        }
    }

    void append_contents() {
        output_.append("<nav>\n");
        for (auto const& tag : document_.at("tags").as_array()) {
            auto const group = text_of(tag.as_object(), "name");
            append("<h4>", group, "</h4>\n<ul>\n");
            for_each_operation(
                group, [&](string_view, string_view, object const& operation, object const&) {
                    append("<li><a href=\"#", text_of(operation, "operationId"), "\">");
                    append("", text_of(operation, "summary"), "</a></li>\n");
                });
            output_.append("</ul>\n");
        }
        output_.append("</nav>\n");
    }

    void append_credentials() {
        output_.append("<h2>Credentials</h2>\n<table>\n");
        for (auto const& [name, scheme] : components_.at("securitySchemes").as_object()) {
            auto const& fields = scheme.as_object();
            append("<tr><td>", name, "</td><td>");
            append_marked(output_, text_of(fields, "description"));
            if (auto const field = text_of(fields, "name"); !field.empty())
                append("<code>", field,
                       fields.at("in") == "query" ? "=KEY</code>" : ": KEY</code>");
            output_.append("</td></tr>\n");
        }
        output_.append("</table>\n");
    }

    void append_group(object const& group) {
        append("<h2>", text_of(group, "name"), "</h2>\n");
        append_marked(output_, text_of(group, "description"));
        for_each_operation(
            text_of(group, "name"),
            [&](string_view method, string_view path, object const& operation, object const& item) {
                append_operation(method, path, operation, item);
            });
    }

    void append_operation(string_view method, string_view path, object const& operation,
                          object const& item) {
        string verb;
        for (char const c : method) verb.push_back(static_cast<char>(c & ~0x20));
        append("<h3 id=\"", text_of(operation, "operationId"), "\"><span class=\"method\">");
        append("", verb, "</span> ");
        append("<code>", path, "</code></h3>\n");
        append("<p>", text_of(operation, "summary"), "</p>\n");
        append_marked(output_, text_of(operation, "description"));
        output_.append("<table>\n");
        append_parameters(item);
        append_parameters(operation);
        if (auto const* const body = operation.if_contains("requestBody")) {
            output_.append("<tr><td>body</td><td>");
            bool const required = body->as_object().at("required").as_bool();
            append_type(schema_of_body(operation));
            output_.append(required ? "" : ", optional").append("</td><td></td></tr>\n");
        }
        append_responses(operation.at("responses").as_object());
        output_.append("</table>\n");
    }

    void append_parameters(object const& owner) {
        auto const* const list = owner.if_contains("parameters");
        if (list == nullptr) return;
        for (auto const& each : list->as_array()) {
            auto const& parameter =
                components_.at("parameters").as_object().at(name_in(each.as_object())).as_object();
            append("<tr><td><code>", text_of(parameter, "name"), "</code> ");
            append("<span class=\"soft\">", text_of(parameter, "in"), "</span></td><td>");
            append_type(parameter.at("schema").as_object());
            output_.append("</td><td>");
            append_marked(output_, text_of(parameter, "description"));
            output_.append("</td></tr>\n");
        }
    }

    void append_responses(object const& responses) {
        for (auto const& [status, reference] : responses) {
            auto const* response = &reference.as_object();
            if (response->contains("$ref"))
                response =
                    &components_.at("responses").as_object().at(name_in(*response)).as_object();
            append("<tr><td><strong>", status, "</strong></td><td>");
            if (auto const* const content = response->if_contains("content")) {
                auto const& first = *content->as_object().begin();
                auto const& schema = first.value().as_object().at("schema").as_object();
                if (first.key() == "application/problem+json")
                    output_.append("<a href=\"#schema-Problem\">Problem</a>");
                else
                    append_type(schema);
            }
            output_.append("</td><td>");
            append_marked(output_, text_of(*response, "description"));
            output_.append("</td></tr>\n");
        }
    }

    // In a few words: `integer, 1 to 100`, `list of User`.
    void append_type(object const& schema) {
        if (auto const name = name_in(schema); !name.empty()) {
            append("<a href=\"#schema-", name, "\">");
            append("", name, "</a>");
            return;
        }
        if (auto const* const choice = schema.if_contains("anyOf")) {
            for (bool first = true; auto const& each : choice->as_array()) {
                if (!std::exchange(first, false)) output_.append(" or ");
                append_type(each.as_object());
            }
            return;
        }
        if (auto const* const values = schema.if_contains("enum"))
            return append_words(values->as_array());
        if (auto const* const items = schema.if_contains("items")) {
            output_.append("list of ");
            append_type(items->as_object());
        } else if (auto const* const kind = schema.if_contains("type")) {
            kind->is_array() ? append_words(kind->as_array()) : append("", kind->get_string(), "");
        }
        append_bounds(schema);
    }
    void append_words(json::array const& values) {
        for (bool first = true; auto const& each : values) {
            if (!std::exchange(first, false)) output_.append(" | ");
            each.is_string() ? append("<code>", each.get_string(), "</code>")
                             : append("<code>", json::serialize(each), "</code>");
        }
    }
    void append_bounds(object const& schema) {
        for (auto const* const name : {"format", "pattern", "minimum", "maximum", "minLength",
                                       "maxLength", "maxItems", "maxProperties", "default"})
            if (auto const* const value = schema.if_contains(name)) {
                append(" <span class=\"soft\">", name, " ");
                value->is_string() ? append("<code>", value->get_string(), "</code></span>")
                                   : append("", json::serialize(*value), "</span>");
            }
    }

    // The requests that the service itself sends differ in their bodies alone.
    void append_sent() {
        auto const& requests = document_.at("webhooks").as_object();
        auto const& any = requests.begin()->value().as_object().at("post").as_object();
        output_.append("<h2>Sent to webhooks</h2>\n");
        append_marked(output_, text_of(any, "description"));
        output_.append("<table>\n");
        append_parameters(any);
        append_responses(any.at("responses").as_object());
        output_.append("</table>\n<table>\n");
        for (auto const& [type, item] : requests) {
            auto const& operation = item.as_object().at("post").as_object();
            append("<tr><td><code>", type, "</code></td><td>");
            append_type(schema_of_body(operation));
            output_.append("</td><td>");
            append_marked(output_, text_of(operation, "summary"));
            output_.append("</td></tr>\n");
        }
        output_.append("</table>\n");
    }
    static object const& schema_of_body(object const& operation) {
        auto const& content = operation.at("requestBody").as_object().at("content").as_object();
        return content.begin()->value().as_object().at("schema").as_object();
    }

    void append_schemas() {
        output_.append("<h2>Schemas</h2>\n");
        for (auto const& [name, value] : components_.at("schemas").as_object()) {
            auto const& schema = value.as_object();
            append("<h3 id=\"schema-", name, "\">");
            append("", name, "</h3>\n");
            append_marked(output_, text_of(schema, "description"));
            auto const* const properties = schema.if_contains("properties");
            if (properties == nullptr) {
                output_.append("<p>");
                append_type(schema);
                output_.append("</p>\n");
            } else {
                append_members(schema, properties->as_object());
            }
            if (auto const* const examples = schema.if_contains("examples"))
                append("<pre>", json::serialize(examples->as_array().front()), "</pre>\n");
        }
    }
    void append_members(object const& schema, object const& properties) {
        auto const* const required = schema.if_contains("required");
        output_.append("<table>\n");
        for (auto const& [name, property] : properties) {
            bool needed = false;
            if (required != nullptr)
                for (auto const& each : required->as_array()) needed |= each == json::value(name);
            append("<tr><td><code>", name,
                   needed ? "</code>" : "</code> <span class=\"soft\">optional</span>");
            output_.append("</td><td>");
            append_type(property.as_object());
            output_.append("</td><td>");
            append_marked(output_, text_of(property.as_object(), "description"));
            output_.append("</td></tr>\n");
        }
        output_.append("</table>\n");
    }

    void append_problems() {
        output_.append("<h2>Codes</h2>\n<ul>\n");
        auto const& problem = components_.at("schemas").as_object().at("Problem").as_object();
        auto const& code = problem.at("properties").as_object().at("code").as_object();
        for (auto const& each : code.at("enum").as_array()) {
            append("<li><a href=\"/problems/", each.get_string(), "\"><code>");
            append("", each.get_string(), "</code></a></li>\n");
        }
        output_.append("</ul>\n");
    }

    object const& document_;
    object const& components_;
    string output_;
};

}  // namespace

std::string docs_page(json::object const& document) {
    return page(document).render();
}

}  // namespace latchkey::api
