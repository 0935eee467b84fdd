#include "api/credential.hpp"

#include <cstring>

#include "api/query.hpp"
#include "http/target.hpp"

namespace latchkey::api {
namespace {

using http::field_name;

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
}

// What follows "Bearer"; nullopt for another scheme.
std::optional<std::string_view> bearer_token(std::string_view value) {
    static constexpr std::string_view scheme = "bearer";
    if (value.size() < scheme.size()) return std::nullopt;
    for (std::size_t i = 0; i < scheme.size(); ++i)
        if (lower(value[i]) != scheme[i]) return std::nullopt;
    value.remove_prefix(scheme.size());
    if (value.empty()) return value;
    if (value.front() != ' ' && value.front() != '\t') return std::nullopt;
    auto const begin = value.find_first_not_of(" \t");
    return begin == value.npos ? std::string_view() : value.substr(begin);
}

// One way's findings: how often it was there, and the first of them.
struct finding {
    unsigned count = 0;
    std::string_view key;
    void add(std::string_view text) {
        if (count++ == 0) key = text;
    }
};

finding in_fields(http::request const& request, field_name name) {
    finding found;
    if (!request.find(name)) return found;
    for (auto const& field : request.fields()) {
        if (field.known != name) continue;
        if (name != field_name::authorization)
            found.add(field.value);
        else if (auto const token = bearer_token(field.value))
            found.add(*token);
    }
    return found;
}

finding in_query(std::string_view query) {
    finding found;
    http::query_cursor cursor(query);
    while (auto const parameter = cursor.next()) {
        auto const name = http::percent_decode(parameter->name, true);
        if (name == credential_parameter) found.add(parameter->value);
    }
    return found;
}

// Behind the closing quote of the string that begins at `at`. The text is JSON.
std::size_t end_of_string(std::string_view text, std::size_t at) {
    for (++at; text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
    return at + 1;
}

bool says(std::string_view quoted, std::string_view name) {
    if (quoted.find('\\') == quoted.npos) return quoted.substr(1, quoted.size() - 2) == name;
    auto const text = read_json(quoted);
    return text.root && text.root->is_string() && text.root->get_string() == name;
}

}  // namespace

credential find_credential(http::request const& request, bool allow_query, std::string& decoded) {
    auto const bearer = in_fields(request, field_name::authorization);
    auto const header = in_fields(request, field_name::x_api_key);
    auto found = allow_query && !request.query.empty() ? in_query(request.query) : finding();
    if (bearer.count > 1 || header.count > 1 || found.count > 1)
        return {base::problem::duplicate_credentials, key_source::none, {}};
    if (bearer.count != 0) return {base::problem::none, key_source::bearer, bearer.key};
    if (header.count != 0) return {base::problem::none, key_source::header, header.key};
    if (found.count == 0) return {};
    if (found.key.find_first_of("%+") != found.key.npos) {
        decoded = http::percent_decode(found.key, true).value_or("");
        found.key = decoded;
    }
    return {base::problem::none, key_source::query, found.key};
}

credential find_credential(json_document const& body) {
    if (body.credential_twice) return {base::problem::duplicate_credentials, key_source::body, {}};
    auto const* const object = body.root ? body.root->if_object() : nullptr;
    auto const* const member = object ? object->if_contains(credential_member) : nullptr;
    if (member == nullptr) return {base::problem::key_missing, key_source::none, {}};
    auto const* const text = member->if_string();
    return {base::problem::none, key_source::body,
            text ? std::string_view(*text) : std::string_view()};
}

void wipe(std::string_view secret) {
    // Digits of no meaning, so that a head that is parsed again is still well-formed.
    if (!secret.empty()) std::memset(const_cast<char*>(secret.data()), '0', secret.size());
}

void wipe_credential(std::string_view body) {
    wipe_member(body, credential_member);
}

void wipe_member(std::string_view body, std::string_view name) {
    unsigned depth = 0;
    bool is_next = false;  // the next string of depth 1 that is no name
    for (std::size_t i = 0; i < body.size();) {
        if (body[i] != '"') {
            if (body[i] == '{' || body[i] == '[') ++depth;
            if (body[i] == '}' || body[i] == ']') --depth;
            ++i;
            continue;
        }
        auto const end = end_of_string(body, i);
        auto const quoted = body.substr(i, end - i);
        bool const is_name = body[body.find_first_not_of(" \t\r\n", end)] == ':';
        if (depth == 1 && is_name)
            is_next = says(quoted, name);
        else if (depth == 1 && is_next)
            wipe(quoted.substr(1, quoted.size() - 2));
        i = end;
    }
}

void wipe_credentials(http::request const& request) {
    for (auto const name : {field_name::authorization, field_name::x_api_key}) {
        if (!request.find(name)) continue;
        for (auto const& field : request.fields()) {
            if (field.known != name) continue;
            auto const token =
                name == field_name::authorization ? bearer_token(field.value) : field.value;
            wipe(token.value_or(std::string_view()));
        }
    }
    if (request.query.empty()) return;
    http::query_cursor cursor(request.query);
    while (auto const parameter = cursor.next())
        if (http::percent_decode(parameter->name, true) == credential_parameter)
            wipe(parameter->value);
}

}  // namespace latchkey::api
