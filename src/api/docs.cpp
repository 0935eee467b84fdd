// The page at /docs: the OpenAPI document as people read it.
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "api/openapi.hpp"
#include "api/page.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using json::object;
using std::string;
using std::string_view;

string_view text_of(object const& from, string_view member) {
    auto const* const found = from.if_contains(member);
    return found == nullptr || !found->is_string() ? string_view() : found->get_string();
}
string_view name_in(object const& reference) {
    auto const path = text_of(reference, "$ref");
    return path.substr(path.rfind('/') + 1);
}

class page {
  public:
    explicit page(object const& document)
        : document_(document), components_(document.at("components").as_object()) {}

    string make() {
        auto const& info = document_.at("info").as_object();
        begin_page(to_, text_of(info, "title"));
        put("<h1>", text_of(info, "title"), "</h1>\n");
        append_marked(to_, text_of(info, "description"));
        to_.append("<p>The same for programs: <a href=\"/openapi.json\">openapi.json</a></p>\n");
        contents();
        credentials();
        for (auto const& group : document_.at("tags").as_array()) operations_of(group.as_object());
        schemas();
        problems();
        end_page(to_);
        return std::move(to_);
    }

  private:
    void put(string_view before, string_view text, string_view behind) {
        to_.append(before);
        append_escaped(to_, text);
        to_.append(behind);
    }

    // `each(method, path, operation, path item)`, of one group.
    template <class Each>
    void for_each_operation(string_view group, Each each) {
        for (auto const& [path, item] : document_.at("paths").as_object())
            for (auto const& [method, what] : item.as_object()) {
                if (method == "parameters") continue;
                auto const& operation = what.as_object();
                if (operation.at("tags").as_array().front().get_string() == group)
                    each(method, path, operation, item.as_object());
            }
    }

    void contents() {
        to_.append("<nav>\n");
        for (auto const& tag : document_.at("tags").as_array()) {
            auto const group = text_of(tag.as_object(), "name");
            put("<h4>", group, "</h4>\n<ul>\n");
            for_each_operation(group,
                               [&](string_view, string_view, object const& what, object const&) {
                                   put("<li><a href=\"#", text_of(what, "operationId"), "\">");
                                   put("", text_of(what, "summary"), "</a></li>\n");
                               });
            to_.append("</ul>\n");
        }
        to_.append("</nav>\n");
    }

    void credentials() {
        to_.append("<h2>Credentials</h2>\n<table>\n");
        for (auto const& [name, scheme] : components_.at("securitySchemes").as_object()) {
            auto const& of = scheme.as_object();
            put("<tr><td>", name, "</td><td>");
            append_marked(to_, text_of(of, "description"));
            if (auto const field = text_of(of, "name"); !field.empty())
                put("<code>", field, of.at("in") == "query" ? "=KEY</code>" : ": KEY</code>");
            to_.append("</td></tr>\n");
        }
        to_.append("</table>\n");
    }

    void operations_of(object const& group) {
        put("<h2>", text_of(group, "name"), "</h2>\n");
        append_marked(to_, text_of(group, "description"));
        for_each_operation(text_of(group, "name"),
                           [&](string_view method, string_view path, object const& what,
                               object const& item) { operation(method, path, what, item); });
    }

    void operation(string_view method, string_view path, object const& what, object const& item) {
        string verb;
        for (char const c : method) verb.push_back(static_cast<char>(c & ~0x20));
        put("<h3 id=\"", text_of(what, "operationId"), "\"><span class=\"method\">");
        put("", verb, "</span> ");
        put("<code>", path, "</code></h3>\n");
        put("<p>", text_of(what, "summary"), "</p>\n");
        append_marked(to_, text_of(what, "description"));
        to_.append("<table>\n");
        parameters(item);
        parameters(what);
        if (auto const* const body = what.if_contains("requestBody")) {
            auto const& content = body->as_object().at("content").as_object();
            to_.append("<tr><td>body</td><td>");
            bool const required = body->as_object().at("required").as_bool();
            type(content.begin()->value().as_object().at("schema").as_object());
            to_.append(required ? "" : ", optional").append("</td><td></td></tr>\n");
        }
        answers(what.at("responses").as_object());
        to_.append("</table>\n");
    }

    void parameters(object const& of) {
        auto const* const list = of.if_contains("parameters");
        if (list == nullptr) return;
        for (auto const& each : list->as_array()) {
            auto const& what =
                components_.at("parameters").as_object().at(name_in(each.as_object())).as_object();
            put("<tr><td><code>", text_of(what, "name"), "</code> ");
            put("<span class=\"soft\">", text_of(what, "in"), "</span></td><td>");
            type(what.at("schema").as_object());
            to_.append("</td><td>");
            append_marked(to_, text_of(what, "description"));
            to_.append("</td></tr>\n");
        }
    }

    void answers(object const& responses) {
        for (auto const& [status, reference] : responses) {
            auto const* what = &reference.as_object();
            if (what->contains("$ref"))
                what = &components_.at("responses").as_object().at(name_in(*what)).as_object();
            put("<tr><td><strong>", status, "</strong></td><td>");
            if (auto const* const content = what->if_contains("content")) {
                auto const& first = *content->as_object().begin();
                auto const& schema = first.value().as_object().at("schema").as_object();
                if (first.key() == "application/problem+json")
                    to_.append("<a href=\"#schema-Problem\">Problem</a>");
                else
                    type(schema);
            }
            to_.append("</td><td>");
            append_marked(to_, text_of(*what, "description"));
            to_.append("</td></tr>\n");
        }
    }

    // In a few words: `integer, 1 to 100`, `list of User`.
    void type(object const& of) {
        if (auto const name = name_in(of); !name.empty())
            return put("<a href=\"#schema-", name, "\">"), put("", name, "</a>");
        if (auto const* const choice = of.if_contains("anyOf")) {
            for (bool first = true; auto const& each : choice->as_array()) {
                if (!std::exchange(first, false)) to_.append(" or ");
                type(each.as_object());
            }
            return;
        }
        if (auto const* const values = of.if_contains("enum")) return words(values->as_array());
        if (auto const* const items = of.if_contains("items")) {
            to_.append("list of ");
            type(items->as_object());
        } else if (auto const* const kind = of.if_contains("type")) {
            kind->is_array() ? words(kind->as_array()) : put("", kind->get_string(), "");
        }
        bounds(of);
    }
    void words(json::array const& values) {
        for (bool first = true; auto const& each : values) {
            if (!std::exchange(first, false)) to_.append(" | ");
            each.is_string() ? put("<code>", each.get_string(), "</code>")
                             : put("<code>", json::serialize(each), "</code>");
        }
    }
    void bounds(object const& of) {
        for (auto const* const name : {"format", "pattern", "minimum", "maximum", "minLength",
                                       "maxLength", "maxItems", "maxProperties", "default"})
            if (auto const* const value = of.if_contains(name)) {
                put(" <span class=\"soft\">", name, " ");
                value->is_string() ? put("<code>", value->get_string(), "</code></span>")
                                   : put("", json::serialize(*value), "</span>");
            }
    }

    void schemas() {
        to_.append("<h2>Schemas</h2>\n");
        for (auto const& [name, value] : components_.at("schemas").as_object()) {
            auto const& of = value.as_object();
            put("<h3 id=\"schema-", name, "\">");
            put("", name, "</h3>\n");
            append_marked(to_, text_of(of, "description"));
            auto const* const properties = of.if_contains("properties");
            if (properties == nullptr) {
                to_.append("<p>");
                type(of);
                to_.append("</p>\n");
            } else {
                members(of, properties->as_object());
            }
            if (auto const* const examples = of.if_contains("examples"))
                put("<pre>", json::serialize(examples->as_array().front()), "</pre>\n");
        }
    }
    void members(object const& of, object const& properties) {
        auto const* const required = of.if_contains("required");
        to_.append("<table>\n");
        for (auto const& [name, what] : properties) {
            bool needed = false;
            if (required != nullptr)
                for (auto const& each : required->as_array()) needed |= each == json::value(name);
            put("<tr><td><code>", name,
                needed ? "</code>" : "</code> <span class=\"soft\">optional</span>");
            to_.append("</td><td>");
            type(what.as_object());
            to_.append("</td><td>");
            append_marked(to_, text_of(what.as_object(), "description"));
            to_.append("</td></tr>\n");
        }
        to_.append("</table>\n");
    }

    void problems() {
        to_.append("<h2>Codes</h2>\n<ul>\n");
        auto const& problem = components_.at("schemas").as_object().at("Problem").as_object();
        auto const& code = problem.at("properties").as_object().at("code").as_object();
        for (auto const& each : code.at("enum").as_array()) {
            put("<li><a href=\"/problems/", each.get_string(), "\"><code>");
            put("", each.get_string(), "</code></a></li>\n");
        }
        to_.append("</ul>\n");
    }

    object const& document_;
    object const& components_;
    string to_;
};

}  // namespace

std::string docs_page(json::object const& document) {
    return page(document).make();
}

}  // namespace latchkey::api
