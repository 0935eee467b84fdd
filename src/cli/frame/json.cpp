#include "cli/frame/json.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace latchkey::cli {
namespace {

// The position behind the value that begins at `position`: brackets are counted, those in strings
// are not.
std::size_t end_of_value(std::string_view text, std::size_t position) {
    std::size_t depth = 0;
    for (bool quoted = false; position < text.size(); ++position) {
        char const byte = text[position];
        if (quoted) {
            if (byte == '\\')
                ++position;
            else if (byte == '"')
                quoted = false;
            continue;
        }
        if (byte == '"')
            quoted = true;
        else if (byte == '{' || byte == '[')
            ++depth;
        else if ((byte == '}' || byte == ']' || byte == ',') && depth == 0)
            return position;
        else if (byte == '}' || byte == ']')
            --depth;
    }
    return position;
}

std::size_t skip_space(std::string_view text, std::size_t position) {
    return std::min(text.find_first_not_of(" \t\r\n", position), text.size());
}

std::string_view trimmed(std::string_view text) {
    auto const begin = skip_space(text, 0);
    return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

}  // namespace

base::result<json_object> parse_object(std::string_view text) {
    boost::system::error_code failure;
    auto document = boost::json::parse(text, failure);
    if (failure || !document.is_object())
        return base::error{
            "the answer is not a JSON object: is this the address of a latchkey "
            "service?"};
    return std::move(document.as_object());
}

std::string text_of(json_object const& document, std::string_view name, std::string const& none) {
    auto const* const value = document.if_contains(name);
    if (value == nullptr || value->is_null()) return none;
    if (auto const* const text = value->if_string()) return std::string(*text);
    return boost::json::serialize(*value);
}

std::string time_of(json_object const& document, std::string_view name, std::string const& none) {
    auto text = text_of(document, name);
    if (text.size() < 20) return none;
    text[10] = ' ';
    return text.substr(0, 19) + "Z";
}

std::string words_of(json_object const& document, std::string_view name) {
    std::string words;
    for (auto const& each : list_of(document, name))
        if (auto const* const text = each.if_string())
            words.append(words.empty() ? "" : " ").append(*text);
    return words;
}

std::int64_t number_of(json_object const& document, std::string_view name) {
    auto const* const value = document.if_contains(name);
    return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

bool is_true(json_object const& document, std::string_view name) {
    auto const* const value = document.if_contains(name);
    return value != nullptr && value->is_bool() && value->get_bool();
}

json_object const& object_of(json_object const& document, std::string_view name) {
    static json_object const none;
    auto const* const value = document.if_contains(name);
    return value != nullptr && value->is_object() ? value->get_object() : none;
}

boost::json::array const& list_of(json_object const& document, std::string_view name) {
    static boost::json::array const none;
    auto const* const value = document.if_contains(name);
    return value != nullptr && value->is_array() ? value->get_array() : none;
}

std::vector<json_object const*> objects_of(json_object const& document, std::string_view name) {
    std::vector<json_object const*> objects;
    for (auto const& each : list_of(document, name))
        if (auto const* const object = each.if_object()) objects.push_back(object);
    return objects;
}

bool is_list_of_objects(json_object const& document, std::string_view name) {
    auto const* const value = document.if_contains(name);
    return value != nullptr && value->is_array() &&
           objects_of(document, name).size() == value->get_array().size();
}

std::vector<std::string_view> elements_of(std::string_view document, std::string_view name) {
    std::vector<std::string_view> elements;
    auto const member = "\"" + std::string(name) + "\"";
    for (auto position = skip_space(document, 0) + 1; position < document.size();) {
        auto const end = end_of_value(document, position);
        auto const text = trimmed(document.substr(position, end - position));
        position = end + 1;
        if (!text.starts_with(member)) continue;
        // Behind the name and its colon.
        auto const begin = skip_space(text, skip_space(text, member.size()) + 1);
        if (begin == text.size() || text[begin] != '[') break;
        for (auto place = begin + 1; place < text.size();) {
            auto const stop = end_of_value(text, place);
            auto const element = trimmed(text.substr(place, stop - place));
            if (!element.empty()) elements.push_back(element);
            place = stop + 1;
        }
        break;
    }
    return elements;
}

}  // namespace latchkey::cli
