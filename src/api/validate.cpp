#include "api/validate.hpp"

#include <algorithm>

#include "api/credential.hpp"
#include "api/json_reader.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

constexpr std::size_t pointer_name_bytes_max = 200;

// A member's name as a JSON pointer (RFC 6901 §3). A long one is cut at a code point's end: it
// comes back in the answer, and is kept with it under an Idempotency-Key.
std::string pointer_to(std::string_view name) {
    if (name.size() > pointer_name_bytes_max) {
        auto end = pointer_name_bytes_max;
        while (end != 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
        name = name.substr(0, end);
    }
    std::string pointer = "/";
    for (char const byte : name) {
        if (byte == '~')
            pointer += "~0";
        else if (byte == '/')
            pointer += "~1";
        else
            pointer += byte;
    }
    return pointer;
}

}  // namespace

or_trouble<boost::json::object> read_object(http::request const& request) {
    auto document = read_json(request.body);
    bool const may_have_credential = request.method == http::method::post;
    if (may_have_credential && document.credential_twice)
        return trouble{base::problem::duplicate_credentials, "the member api_key is repeated", {}};
    if (!document.root) return trouble{base::problem::invalid_json, std::move(document.wrong), {}};
    auto* const object = document.root->if_object();
    if (object == nullptr)
        return trouble{
            base::problem::validation_failed,
            "the body must be a JSON object",
            {{base::fault::place::pointer, "", field_code::invalid_type, "must be an object"}}};
    auto const* const credential = object->if_contains(credential_member);
    if (may_have_credential && credential != nullptr) {
        if (auto const* const text = credential->if_string()) wipe(std::string_view(*text));
        object->erase(credential_member);
    }
    return std::move(*object);
}

or_trouble<boost::json::object> read_optional_object(http::request const& request) {
    if (request.body.empty()) return boost::json::object();
    return read_object(request);
}

void members::fault(std::string_view name, field_code code, std::string_view detail) {
    faults_.push_back(
        {base::fault::place::pointer, prefix_ + pointer_to(name), code, std::string(detail)});
}

void members::fault(std::string_view name, std::size_t index, field_code code,
                    std::string_view detail) {
    faults_.push_back({base::fault::place::pointer,
                       prefix_ + pointer_to(name) + "/" + std::to_string(index), code,
                       std::string(detail)});
}

boost::json::value const* members::value(std::string_view name) {
    known_.push_back(name);
    return from_.if_contains(name);
}

std::optional<std::int64_t> members::number(std::string_view name, bool required,
                                            std::int64_t least, std::int64_t most) {
    auto const* const value = find(name, required);
    if (value == nullptr) return std::nullopt;
    if (!value->is_int64() && !value->is_uint64())
        return fault(name, field_code::invalid_type, "must be an integer"), std::nullopt;
    auto const* const number = value->if_int64();
    if (number != nullptr && *number >= least && *number <= most) return *number;
    fault(name, field_code::out_of_range,
          "must be from " + std::to_string(least) + " to " + std::to_string(most));
    return std::nullopt;
}

boost::json::value const* members::find(std::string_view name, bool required) {
    known_.push_back(name);
    auto const* const value = from_.if_contains(name);
    if (value == nullptr && required) fault(name, field_code::required, "is required");
    if (value == nullptr || !value->is_null()) return value;
    fault(name, field_code::null_not_allowed, "must not be null");
    return nullptr;
}

std::optional<std::string> members::text(std::string_view name, text_rules const& rules) {
    auto const value = word(name, rules.required);
    if (!value) return std::nullopt;
    auto const points = model::points_of(*value);
    if (points < rules.points_min)
        return fault(name, field_code::too_short, "must not be empty"), std::nullopt;
    if (points > rules.points_max)
        return fault(name, field_code::too_long,
                     "must have at most " + std::to_string(rules.points_max) + " characters"),
               std::nullopt;
    if (value->size() > rules.bytes_max)
        return fault(name, field_code::too_long,
                     "must have at most " + std::to_string(rules.bytes_max) + " bytes"),
               std::nullopt;
    if (!rules.controls && model::has_control_character(*value))
        return fault(name, field_code::invalid_format, "must not have control characters"),
               std::nullopt;
    return std::string(*value);
}

std::optional<std::string_view> members::word(std::string_view name, bool required) {
    auto const* const value = find(name, required);
    if (value == nullptr) return std::nullopt;
    auto const* const text = value->if_string();
    if (text == nullptr)
        return fault(name, field_code::invalid_type, "must be a string"), std::nullopt;
    return std::string_view(*text);
}

std::optional<model::id> members::id(std::string_view name, bool required) {
    auto const* const value = find(name, required);
    if (value == nullptr) return std::nullopt;
    if (!value->is_int64() && !value->is_uint64())
        return fault(name, field_code::invalid_type, "must be an integer"), std::nullopt;
    auto const* const number = value->if_int64();
    if (number == nullptr || *number < 1 || *number > base::limits::id_max)
        return fault(name, field_code::out_of_range, "must be from 1 to 9007199254740991"),
               std::nullopt;
    return *number;
}

std::optional<model::id> members::sent_back_id(std::string_view name) {
    known_.push_back(name);
    auto const* const value = from_.if_contains(name);
    if (value == nullptr) return std::nullopt;
    auto const* const number = value->if_int64();
    if (number != nullptr) return *number;
    fault(name, field_code::read_only_field, "cannot be changed");
    return std::nullopt;
}

std::optional<std::optional<base::wall_ms>> members::sent_back_time(std::string_view name) {
    known_.push_back(name);
    auto const* const value = from_.if_contains(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_null()) return std::optional<base::wall_ms>();
    auto const* const text = value->if_string();
    auto const time = text != nullptr ? base::parse_timestamp(*text) : std::nullopt;
    if (time) return time;
    fault(name, field_code::read_only_field, "cannot be changed");
    return std::nullopt;
}

void members::refuse_read_only(std::string_view name) {
    known_.push_back(name);
    if (from_.if_contains(name) != nullptr)
        fault(name, field_code::read_only_field, "is assigned by the service");
}

void members::refuse_rest() {
    for (auto const& member : from_) {
        auto const name = std::string_view(member.key());
        if (std::find(known_.begin(), known_.end(), name) == known_.end())
            fault(name, field_code::unknown_field, "is not a member of this resource");
    }
}

}  // namespace latchkey::api
