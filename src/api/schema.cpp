#include "api/schema.hpp"

#include <boost/json/array.hpp>

#include "base/limits.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

object object_of(members list, json::value example) {
    json::array required;
    object properties;
    for (auto const& [name, what] : list) {
        bool const optional = name.ends_with('?');
        auto const plain = name.substr(0, name.size() - (optional ? 1 : 0));
        properties[plain] = what;
        if (!optional) required.push_back(json::value(plain));
    }
    object made{{"type", "object"}};
    if (!required.empty()) made["required"] = std::move(required);
    made["properties"] = std::move(properties);
    if (!example.is_null()) made["examples"] = json::array{std::move(example)};
    return made;
}

}  // namespace

object text(std::int64_t least, std::int64_t most) {
    object made{{"type", "string"}};
    if (least > 0) made["minLength"] = least;
    made["maxLength"] = most;
    return made;
}
object matching(std::string_view pattern) {
    return {{"type", "string"}, {"pattern", pattern}};
}
object time() {
    return {{"type", "string"}, {"format", "date-time"}};
}
object id() {
    return integer(1, base::limits::id_max);
}
object integer(std::int64_t least, std::int64_t most) {
    return {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
}
object boolean() {
    return {{"type", "boolean"}};
}
object one_of(names values) {
    json::array all;
    for (auto const value : values) all.push_back(json::value(value));
    return {{"type", "string"}, {"enum", std::move(all)}};
}
object ref(std::string_view schema) {
    return {{"$ref", "#/components/schemas/" + std::string(schema)}};
}
object list_of(object element, std::int64_t most) {
    return {{"type", "array"}, {"items", std::move(element)}, {"maxItems", most}};
}
object map_of_text() {
    return {{"type", "object"}, {"additionalProperties", object{{"type", "string"}}}};
}

object nullable(object of) {
    auto const* const type = of.if_contains("type");
    if (type == nullptr)
        return {{"anyOf", json::array{json::value(std::move(of)), object{{"type", "null"}}}}};
    of["type"] = json::array{*type, "null"};
    if (auto* const values = of.if_contains("enum")) values->as_array().push_back(nullptr);
    return of;
}
object described(object what, std::string_view text) {
    what["description"] = text;
    return what;
}
object with_default(object what, json::value value) {
    what["default"] = std::move(value);
    return what;
}

object shown(members list, json::value example) {
    return object_of(list, std::move(example));
}
object sent(members list, json::value example) {
    auto made = object_of(list, std::move(example));
    made["additionalProperties"] = false;
    return made;
}

}  // namespace latchkey::api::schema
