#include "http/request.hpp"

#include <llhttp.h>

#include "http/bytes.hpp"

namespace latchkey::http {
namespace {

constexpr std::string_view llhttp_methods[] = {
#define LATCHKEY_METHOD(number, name, string) #string,
    HTTP_METHOD_MAP(LATCHKEY_METHOD)
#undef LATCHKEY_METHOD
};

constexpr std::string_view method_names[] = {"GET",   "HEAD",   "POST",    "PUT",
                                             "PATCH", "DELETE", "OPTIONS", "OTHER"};

// By field_name.
constexpr std::string_view known_names[] = {
    "accept",     "authorization",   "connection",        "content-length", "content-type",
    "expect",     "x-forwarded-for", "x-forwarded-proto", "host",           "idempotency-key",
    "if-match",   "if-none-match",   "x-request-id",      "traceparent",    "transfer-encoding",
    "user-agent", "x-api-key"};
static_assert(std::size(known_names) == static_cast<std::size_t>(field_name::count_));

// Length and first letter together tell all known names apart: one comparison decides.
constexpr field_name candidate(std::size_t size, char first) {
    auto const letter = static_cast<char>(first | 0x20);
    switch (size) {
        case 4:
            return field_name::host;
        case 6:
            return letter == 'a' ? field_name::accept : field_name::expect;
        case 8:
            return field_name::if_match;
        case 9:
            return field_name::x_api_key;
        case 10:
            return letter == 'c' ? field_name::connection : field_name::user_agent;
        case 11:
            return field_name::traceparent;
        case 12:
            return letter == 'c' ? field_name::content_type : field_name::request_id;
        case 13:
            return letter == 'a' ? field_name::authorization : field_name::if_none_match;
        case 14:
            return field_name::content_length;
        case 15:
            return letter == 'x' ? field_name::forwarded_for : field_name::idempotency_key;
        case 17:
            return letter == 'x' ? field_name::forwarded_proto : field_name::transfer_encoding;
        default:
            return field_name::unknown;
    }
}

constexpr bool every_known_name_is_found() {
    for (std::size_t index = 0; index < std::size(known_names); ++index)
        if (candidate(known_names[index].size(), known_names[index].front()) !=
            static_cast<field_name>(index))
            return false;
    return true;
}
static_assert(every_known_name_is_found());

void shift_view(std::string_view& view, std::ptrdiff_t shift) {
    // A view that was never set, and the constant path "*", show no byte of the connection.
    if (view.data() == nullptr || view.data() == asterisk_byte) return;
    view = {view.data() + shift, view.size()};
}

}  // namespace

std::string_view name_of(method verb) {
    return method_names[static_cast<std::size_t>(verb)];
}

std::optional<method> method_of(std::string_view text) {
    for (std::size_t index = 0; index + 1 < std::size(method_names); ++index)
        if (text == method_names[index]) return static_cast<method>(index);
    for (auto const known : llhttp_methods)
        if (text == known) return method::other;
    return std::nullopt;
}

field_name field_name_of(std::string_view name) {
    if (name.empty()) return field_name::unknown;
    auto const guess = candidate(name.size(), name.front());
    if (guess == field_name::unknown) return guess;
    return same_token(name, known_names[static_cast<std::size_t>(guess)]) ? guess
                                                                          : field_name::unknown;
}

std::size_t request::count(field_name name) const {
    if (first_[static_cast<std::size_t>(name)] == 0) return 0;
    std::size_t found = 0;
    for (auto const& entry : fields()) found += entry.known == name;
    return found;
}

void request::clear() {
    method = http::method::get;
    method_text = path = query = authority = body = {};
    minor_version = 1;
    first_.fill(0);
    field_count_ = 0;
}

bool request::add(std::string_view name, std::string_view value, field_name known) {
    if (field_count_ == fields_.size()) return false;
    fields_[field_count_++] = {name, value, known};
    if (known != field_name::unknown) {
        auto& first = first_[static_cast<std::size_t>(known)];
        if (first == 0) first = static_cast<std::uint8_t>(field_count_);
    }
    return true;
}

void request::rebase(std::ptrdiff_t shift) {
    for (auto* const view : {&method_text, &path, &query, &authority, &body})
        shift_view(*view, shift);
    for (std::size_t index = 0; index < field_count_; ++index) {
        shift_view(fields_[index].name, shift);
        shift_view(fields_[index].value, shift);
    }
}

}  // namespace latchkey::http
