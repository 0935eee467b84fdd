// Boost.JSON's parser calls a handler for each element; the handler keeps a depth and a number for
// each open container. Names are gathered with the number of their object and sorted at the end, so
// repetitions are found without a set for each object. Texts without escapes are views of the
// input.
#include "wire/jwt/json_object.hpp"

#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <cstring>
#include <tuple>

namespace latchkey::jwt {

namespace json = boost::json;

// Boost.JSON's callbacks; false stops the parser.
struct json_object::handler {
    static constexpr std::size_t max_object_size = SIZE_MAX;
    static constexpr std::size_t max_array_size = SIZE_MAX;
    static constexpr std::size_t max_key_size = SIZE_MAX;
    static constexpr std::size_t max_string_size = SIZE_MAX;

    handler(json_object& target, std::string_view input) : object(target), text(input) {}

    json_object& object;
    std::string_view text;
    std::array<std::size_t, json_depth_max + 1> scopes{};  // numbers of the open containers
    std::size_t depth = 0;
    std::size_t container_count = 0;
    std::pmr::string parts{&object.resource_};  // of a string that arrives in parts

    bool on_document_begin(json::error_code&) { return true; }
    bool on_document_end(json::error_code&) { return true; }
    bool on_comment_part(json::string_view, json::error_code&) { return true; }
    bool on_comment(json::string_view, json::error_code&) { return true; }

    bool on_object_begin(json::error_code&) { return enter(json_kind::object); }
    bool on_object_end(std::size_t, json::error_code&) { return leave(); }
    bool on_array_begin(json::error_code& error) {
        if (depth == 0) return stop(error);
        return enter(json_kind::strings);
    }
    bool on_array_end(std::size_t, json::error_code&) { return leave(); }

    bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
        return add_part(part);
    }
    bool on_key(json::string_view part, std::size_t, json::error_code& error) {
        if (object.names_.size() >= object.members_max_) return stop(error);
        auto const name = whole(part);
        object.names_.push_back({scopes[depth], name});
        if (depth == 1) object.members_.push_back({.name = name});
        return true;
    }
    bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
        return add_part(part);
    }
    bool on_string(json::string_view part, std::size_t, json::error_code& error) {
        return scalar(json_kind::string, whole(part), error);
    }
    bool on_number_part(json::string_view, json::error_code&) { return true; }
    bool on_int64(std::int64_t, json::string_view number, json::error_code& error) {
        return scalar(json_kind::number, {number.data(), number.size()}, error);
    }
    bool on_uint64(std::uint64_t, json::string_view number, json::error_code& error) {
        return scalar(json_kind::number, {number.data(), number.size()}, error);
    }
    bool on_double(double, json::string_view number, json::error_code& error) {
        return scalar(json_kind::number, {number.data(), number.size()}, error);
    }
    bool on_bool(bool, json::error_code& error) { return scalar(json_kind::boolean, {}, error); }
    bool on_null(json::error_code& error) { return scalar(json_kind::null, {}, error); }

    static bool stop(json::error_code& error) {
        error = json::error::extra_data;  // any will do
        return false;
    }
    bool enter(json_kind kind) {
        if (depth == 1)
            begin_value(kind);
        else if (depth > 1)
            end_strings();
        scopes[++depth] = ++container_count;
        return true;
    }
    bool leave() {
        --depth;
        return true;
    }
    void begin_value(json_kind kind) {
        auto& member = object.members_.back();
        member.kind = kind;
        member.first_string = object.strings_.size();
    }
    // An element of the member's value that is no string: it is not an array of strings.
    void end_strings() {
        auto& member = object.members_.back();
        if (member.kind != json_kind::strings) return;
        member.kind = json_kind::array;
        member.string_count = 0;
    }
    bool scalar(json_kind kind, std::string_view content, json::error_code& error) {
        if (depth == 0) return stop(error);
        auto& member = object.members_.back();
        if (depth == 1) {
            begin_value(kind);
            member.text = content;
        } else if (depth == 2 && member.kind == json_kind::strings && kind == json_kind::string) {
            object.strings_.push_back(content);
            ++member.string_count;
        } else {
            end_strings();
        }
        return true;
    }

    bool add_part(json::string_view part) {
        parts.append(part.data(), part.size());
        return true;
    }
    // The string that ends with this part: where it has no escape it lies in the text, else it is
    // copied out of the parser's buffer.
    std::string_view whole(json::string_view part) {
        bool const lies_in_text =
            part.data() >= text.data() && part.data() <= text.data() + text.size();
        if (parts.empty() && (part.empty() || lies_in_text)) return {part.data(), part.size()};
        add_part(part);
        auto* const copy = static_cast<char*>(object.resource_.allocate(parts.size(), 1));
        std::memcpy(copy, parts.data(), parts.size());
        std::string_view const result(copy, parts.size());
        parts.clear();
        return result;
    }
};

bool json_object::repeats_a_name() {
    auto const key = [](scoped_name const& each) {
        return std::tuple(each.object, each.name.size(), each.name);
    };
    std::ranges::sort(names_, {}, key);
    return std::ranges::adjacent_find(names_, {}, key) != names_.end();
}

json_fault json_object::read(std::string_view text) {
    members_.reserve(16);
    names_.reserve(24);
    json::parse_options options;
    options.max_depth = json_depth_max;
    json::basic_parser<handler> parser(options, *this, text);
    json::error_code error;
    auto const bytes = parser.write_some(false, text.data(), text.size(), error);
    if (error == json::error::too_deep) return json_fault::depth;
    if (error && names_.size() >= members_max_) return json_fault::excess;
    if (error || text.find_first_not_of(" \t\r\n", bytes) != text.npos) return json_fault::syntax;
    return repeats_a_name() ? json_fault::repetition : json_fault::none;
}

json_member const* json_object::find(std::string_view name) const {
    auto const place = std::ranges::find(members_, name, &json_member::name);
    return place == members_.end() ? nullptr : &*place;
}

}  // namespace latchkey::jwt
