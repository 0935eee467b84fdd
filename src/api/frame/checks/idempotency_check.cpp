#include "api/frame/checks/idempotency_check.hpp"

#include <algorithm>

#include "api/frame/checks/credential.hpp"
#include "api/frame/checks/query.hpp"
#include "auth/key_form.hpp"
#include "base/limits.hpp"
#include "wire/http/target.hpp"

namespace latchkey::api {
namespace {

// The text of an RFC 8941 string (§3.3.3), which begins with a quote; nullopt: not a string.
std::optional<std::string> unquoted_key(std::string_view quoted) {
    std::string text;
    for (std::size_t i = 1; i < quoted.size(); ++i) {
        if (quoted[i] == '"') return i + 1 == quoted.size() ? std::optional(text) : std::nullopt;
        if (quoted[i] == '\\') {
            if (++i == quoted.size() || (quoted[i] != '"' && quoted[i] != '\\'))
                return std::nullopt;
        }
        text.push_back(quoted[i]);
    }
    return std::nullopt;
}

bool is_visible(char byte) {
    return byte > ' ' && byte <= '~';
}

}  // namespace

std::optional<std::string> read_idempotency_key(std::string_view value) {
    auto text = value.starts_with('"') ? unquoted_key(value) : std::string(value);
    if (!text || text->empty() || text->size() > base::limits::idempotency_key_bytes_max)
        return std::nullopt;
    if (!std::ranges::all_of(*text, is_visible)) return std::nullopt;
    return text;
}

model::digest fingerprint(http::request const& request, std::string_view path, bool external) {
    // Neither method, path nor query can hold a line feed.
    std::string whole(http::name_of(request.method));
    whole.append("\n").append(path).append("\n");
    bool first = true;
    http::query_cursor cursor(request.query);
    while (auto const parameter = cursor.next()) {
        if (http::percent_decode(parameter->name, true) == credential_parameter) continue;
        if (!std::exchange(first, false)) whole.push_back('&');
        whole.append(parameter->whole);
    }
    whole.push_back('\n');
    bool const may_hold_key = request.method == http::method::post && !external;
    auto const body =
        may_hold_key ? without_credential(request.body) : body_parts{request.body, {}};
    whole.append(body.head).append(body.tail);
    return auth::digest_of(whole);
}

}  // namespace latchkey::api
