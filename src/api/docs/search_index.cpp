#include "api/docs/search_index.hpp"

#include <boost/json/object.hpp>

#include "api/frame/problem_document.hpp"
#include "base/problem.hpp"
#include "web/guides.hpp"

namespace latchkey::api {

namespace json = boost::json;
using std::string;
using std::string_view;

json::array search_index(reference const& reference) {
    json::array all;
    auto const add = [&](string_view title, string_view path, string_view kind, string_view text) {
        all.push_back(
            json::object{{"title", title}, {"path", path}, {"kind", kind}, {"text", text}});
    };
    for (auto const& guide : web::guides()) {
        auto const path = "/docs/" + string(guide.name);
        add(guide.title, path, "Guide", guide.summary);
        for (auto const& heading : guide.headings)
            add(heading.text, path + "#" + string(heading.id), "Guide", guide.title);
    }
    for (auto const& each : reference.operations())
        add(each.summary(), each.link(), "Operation",
            each.method + " " + each.path + " " + string(each.id()));
    for (auto const& [name, schema] : reference.schemas())
        add(name, "/docs/schemas#" + string(name), "Schema",
            text_of(schema.as_object(), "description"));
    for (auto const& entry : base::problems)
        if (entry.code != base::problem::none)
            add(entry.name, "/problems/" + string(entry.name), "Problem",
                std::to_string(entry.status) + " " + string(entry.title));
    return all;
}

}  // namespace latchkey::api
