#include "http/section_cache.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "http/bytes.hpp"

namespace latchkey::http {
namespace {

// Whatever parses a field takes these for a part of its value (VCHAR, RFC 9110 §5.5). All are
// looked at, so that the compiler does it many at a time.
bool all_visible(std::string_view text) {
    bool all = true;
    for (char const byte : text) all &= byte > ' ' && byte < '\x7f';
    return all;
}

bool names_one_request(field_name known) {
    return known == field_name::idempotency_key || known == field_name::request_id ||
           known == field_name::traceparent;
}

// Fields that nobody here reads, and in which no client or proxy puts a secret. Any other may hold
// one: cookies, a URL with a key in its query, the token of an event's sender.
bool is_harmless(std::string_view name) {
    constexpr std::string_view harmless[] = {
        "accept-charset", "accept-encoding", "accept-language", "cache-control", "dnt",
        "keep-alive", "origin", "pragma", "priority", "te", "upgrade-insecure-requests", "via",
        "x-forwarded-host", "x-forwarded-port", "x-real-ip", "x-requested-with"};
    constexpr std::string_view of_browsers = "sec-";
    return same_token(name.substr(0, of_browsers.size()), of_browsers) ||
           std::any_of(std::begin(harmless), std::end(harmless),
                       [&](std::string_view known) { return same_token(name, known); });
}

bool may_be_kept(field const& entry) {
    if (entry.known == field_name::unknown) return is_harmless(entry.name);
    return !names_one_request(entry.known);
}

bool may_be_kept(request const& read, framing const& how) {
    if (how.body == framing::body_kind::chunked) return false;
    if (read.fields().size() > known_section::fields_max) return false;
    if (read.count(field_name::authorization) + read.count(field_name::x_api_key) > 1) return false;
    return std::all_of(read.fields().begin(), read.fields().end(),
                       [](field const& entry) { return may_be_kept(entry); });
}

// The key in the section, empty where there is none; nullopt: something else may be one.
std::optional<std::string_view> secret_of(request const& read) {
    constexpr std::string_view scheme = "bearer";
    auto secret = read.find(field_name::x_api_key).value_or(std::string_view());
    if (auto const value = read.find(field_name::authorization)) {
        if (!same_token(value->substr(0, scheme.size()), scheme)) return {};
        auto const rest = value->substr(scheme.size());
        if (rest.size() < 2 || rest.front() != ' ') return {};
        secret = rest.substr(1);
    }
    return all_visible(secret) ? std::optional(secret) : std::nullopt;
}

}  // namespace

// The bytes before and behind the secret are compared, those of the secret judged.
bool known_section::is(std::string_view rest) const {
    if (size_ == 0 || rest.size() < size_) return false;
    std::size_t const end = secret_.at + secret_.size;
    if (std::memcmp(rest.data(), bytes_.data(), secret_.at) != 0) return false;
    if (std::memcmp(rest.data() + end, bytes_.data() + end, size_ - end) != 0) return false;
    return all_visible(secret_.in(rest));
}

void known_section::show(std::string_view rest, request& into) const {
    for (std::size_t i = 0; i < field_count_; ++i)
        into.add(fields_[i].name.in(rest), fields_[i].value.in(rest), fields_[i].known);
    into.authority = authority_.size > 0 ? authority_.in(rest) : std::string_view();
}

void section_cache::keep(place& last, std::string_view section, request const& read,
                         framing const& how) {
    if (section.size() > known_section::bytes_max || !may_be_kept(read, how)) return;
    auto const secret = secret_of(read);
    if (!secret) return;
    auto const span_of = [&](std::string_view text) -> known_section::span {
        if (text.empty()) return {};
        base::check(text.data() >= section.data() &&
                        text.data() + text.size() <= section.data() + section.size(),
                    "a view into something else than the field section");
        return {static_cast<std::uint16_t>(text.data() - section.data()),
                static_cast<std::uint16_t>(text.size())};
    };
    auto const hidden = span_of(*secret);
    auto const before = section.substr(0, hidden.at);
    auto const behind = section.substr(std::size_t{hidden.at} + hidden.size);
    // Connections whose clients send the same share an entry.
    last = static_cast<place>(base::mix(base::hash(before), base::hash(behind)) % entries);
    auto& entry = kept_[last];
    if (entry.size_ == section.size() && entry.is(section)) return;

    entry.size_ = static_cast<std::uint16_t>(section.size());
    entry.secret_ = hidden;
    entry.authority_ = span_of(read.authority);
    entry.how_ = how;
    entry.field_count_ = 0;
    for (auto const& each : read.fields())
        entry.fields_[entry.field_count_++] = {span_of(each.name), span_of(each.value), each.known};
    auto* to = std::copy(before.begin(), before.end(), entry.bytes_.data());
    to = std::fill_n(to, hidden.size, '\0');
    std::copy(behind.begin(), behind.end(), to);
}

}  // namespace latchkey::http
