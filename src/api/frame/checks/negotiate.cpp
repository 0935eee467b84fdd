// Field values are cut by one function that knows quoted strings, at commas and then at semicolons.
// Of media ranges the most specific one that fits decides, and of weights only zero is told apart:
// there is one representation to choose.
#include "api/frame/checks/negotiate.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.hpp"

namespace latchkey::api {
namespace {

using base::equal_ignoring_case;

std::string_view trimmed(std::string_view text) {
    auto const begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Takes the text up to `separator`, but not up to one within a quoted string.
std::string_view take_until(std::string_view& rest, char separator) {
    bool quoted = false;
    std::size_t i = 0;
    for (; i < rest.size(); ++i) {
        if (rest[i] == '"') quoted = !quoted;
        if (rest[i] == '\\' && quoted) ++i;
        if (!quoted && i < rest.size() && rest[i] == separator) break;
    }
    auto const piece = rest.substr(0, std::min(i, rest.size()));
    rest.remove_prefix(std::min(i + 1, rest.size()));
    return trimmed(piece);
}

struct parameter {
    std::string_view name, value;
};

parameter take_parameter(std::string_view& rest) {
    auto text = take_until(rest, ';');
    auto const equals = text.find('=');
    if (equals == text.npos) return {text, {}};
    return {trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1))};
}

// The value of a token or a quoted string, with quoted pairs replaced (RFC 9110 §5.6.4).
std::string unquoted(std::string_view value) {
    if (value.size() < 2 || value.front() != '"' || value.back() != '"') return std::string(value);
    std::string text;
    for (std::size_t i = 1; i + 1 < value.size(); ++i) {
        if (value[i] == '\\' && i + 2 < value.size()) ++i;
        text.push_back(value[i]);
    }
    return text;
}

// 3: the type itself, 2: application/*, 1: */*, 0: something else.
int specificity(std::string_view range) {
    if (equal_ignoring_case(range, "application/json")) return 3;
    if (equal_ignoring_case(range, "application/*")) return 2;
    return range == "*/*" ? 1 : 0;
}

// A weight of zero excludes (RFC 9110 §12.4.2); an invalid one counts as 1.
bool is_zero(std::string_view weight) {
    return !weight.empty() && weight.front() == '0' &&
           weight.find_first_not_of("0.") == weight.npos;
}

// The parameters of a media range have q=0.
bool is_refused(std::string_view parameters) {
    bool refusal = false;
    while (!parameters.empty())
        if (auto const [name, value] = take_parameter(parameters); equal_ignoring_case(name, "q"))
            refusal = is_zero(unquoted(value));
    return refusal;
}

}  // namespace

bool accepts_json(http::request const& request) {
    if (!request.find(http::field_name::accept)) return true;
    int best = 0;
    bool accepted = false, any = false;
    for (auto const& field : request.fields()) {
        if (field.id != http::field_name::accept) continue;
        auto rest = field.value;
        while (!rest.empty()) {
            auto range = take_until(rest, ',');
            if (range.empty()) continue;
            any = true;
            auto const rank = specificity(take_until(range, ';'));
            bool const refusal = is_refused(range);
            if (rank == 0 || rank < best) continue;
            accepted = rank == best ? accepted || !refusal : !refusal;
            best = rank;
        }
    }
    return !any || accepted;
}

bool asks_for_events(http::request const& request) {
    for (auto const& field : request.fields()) {
        if (field.id != http::field_name::accept) continue;
        for (auto rest = field.value; !rest.empty();) {
            auto range = take_until(rest, ',');
            auto const type = take_until(range, ';');
            bool const is_events = equal_ignoring_case(type, "text/event-stream");
            if (!is_events && !equal_ignoring_case(type, "application/json")) continue;
            if (!is_refused(range)) return is_events;
        }
    }
    return false;
}

bool asks_for_html(http::request const& request) {
    for (auto const& field : request.fields()) {
        if (field.id != http::field_name::accept) continue;
        for (auto rest = field.value; !rest.empty();) {
            auto range = take_until(rest, ',');
            if (equal_ignoring_case(take_until(range, ';'), "text/html")) return !is_refused(range);
        }
    }
    return false;
}

std::string_view name_of(coding coding) {
    constexpr std::array<std::string_view, 3> names{"", "gzip", "br"};
    return names[static_cast<std::size_t>(coding)];
}

// `*` stands for no coding here: who knows brotli names it.
coding best_coding(http::request const& request) {
    auto best = coding::identity;
    for (auto const& field : request.fields()) {
        if (field.id != http::field_name::accept_encoding) continue;
        for (auto rest = field.value; !rest.empty();) {
            auto parameters = take_until(rest, ',');
            auto const name = take_until(parameters, ';');
            if (is_refused(parameters)) continue;
            if (equal_ignoring_case(name, "br")) return coding::brotli;
            if (equal_ignoring_case(name, "gzip")) best = coding::gzip;
        }
    }
    return best;
}

bool has_json_body(http::request const& request) {
    auto const value = request.find_only(http::field_name::content_type);
    if (!value) return false;
    auto rest = *value;
    auto const type = take_until(rest, ';');
    bool const patch = request.method == http::method::patch &&
                       equal_ignoring_case(type, "application/merge-patch+json");
    if (!equal_ignoring_case(type, "application/json") && !patch) return false;
    while (!rest.empty())
        if (auto const [name, text] = take_parameter(rest); equal_ignoring_case(name, "charset"))
            if (auto const charset = unquoted(text);
                !equal_ignoring_case(charset, "utf-8") && !equal_ignoring_case(charset, "utf8"))
                return false;
    return true;
}

bool has_coded_body(http::request const& request) {
    for (auto const& field : request.fields()) {
        if (field.id != http::field_name::content_encoding) continue;
        for (auto rest = field.value; !rest.empty();)
            if (auto const coding = take_until(rest, ',');
                !coding.empty() && !equal_ignoring_case(coding, "identity"))
                return true;
    }
    return false;
}

bool has_form_body(http::request const& request) {
    auto rest = request.find_only(http::field_name::content_type).value_or("");
    return equal_ignoring_case(take_until(rest, ';'), "application/x-www-form-urlencoded");
}

bool has_multipart_body(http::request const& request) {
    auto rest = request.find_only(http::field_name::content_type).value_or("");
    return equal_ignoring_case(take_until(rest, ';'), "multipart/form-data");
}

}  // namespace latchkey::api
