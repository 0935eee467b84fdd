#include "api/frame/json/json_value.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::api {

json_object::json_object() = default;
json_object::json_object(std::vector<json_member> members) : members_(std::move(members)) {}
json_object::json_object(json_object const&) = default;
json_object::json_object(json_object&&) noexcept = default;
json_object& json_object::operator=(json_object const&) = default;
json_object& json_object::operator=(json_object&&) noexcept = default;
json_object::~json_object() = default;

json_value const* json_object::if_contains(std::string_view name) const {
    auto const place = std::ranges::find(members_, name, &json_member::name);
    return place == members_.end() ? nullptr : &place->value;
}

json_value* json_object::if_contains(std::string_view name) {
    return const_cast<json_value*>(std::as_const(*this).if_contains(name));
}

void json_object::erase(std::string_view name) {
    std::erase_if(members_, [&](json_member const& each) { return each.name == name; });
}

std::size_t json_object::size() const {
    return members_.size();
}
json_member const* json_object::begin() const {
    return members_.data();
}
json_member const* json_object::end() const {
    return members_.data() + members_.size();
}

}  // namespace latchkey::api
