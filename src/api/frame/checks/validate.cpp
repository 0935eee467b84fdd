// Each function takes a member by name, notes the name, and returns the value or adds a fault; it
// never stops at the first. `refuse_rest` compares the members of the object with the names that
// were noted, by linear searches, since a body has few members.
#include "api/frame/checks/validate.hpp"

#include <algorithm>

#include "api/frame/checks/credential.hpp"
#include "api/frame/json/json_reader.hpp"
#include "api/frame/refusal_detail.hpp"
#include "model/utf8.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

// A member's name as a JSON pointer (RFC 6901 §3). Cut, since it is sent back and kept with the
// refusal under an Idempotency-Key.
std::string pointer_to(std::string_view name) {
    std::string pointer = "/";
    for (char const byte : shown_name(name)) {
        if (byte == '~')
            pointer += "~0";
        else if (byte == '/')
            pointer += "~1";
        else
            pointer += byte;
    }
    return pointer;
}

api_error too_much(json_excess const& excess) {
    return make_error(base::problem::validation_failed,
                      "The body has more members than any request needs.",
                      {base::fault::location_kind::pointer,
                       excess.member.empty() ? "" : pointer_to(excess.member), field_code::too_long,
                       excess.bound});
}

}  // namespace

api_result<json_object> read_object(http::request const& request) {
    auto document = read_json(request.body);
    bool const may_have_credential = request.method == http::method::post;
    if (may_have_credential && document.duplicate_credential)
        return make_error(base::problem::duplicate_credentials,
                          "The member `api_key` is repeated.");
    if (document.excess) return too_much(*document.excess);
    if (!document.root) return invalid_json("body", document.error);
    auto* const object = document.root->if_object();
    if (object == nullptr) return not_an_object("body");
    auto const* const credential = object->if_contains(credential_member);
    if (may_have_credential && credential != nullptr) {
        if (auto const* const text = credential->if_string()) wipe(std::string_view(*text));
        object->erase(credential_member);
    }
    return std::move(*object);
}

api_result<json_object> read_optional_object(http::request const& request) {
    if (request.body.empty()) return json_object();
    return read_object(request);
}

void members::fault(std::string_view name, field_code code, std::string_view detail) {
    if (full()) return;
    faults_.push_back({base::fault::location_kind::pointer, prefix_ + pointer_to(name), code,
                       std::string(detail)});
}

void members::fault(std::string_view name, std::size_t index, field_code code,
                    std::string_view detail) {
    if (full()) return;
    faults_.push_back({base::fault::location_kind::pointer,
                       prefix_ + pointer_to(name) + "/" + std::to_string(index), code,
                       std::string(detail)});
}

json_value const* members::value(std::string_view name) {
    names_.push_back(name);
    return object_.if_contains(name);
}

std::optional<std::int64_t> members::number(std::string_view name, bool required,
                                            std::int64_t minimum, std::int64_t maximum) {
    auto const* const value = find(name, required);
    if (value == nullptr) return std::nullopt;
    if (!value->is_int64() && !value->is_uint64()) {
        fault(name, field_code::invalid_type, "must be an integer");
        return std::nullopt;
    }
    auto const* const number = value->if_int64();
    if (number != nullptr && *number >= minimum && *number <= maximum) return *number;
    fault(name, field_code::out_of_range,
          "must be from " + std::to_string(minimum) + " to " + std::to_string(maximum));
    return std::nullopt;
}

json_value const* members::find(std::string_view name, bool required) {
    names_.push_back(name);
    auto const* const value = object_.if_contains(name);
    if (value == nullptr && required) fault(name, field_code::required, "is required");
    if (value == nullptr || !value->is_null()) return value;
    fault(name, field_code::null_not_allowed, "must not be null");
    return nullptr;
}

std::optional<std::string> members::text(std::string_view name, text_rules const& rules) {
    auto const value = word(name, rules.required);
    if (!value) return std::nullopt;
    auto const points = model::code_point_count(*value);
    if (points < rules.points_min) {
        fault(name, field_code::too_short, "must not be empty");
        return std::nullopt;
    }
    if (points > rules.points_max) {
        fault(name, field_code::too_long,
              "must have at most " + std::to_string(rules.points_max) + " characters");
        return std::nullopt;
    }
    if (value->size() > rules.bytes_max) {
        fault(name, field_code::too_long,
              "must have at most " + std::to_string(rules.bytes_max) + " bytes");
        return std::nullopt;
    }
    if (!rules.controls && model::has_control_character(*value)) {
        fault(name, field_code::invalid_format, "must not have control characters");
        return std::nullopt;
    }
    if (points != 0 && !rules.blank && model::is_blank(*value)) {
        fault(name, field_code::invalid_format, "must not be white space alone");
        return std::nullopt;
    }
    return std::string(*value);
}

std::optional<std::string_view> members::word(std::string_view name, bool required) {
    auto const* const value = find(name, required);
    if (value == nullptr) return std::nullopt;
    auto const* const text = value->if_string();
    if (text == nullptr) {
        fault(name, field_code::invalid_type, "must be a string");
        return std::nullopt;
    }
    return std::string_view(*text);
}

std::optional<model::id> members::id(std::string_view name, bool required) {
    auto const* const value = find(name, required);
    if (value == nullptr) return std::nullopt;
    if (!value->is_int64() && !value->is_uint64()) {
        fault(name, field_code::invalid_type, "must be an integer");
        return std::nullopt;
    }
    auto const* const number = value->if_int64();
    if (number == nullptr || *number < 1 || *number > base::limits::id_max) {
        fault(name, field_code::out_of_range, "must be from 1 to 9007199254740991");
        return std::nullopt;
    }
    return *number;
}

std::optional<model::id> members::sent_back_id(std::string_view name) {
    names_.push_back(name);
    auto const* const value = object_.if_contains(name);
    if (value == nullptr) return std::nullopt;
    auto const* const number = value->if_int64();
    if (number != nullptr) return *number;
    fault(name, field_code::read_only_field,
          "cannot be changed: leave it out, or send it back unchanged");
    return std::nullopt;
}

std::optional<std::optional<base::wall_ms>> members::sent_back_time(std::string_view name) {
    names_.push_back(name);
    auto const* const value = object_.if_contains(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_null()) return std::optional<base::wall_ms>();
    auto const* const text = value->if_string();
    auto const time = text != nullptr ? base::parse_timestamp(*text) : std::nullopt;
    if (time) return time;
    fault(name, field_code::read_only_field,
          "cannot be changed: leave it out, or send it back unchanged");
    return std::nullopt;
}

void members::refuse_read_only(std::string_view name) {
    refused_names_.push_back(name);
    if (object_.if_contains(name) != nullptr)
        fault(name, field_code::read_only_field, "is assigned by the service: leave it out");
}

void members::refuse_rest() {
    std::size_t count = 0;
    auto const has = [](std::vector<std::string_view> const& names, std::string_view name) {
        return std::ranges::find(names, name) != names.end();
    };
    for (auto const& member : object_) {
        if (full()) return;
        if (has(names_, member.name) || has(refused_names_, member.name)) continue;
        auto const hint = count++ < suggestions_max ? suggestion(member.name, names_) : "";
        fault(member.name, field_code::unknown_field, "is not a member of this resource" + hint);
    }
}

std::optional<base::wall_ms> take_time(members& body, std::string_view name) {
    auto const* const value = body.value(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_null()) return 0;
    auto const* const text = value->if_string();
    if (text == nullptr) {
        body.fault(name, field_code::invalid_type, "must be a string or null");
        return std::nullopt;
    }
    auto const time = base::parse_timestamp(*text);
    if (!time)
        body.fault(name, field_code::invalid_format,
                   "must be an RFC 3339 time such as 2026-01-02T03:04:05Z");
    else if (*time <= 0)
        body.fault(name, field_code::out_of_range, "must be after 1970");
    return time && *time > 0 ? time : std::nullopt;
}

}  // namespace latchkey::api
