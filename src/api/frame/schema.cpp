#include "api/frame/schema.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/limits.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

object object_of(members list, json::value example) {
    json::array required;
    object properties;
    for (auto const& [name, schema] : list) {
        bool const optional = name.ends_with('?');
        auto const plain = name.substr(0, name.size() - (optional ? 1 : 0));
        properties[plain] = schema;
        if (!optional) required.push_back(json::value(plain));
    }
    object result{{"type", "object"}};
    if (!required.empty()) result["required"] = std::move(required);
    result["properties"] = std::move(properties);
    if (!example.is_null()) result["examples"] = json::array{std::move(example)};
    return result;
}

}  // namespace

object text(std::int64_t minimum, std::int64_t maximum) {
    object result{{"type", "string"}};
    if (minimum > 0) result["minLength"] = minimum;
    result["maxLength"] = maximum;
    return result;
}
object not_blank(object text) {
    text["pattern"] = "\\S";
    return text;
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
object integer(std::int64_t minimum, std::int64_t maximum) {
    return {{"type", "integer"}, {"minimum", minimum}, {"maximum", maximum}};
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
object list_of(object element, std::int64_t maximum) {
    return {{"type", "array"}, {"items", std::move(element)}, {"maxItems", maximum}};
}
object map_of_text() {
    return {{"type", "object"}, {"additionalProperties", object{{"type", "string"}}}};
}

object nullable(object schema) {
    auto const* const type = schema.if_contains("type");
    if (type == nullptr)
        return {{"anyOf", json::array{json::value(std::move(schema)), object{{"type", "null"}}}}};
    schema["type"] = json::array{*type, "null"};
    if (auto* const values = schema.if_contains("enum")) values->as_array().push_back(nullptr);
    return schema;
}
object with_description(object schema, std::string_view text) {
    schema["description"] = text;
    return schema;
}
object with_default(object schema, json::value value) {
    schema["default"] = std::move(value);
    return schema;
}

object response_object(members list, json::value example) {
    return object_of(list, std::move(example));
}
object request_object(members list, json::value example) {
    auto result = object_of(list, std::move(example));
    result["additionalProperties"] = false;
    return result;
}

}  // namespace latchkey::api::schema
