// Names of fields are found by a perfect hash over length and first letter, which the compiler
// proves for all known names; one comparison decides. A request keeps, for each known name, the
// place of its first field, so a look-up is one index.
#include "wire/http/request.hpp"

#include <algorithm>

#include "wire/http/byte_class.hpp"

namespace latchkey::http {
namespace {

constexpr std::string_view method_names[] = {"GET",   "HEAD",   "POST",    "PUT",
                                             "PATCH", "DELETE", "OPTIONS", "OTHER"};

// Indexed by field_name.
constexpr std::string_view known_names[] = {
    "accept",         "accept-encoding",   "authorization",
    "connection",     "consistency-token", "content-encoding",
    "content-length", "content-type",      "cookie",
    "expect",         "x-forwarded-for",   "x-forwarded-proto",
    "host",           "idempotency-key",   "if-match",
    "if-none-match",  "last-event-id",     "origin",
    "x-request-id",   "x-requested-with",  "sec-fetch-site",
    "traceparent",    "transfer-encoding", "user-agent",
    "x-api-key"};
static_assert(std::size(known_names) == static_cast<std::size_t>(field_name::count_));

// Perfect hash over length and first letter: leaves one candidate, so one comparison decides.
constexpr field_name candidate(std::size_t size, char first) {
    auto const letter = static_cast<char>(first | 0x20);
    switch (size) {
        case 4:
            return field_name::host;
        case 6:
            if (letter == 'c') return field_name::cookie;
            if (letter == 'o') return field_name::origin;
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
            if (letter == 'l') return field_name::last_event_id;
            return letter == 'a' ? field_name::authorization : field_name::if_none_match;
        case 14:
            return letter == 's' ? field_name::sec_fetch_site : field_name::content_length;
        case 15:
            if (letter == 'a') return field_name::accept_encoding;
            return letter == 'x' ? field_name::forwarded_for : field_name::idempotency_key;
        case 16:
            return letter == 'c' ? field_name::content_encoding : field_name::requested_with;
        case 17:
            if (letter == 'c') return field_name::consistency_token;
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

bool identifies_request(field_name id) {
    return id == field_name::idempotency_key || id == field_name::request_id ||
           id == field_name::traceparent || id == field_name::consistency_token ||
           id == field_name::last_event_id;
}

// Authorization and X-API-Key may too: their secrets are looked for, and overwritten, by place.
bool holds_secret(field_name id) {
    return id == field_name::cookie;
}

// Fields that the service does not read and in which no client or proxy puts a secret. Any other
// may hold one: cookies, a URL with a key in its query, the token of an event's sender.
bool is_without_secret(std::string_view name) {
    constexpr std::string_view harmless[] = {"accept-charset",
                                             "accept-language",
                                             "cache-control",
                                             "dnt",
                                             "keep-alive",
                                             "pragma",
                                             "priority",
                                             "te",
                                             "upgrade-insecure-requests",
                                             "via",
                                             "x-forwarded-host",
                                             "x-forwarded-port",
                                             "x-real-ip"};
    constexpr std::string_view browser_prefix = "sec-";
    return same_token(name.substr(0, browser_prefix.size()), browser_prefix) ||
           std::any_of(std::begin(harmless), std::end(harmless),
                       [&](std::string_view entry) { return same_token(name, entry); });
}

}  // namespace

std::string_view name_of(method verb) {
    return method_names[static_cast<std::size_t>(verb)];
}

method method_of(std::string_view text) {
    for (std::size_t index = 0; index + 1 < std::size(method_names); ++index)
        if (text == method_names[index]) return static_cast<method>(index);
    return method::other;
}

field_name field_name_of(std::string_view name) {
    if (name.empty()) return field_name::unknown;
    auto const guess = candidate(name.size(), name.front());
    if (guess == field_name::unknown) return guess;
    return same_token(name, known_names[static_cast<std::size_t>(guess)]) ? guess
                                                                          : field_name::unknown;
}

bool is_cacheable(field const& entry) {
    if (entry.id == field_name::unknown) return is_without_secret(entry.name);
    return !identifies_request(entry.id) && !holds_secret(entry.id);
}

std::size_t request::count(field_name name) const {
    if (first_[static_cast<std::size_t>(name)] == 0) return 0;
    std::size_t result = 0;
    for (auto const& entry : fields()) result += entry.id == name;
    return result;
}

void request::clear() {
    method = http::method::get;
    method_text = path = query = authority = body = {};
    minor_version = 1;
    first_.fill(0);
    field_count_ = 0;
}

bool request::add(std::string_view name, std::string_view value, field_name id) {
    if (field_count_ == fields_.size()) return false;
    fields_[field_count_++] = {name, value, id};
    if (id != field_name::unknown) {
        auto& first = first_[static_cast<std::size_t>(id)];
        if (first == 0) first = static_cast<std::uint8_t>(field_count_);
    }
    return true;
}

}  // namespace latchkey::http
