// One walk over the document collects the operations, group by group, with their parameters and
// problems; references are resolved by the last part of their path. Problems shared by all
// operations are the intersection of their sets. An example is the schema's own, else it is made of
// those of its parts.
#include "api/docs/reference.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <iterator>

#include "api/frame/route.hpp"
#include "base/ascii.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using json::object;
using std::string;
using std::string_view;

constexpr string_view problem_media = "application/problem+json";

// The type, where there is a choice the first one.
string_view type_of(object const& schema) {
    auto const* const type = schema.if_contains("type");
    if (type == nullptr) return {};
    return type->is_array() ? type->as_array().front().get_string() : type->get_string();
}

}  // namespace

string_view text_of(object const& object, string_view member) {
    auto const* const value = object.if_contains(member);
    return value == nullptr || !value->is_string() ? string_view() : value->get_string();
}

string_view name_in(object const& reference) {
    auto const path = text_of(reference, "$ref");
    return path.substr(path.rfind('/') + 1);
}

bool reference_operation::has_key() const {
    auto const* const security = operation->if_contains("security");
    return security == nullptr || !security->as_array().empty();
}

reference::reference(object const& document)
    : document_(document), components_(document.at("components").as_object()) {
    for (auto const& group : groups()) add_operations(text_of(group.as_object(), "name"));
    bool is_first = true;
    for (auto const& each : operations_) {
        if (!each.has_key()) continue;
        if (std::exchange(is_first, false)) shared_problems_ = each.problems;
        std::erase_if(shared_problems_,
                      [&](string_view code) { return !each.problems.contains(code); });
    }
}

boost::json::array const& reference::groups() const {
    return document_.at("tags").as_array();
}

void reference::add_operations(string_view group) {
    for (auto const& [path, item] : document_.at("paths").as_object()) {
        bool const is_below_prefix = item.as_object().contains("servers");
        auto const whole = (is_below_prefix ? string(prefix) : string()).append(string_view(path));
        for (auto const& [method, value] : item.as_object()) {
            if (method == "parameters" || method == "servers") continue;
            auto const& operation = value.as_object();
            if (operation.at("tags").as_array().front().get_string() != group) continue;
            if (group == "Gateway" && method != "get") continue;  // it answers all alike
            reference_operation one{.path = whole, .page = "/docs/" + base::to_lower(group)};
            for (char const c : method) one.method.push_back(static_cast<char>(c & ~0x20));
            one.operation = &operation;
            add_parameters(item.as_object(), one);
            add_parameters(operation, one);
            add_problems(one);
            operations_.push_back(std::move(one));
        }
    }
}

void reference::add_parameters(object const& owner, reference_operation& operation) const {
    auto const* const list = owner.if_contains("parameters");
    if (list == nullptr) return;
    for (auto const& each : list->as_array())
        operation.parameters.push_back(&component("parameters", name_in(each.as_object())));
}

void reference::add_problems(reference_operation& operation) const {
    for (auto const& [status, value] : operation.operation->at("responses").as_object()) {
        auto const name = name_in(value.as_object());
        if (name.empty()) continue;
        auto const* const content = component("responses", name).if_contains("content");
        if (content == nullptr) continue;
        auto const* const problem = content->as_object().if_contains(problem_media);
        if (problem == nullptr) continue;
        for (auto const& [code, example] : problem->as_object().at("examples").as_object())
            operation.problems.insert(code);
    }
}

object const& reference::component(string_view kind, string_view name) const {
    return components_.at(kind).as_object().at(name).as_object();
}

object const& reference::schemas() const {
    return components_.at("schemas").as_object();
}

object const& reference::resolve(object const& schema) const {
    auto const name = name_in(schema);
    return name.empty() ? schema : component("schemas", name);
}

object const* reference::json_schema(object const& owner) {
    auto const* const content = owner.if_contains("content");
    if (content == nullptr) return nullptr;
    auto const* const media = content->as_object().if_contains("application/json");
    return media == nullptr ? nullptr : &media->as_object().at("schema").as_object();
}

json::value reference::example_of(object const& schema) const {
    auto const& whole = resolve(schema);
    if (auto const* const examples = whole.if_contains("examples"))
        return examples->as_array().front();
    for (auto const* const name : {"const", "default"})
        if (auto const* const value = whole.if_contains(name)) return *value;
    for (auto const* const name : {"enum", "anyOf"})
        if (auto const* const values = whole.if_contains(name)) {
            auto const& first = values->as_array().front();
            return first.is_object() ? example_of(first.as_object()) : first;
        }
    return made_example(whole);
}

json::value reference::made_example(object const& schema) const {
    auto const type = type_of(schema);
    if (type == "object") {
        object result;
        if (auto const* const members = schema.if_contains("properties"))
            for (auto const& [name, member] : members->as_object())
                result[name] = example_of(member.as_object());
        return result;
    }
    if (type == "array") return json::array{example_of(schema.at("items").as_object())};
    if (type == "boolean") return true;
    if (type == "integer" || type == "number") {
        auto const* const minimum = schema.if_contains("minimum");
        return minimum == nullptr ? json::value(1) : *minimum;
    }
    return text_of(schema, "format") == "date-time" ? "2026-01-02T03:04:05.678Z" : "…";
}

}  // namespace latchkey::api
