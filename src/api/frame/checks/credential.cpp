// Header fields and parameters are searched in place. A body is read twice: strictly for its
// credential, and by a scan of strings and depth that finds the member's bytes, to wipe them or to
// leave them out, even where the JSON is malformed. Wiping writes digits, so a head that is parsed
// again stays well-formed.
#include "api/frame/checks/credential.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "api/frame/checks/query.hpp"
#include "base/ascii.hpp"
#include "wire/http/target.hpp"

namespace latchkey::api {
namespace {

using http::field_name;

// The text after "Bearer"; nullopt for another scheme.
std::optional<std::string_view> bearer_token(std::string_view value) {
    static constexpr std::string_view scheme = "bearer";
    if (!base::equal_ignoring_case(value.substr(0, scheme.size()), scheme)) return std::nullopt;
    value.remove_prefix(scheme.size());
    if (value.empty()) return value;
    if (value.front() != ' ' && value.front() != '\t') return std::nullopt;
    auto const begin = value.find_first_not_of(" \t");
    return begin == value.npos ? std::string_view() : value.substr(begin);
}

// The credentials of one way: their number, and the first of them.
struct occurrences {
    unsigned count = 0;
    std::string_view key;
    void add(std::string_view text) {
        if (count++ == 0) key = text;
    }
};

occurrences in_fields(http::request const& request, field_name name) {
    occurrences result;
    if (!request.find(name)) return result;
    for (auto const& field : request.fields()) {
        if (field.id != name) continue;
        if (name != field_name::authorization)
            result.add(field.value);
        else if (auto const token = bearer_token(field.value))
            result.add(*token);
    }
    return result;
}

occurrences in_query(std::string_view query) {
    occurrences result;
    http::query_cursor cursor(query);
    while (auto const parameter = cursor.next()) {
        auto const name = http::percent_decode(parameter->name, true);
        if (name == credential_parameter) result.add(parameter->value);
    }
    return result;
}

constexpr std::string_view white_space = " \t\r\n";

// The position after the closing quote of the string that begins at `position`, or the end.
std::size_t end_of_string(std::string_view text, std::size_t position) {
    for (++position; position < text.size() && text[position] != '"'; ++position)
        if (text[position] == '\\') ++position;
    return std::min(position + 1, text.size());
}

// The change of depth at a byte outside of strings.
int depth_change(char byte) {
    switch (byte) {
        case '{':
        case '[':
            return 1;
        case '}':
        case ']':
            return -1;
        default:
            return 0;
    }
}

bool is_name(std::string_view text, std::size_t end_of_string) {
    auto const next = text.find_first_not_of(white_space, end_of_string);
    return next != text.npos && text[next] == ':';
}

// Takes one character of a string, which may be an escape (RFC 8259 §7); -1: not ASCII.
int take_character(std::string_view& rest) {
    auto const first = rest.front();
    rest.remove_prefix(1);
    if (first != '\\') return static_cast<unsigned char>(first) < 0x80 ? first : -1;
    if (rest.empty()) return -1;
    auto const kind = rest.front();
    rest.remove_prefix(1);
    if (kind != 'u') {
        static constexpr std::string_view letters = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
        auto const index = letters.find(kind);
        return index == letters.npos ? -1 : values[index];
    }
    unsigned value = 0;
    auto const digits = rest.substr(0, 4);
    auto const* const end = digits.data() + digits.size();
    if (digits.size() < 4 || std::from_chars(digits.data(), end, value, 16).ptr != end) return -1;
    rest.remove_prefix(4);
    return value < 0x80 ? static_cast<int>(value) : -1;
}

// Whether a quoted string equals `name`, which is ASCII. Stops at the first character that differs:
// a body can have a hundred thousand names.
bool equals(std::string_view quoted, std::string_view name) {
    auto rest = quoted.substr(1, quoted.size() - 2);
    for (char const each : name)
        if (rest.empty() || take_character(rest) != each) return false;
    return rest.empty();
}

// The text before `position`, without the white space at its end.
std::string_view before(std::string_view text, std::size_t position) {
    auto const part = text.substr(0, position);
    return part.substr(0, part.find_last_not_of(white_space) + 1);
}

// The value of each cookie of that name; a browser sends two where another path has one too.
void for_each_session(http::request const& request, auto const& visit) {
    if (!request.find(field_name::cookie)) return;
    for (auto const& field : request.fields()) {
        if (field.id != field_name::cookie) continue;
        for (auto rest = field.value; !rest.empty();) {
            auto const end = rest.find(';');
            auto pair = rest.substr(0, end);
            rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
            pair.remove_prefix(std::min(pair.find_first_not_of(" \t"), pair.size()));
            if (!pair.starts_with(session_cookie)) continue;
            pair.remove_prefix(session_cookie.size());
            if (pair.starts_with('=')) visit(pair.substr(1));
        }
    }
}

}  // namespace

std::string_view name_of(key_source source) {
    static constexpr std::string_view names[] = {"",     "bearer",  "header", "query",
                                                 "body", "session", "jwt"};
    return names[static_cast<std::size_t>(source)];
}

credential find_credential(http::request const& request, bool allow_query, std::string& decoded) {
    auto const bearer = in_fields(request, field_name::authorization);
    auto const header = in_fields(request, field_name::x_api_key);
    auto result = allow_query && !request.query.empty() ? in_query(request.query) : occurrences();
    if (bearer.count > 1 || header.count > 1 || result.count > 1)
        return {base::problem::duplicate_credentials, key_source::none, {}};
    if (bearer.count != 0) return {base::problem::none, key_source::bearer, bearer.key};
    if (header.count != 0) return {base::problem::none, key_source::header, header.key};
    if (result.count == 0) return {};
    if (result.key.find_first_of("%+") != result.key.npos) {
        decoded = http::percent_decode(result.key, true).value_or("");
        result.key = decoded;
    }
    return {base::problem::none, key_source::query, result.key};
}

credential find_credential(std::string_view body, base::secret& text) {
    auto const scan = scan_json(body, credential_member, repeats::allowed);
    if (scan.repeated) return {base::problem::duplicate_credentials, key_source::body, {}};
    if (!scan.error.empty() || !scan.has_member)
        return {base::problem::key_missing, key_source::none, {}};
    text = scan.text;
    return {base::problem::none, key_source::body, text.text()};
}

std::optional<std::string_view> find_session(http::request const& request) {
    std::optional<std::string_view> first;
    for_each_session(request, [&](std::string_view value) {
        if (!first) first = value;
    });
    return first;
}

bool is_from_own_page(http::request const& request, bool is_https) {
    // A browser sends each of them once.
    for (auto const name :
         {field_name::sec_fetch_site, field_name::origin, field_name::requested_with})
        if (request.count(name) > 1) return false;
    auto const site = request.find(field_name::sec_fetch_site);
    auto const origin = request.find(field_name::origin);
    if (site && *site != "same-origin") return false;
    if (origin) {
        auto const scheme_end = origin->find("://");
        if (scheme_end == origin->npos || origin->substr(scheme_end + 3) != request.authority ||
            (is_https && !origin->starts_with("https:")))
            return false;
    }
    bool const is_safe =
        request.method == http::method::get || request.method == http::method::head;
    if (is_safe) return site || origin;
    return origin && request.find(field_name::requested_with) == "latchkey";
}

void wipe(std::string_view secret) {
    // Digits, so that a head that is parsed again is still well-formed.
    if (!secret.empty()) std::memset(const_cast<char*>(secret.data()), '0', secret.size());
}

void wipe_credential(std::string_view body) {
    wipe_member(body, credential_member);
}

void wipe_member(std::string_view body, std::string_view name) {
    int depth = 0;
    bool is_value_next = false;  // the next string at depth 1 is the member's value
    for (std::size_t i = 0; i < body.size();) {
        if (body[i] != '"') {
            depth += depth_change(body[i]);
            ++i;
            continue;
        }
        auto const end = end_of_string(body, i);
        auto const quoted = body.substr(i, end - i);
        bool const named = is_name(body, end);
        if (depth == 1 && named)
            is_value_next = equals(quoted, name);
        else if (depth == 1 && is_value_next)
            wipe(quoted.substr(1, quoted.size() - 2));
        i = end;
    }
}

body_parts without_credential(std::string_view body) {
    constexpr auto none = std::string_view::npos;
    int depth = 0;
    std::size_t begin = none, comma = none;  // of the member, and the comma before it
    for (std::size_t i = 0; i < body.size(); ++i) {
        char const byte = body[i];
        bool const ends = depth == 1 && (byte == ',' || byte == '}');
        if (ends && begin != none) {
            bool const is_first = comma == none, is_last = byte == '}';
            if (!is_first && !is_last) return {body.substr(0, comma + 1), body.substr(i + 1)};
            if (!is_first) return {before(body, comma), body.substr(before(body, i).size())};
            if (is_last) return {before(body, begin), body.substr(i)};
            auto const next = std::min(body.find_first_not_of(white_space, i + 1), body.size());
            return {body.substr(0, begin), body.substr(next)};
        }
        if (ends) comma = i;
        if (byte != '"') {
            auto const step = depth_change(byte);
            if (step > 0 || depth != 0) depth += step;
            continue;
        }
        auto const end = end_of_string(body, i);
        if (depth == 1 && begin == none && is_name(body, end) &&
            equals(body.substr(i, end - i), credential_member))
            begin = i;
        i = end - 1;
    }
    return {body, {}};
}

void wipe_credentials(http::request const& request) {
    for (auto const name : {field_name::authorization, field_name::x_api_key}) {
        if (!request.find(name)) continue;
        for (auto const& field : request.fields()) {
            if (field.id != name) continue;
            auto const token =
                name == field_name::authorization ? bearer_token(field.value) : field.value;
            wipe(token.value_or(std::string_view()));
        }
    }
    for_each_session(request, wipe);
    if (request.query.empty()) return;
    http::query_cursor cursor(request.query);
    while (auto const parameter = cursor.next())
        if (http::percent_decode(parameter->name, true) == credential_parameter)
            wipe(parameter->value);
}

}  // namespace latchkey::api
