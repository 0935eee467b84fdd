#include "api/docs/search_index.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <set>

#include "api/frame/problem_document.hpp"
#include "base/ascii.hpp"
#include "base/problem.hpp"
#include "web/guides.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using std::string;
using std::string_view;

// Appends what a schema or a parameter says in words: names, descriptions and enumerated values.
void collect_text(json::value const& value, string& text) {
    auto const append = [&](string_view words) { text.append(words).push_back(' '); };
    if (auto const* const list = value.if_array())
        for (auto const& each : *list) collect_text(each, text);
    auto const* const object = value.if_object();
    if (object == nullptr) return;
    append(text_of(*object, "name"));
    append(text_of(*object, "description"));
    if (auto const* const members = object->if_contains("properties"))
        for (auto const& [name, member] : members->as_object()) append(name);
    if (auto const* const values = object->if_contains("enum"))
        for (auto const& each : values->as_array())
            if (each.is_string()) append(each.get_string());
    for (auto const& [name, member] : *object)
        if (name != "examples") collect_text(member, text);
}

// Each word once, in lower case: words are letters and digits, as the script of the pages has them.
string words_of(string_view text) {
    std::set<string, std::less<>> words;
    string result, word;
    auto const end_word = [&] {
        if (!word.empty() && words.insert(word).second)
            result.append(result.empty() ? "" : " ").append(word);
        word.clear();
    };
    for (char const c : base::to_lower(text))
        if (base::is_letter(c) || base::is_digit(c))
            word.push_back(c);
        else
            end_word();
    end_word();
    return result;
}

// What the page says about the operation, without its answers.
string operation_text(reference const& reference, reference_operation const& operation) {
    string text(text_of(*operation.operation, "description"));
    text.push_back(' ');
    for (auto const* const each : operation.parameters) collect_text(*each, text);
    if (auto const* const body = operation.operation->if_contains("requestBody"))
        if (auto const* const schema = reference::json_schema(body->as_object()))
            collect_text(reference.resolve(*schema), text);
    return text;
}

}  // namespace

json::array search_index(reference const& reference) {
    json::array all;
    auto const add = [&](string_view title, string_view path, string_view kind, string_view summary,
                         string_view text) {
        all.push_back(json::object{{"title", title},
                                   {"path", path},
                                   {"kind", kind},
                                   {"text", summary},
                                   {"words", words_of(text)}});
    };
    for (auto const& guide : web::guides()) {
        auto const path = "/docs/" + string(guide.name);
        add(guide.title, path, "Guide", guide.summary, guide.plain);
        for (auto const& heading : guide.headings)
            add(heading.text, path + "#" + string(heading.id), "Guide", guide.title, heading.plain);
    }
    for (auto const& each : reference.operations())
        add(each.summary(), each.link(), "Operation",
            each.method + " " + each.path + " " + string(each.id()),
            operation_text(reference, each));
    for (auto const& entry : base::problems)
        if (entry.code != base::problem::none)
            add(entry.name, "/problems/" + string(entry.name), "Problem",
                std::to_string(entry.status) + " " + string(entry.title), advice_for(entry.code));
    for (auto const& [name, schema] : reference.schemas()) {
        string text;
        collect_text(schema, text);
        add(name, "/docs/schemas/" + string(name), "Schema",
            text_of(schema.as_object(), "description"), text);
    }
    return all;
}

}  // namespace latchkey::api
