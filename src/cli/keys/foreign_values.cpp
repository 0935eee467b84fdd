#include "cli/keys/foreign_values.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <charconv>
#include <cmath>

#include "base/ascii.hpp"

namespace latchkey::cli {
namespace {

using value = boost::json::value;

constexpr base::wall_ms latest = 253'402'300'799'999;  // 9999-12-31T23:59:59.999

base::error unknown_form(std::string_view name) {
    return {"its " + std::string(name) + " has a form that is not known here"};
}

value const* present(json_object const& object, std::string_view name) {
    auto const* const member = object.if_contains(name);
    return member != nullptr && !member->is_null() ? member : nullptr;
}

std::optional<std::int64_t> number_in(std::string_view text) {
    std::int64_t number = 0;
    auto const end = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<std::int64_t> whole_number(value const& source) {
    if (auto const* const number = source.if_int64()) return *number;
    if (auto const* const text = source.if_string()) return number_in(*text);
    auto const* const real = source.if_double();
    bool const is_whole =
        real != nullptr && std::trunc(*real) == *real && std::abs(*real) < 9'007'199'254'740'992.0;
    return is_whole ? std::optional(static_cast<std::int64_t>(*real)) : std::nullopt;
}

std::optional<bool> truth(value const& source) {
    if (auto const* const flag = source.if_bool()) return *flag;
    if (auto const* const text = source.if_string()) {
        if (base::equal_ignoring_case(*text, "true")) return true;
        if (base::equal_ignoring_case(*text, "false")) return false;
    }
    auto const number = whole_number(source);
    return number == 1 ? std::optional(true) : number == 0 ? std::optional(false) : std::nullopt;
}

std::optional<base::wall_ms> time_of_text(std::string text) {
    constexpr std::size_t date_bytes = 10, second_bytes = 19;
    if (text.size() == date_bytes) text += "T00:00:00";
    if (text.size() < second_bytes) return std::nullopt;
    if (text[date_bytes] == ' ') text[date_bytes] = 'T';
    // A column has no zone; Unkey writes UTC into it.
    if (text.find_first_not_of(".0123456789", second_bytes) == text.npos) text += 'Z';
    return base::parse_timestamp(text);
}

std::optional<base::wall_ms> time_of(value const& source) {
    auto time = whole_number(source);
    if (!time && source.is_string()) time = time_of_text(std::string(source.as_string()));
    return time && *time <= latest ? time : std::nullopt;
}

// nullopt: there is no member.
template <class Value>
base::result<std::optional<Value>> read_member(value const* member, std::string_view name,
                                               std::optional<Value> (*read)(value const&)) {
    if (member == nullptr) return std::optional<Value>();
    auto const content = read(*member);
    if (!content) return unknown_form(name);
    return content;
}

bool says_nothing(value const& source) {
    return source.is_null() || truth(source) == false ||
           (source.is_string() && source.as_string().empty());
}

}  // namespace

std::string column_name(std::string_view name) {
    std::string column;
    bool follows_small = false;
    for (char const byte : name) {
        bool const is_capital = byte >= 'A' && byte <= 'Z';
        if (is_capital && follows_small) column.push_back('_');
        column.push_back(base::to_lower(byte));
        follows_small = (byte >= 'a' && byte <= 'z') || base::is_digit(byte);
    }
    return column;
}

base::result<json_object> by_column_names(json_object const& object) {
    json_object columns;
    for (auto const& [name, content] : object) {
        auto const column = column_name(name);
        auto const [place, is_new] = columns.emplace(column, content);
        if (is_new || content.is_null() || place->value() == content) continue;
        if (!place->value().is_null()) return base::error{"it has two values of " + column};
        place->value() = content;
    }
    return columns;
}

base::result<std::optional<bool>> truth_in(json_object const& object, std::string_view name) {
    return read_member(object.if_contains(name), name, truth);
}

base::result<std::optional<std::int64_t>> whole_number_in(json_object const& object,
                                                          std::string_view name) {
    return read_member(present(object, name), name, whole_number);
}

base::result<std::optional<base::wall_ms>> time_in(json_object const& object,
                                                   std::string_view name) {
    return read_member(present(object, name), name, time_of);
}

std::string end_in(json_object const& object, std::initializer_list<std::string_view> others) {
    for (auto const& [name, content] : object) {
        auto const column = column_name(name);
        if (std::ranges::find(others, column) != others.end()) continue;
        if (column == "enabled" || column == "active" || column == "is_active") {
            auto const flag = truth(content);
            if (!flag) return unknown_form(name).message;
            if (!*flag) return "it is disabled";
        }
        if (column.starts_with("deleted_at") && !content.is_null()) return "it was deleted";
        static constexpr std::string_view ends[] = {"delet", "revok",   "disabl",
                                                    "expir", "suspend", "block"};
        bool const is_end = std::ranges::any_of(
            ends, [&](std::string_view end) { return column.find(end) != column.npos; });
        if (is_end && !says_nothing(content))
            return "its " + std::string(name) + " may end it, in a way that is not known here";
    }
    return {};
}

}  // namespace latchkey::cli
