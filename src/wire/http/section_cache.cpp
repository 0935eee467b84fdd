#include "wire/http/section_cache.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "wire/http/byte_class.hpp"

namespace latchkey::http {
namespace {

// True for visible ASCII, which every parser takes as part of a field value (VCHAR, RFC 9110 §5.5).
// No early exit, so that the compiler vectorises it.
bool all_visible(std::string_view text) {
    bool all = true;
    for (char const byte : text) all &= byte > ' ' && byte < '\x7f';
    return all;
}

bool may_cache(request const& request, framing const& framing) {
    if (framing.body == framing::body_kind::chunked) return false;
    if (request.fields().size() > cached_section::fields_max) return false;
    if (request.count(field_name::authorization) + request.count(field_name::x_api_key) > 1)
        return false;
    return std::all_of(request.fields().begin(), request.fields().end(),
                       [](field const& entry) { return is_cacheable(entry); });
}

// The key in the section, empty if there is none; nullopt when something else may be a secret.
std::optional<std::string_view> secret_of(request const& request) {
    constexpr std::string_view scheme = "bearer";
    auto secret = request.find(field_name::x_api_key).value_or(std::string_view());
    if (auto const value = request.find(field_name::authorization)) {
        if (!same_token(value->substr(0, scheme.size()), scheme)) return {};
        auto const rest = value->substr(scheme.size());
        if (rest.size() < 2 || rest.front() != ' ') return {};
        secret = rest.substr(1);
    }
    return all_visible(secret) ? std::optional(secret) : std::nullopt;
}

}  // namespace

// Compares the bytes around the secret; checks only the class of those of the secret.
bool cached_section::matches(std::string_view rest) const {
    if (size_ == 0 || rest.size() < size_) return false;
    std::size_t const end = secret_.offset + secret_.size;
    if (std::memcmp(rest.data(), bytes_.data(), secret_.offset) != 0) return false;
    if (std::memcmp(rest.data() + end, bytes_.data() + secret_.offset, size_ - end) != 0)
        return false;
    return all_visible(secret_.view(rest));
}

void cached_section::fill(std::string_view rest, request& request) const {
    for (std::size_t i = 0; i < field_count_; ++i)
        request.add(fields_[i].name.view(rest), fields_[i].value.view(rest), fields_[i].id);
    request.authority = authority_.size > 0 ? authority_.view(rest) : std::string_view();
}

void section_cache::insert(slot& last, std::string_view section, request const& request,
                           framing const& framing) {
    if (!may_cache(request, framing)) return;
    auto const secret = secret_of(request);
    if (!secret || section.size() - secret->size() > cached_section::bytes_max) return;
    auto const span_of = [&](std::string_view text) -> cached_section::span {
        if (text.empty()) return {};
        // A request with an absolute target, whose authority is not in the section, is not cached.
        base::check(text.data() >= section.data() &&
                        text.data() + text.size() <= section.data() + section.size(),
                    "a view that does not point into the field section");
        return {static_cast<std::uint16_t>(text.data() - section.data()),
                static_cast<std::uint16_t>(text.size())};
    };
    auto const hidden = span_of(*secret);
    auto const prefix = section.substr(0, hidden.offset);
    auto const suffix = section.substr(std::size_t{hidden.offset} + hidden.size);
    // Direct-mapped by a hash of the bytes around the key, so clients that send the same fields
    // share an entry.
    last = static_cast<slot>(base::mix(base::hash(prefix), base::hash(suffix)) % entry_count);
    auto& entry = entries_[last];
    if (entry.size_ == section.size() && entry.matches(section)) return;

    entry.size_ = static_cast<std::uint16_t>(section.size());
    entry.secret_ = hidden;
    entry.authority_ = span_of(request.authority);
    entry.framing_ = framing;
    entry.field_count_ = 0;
    for (auto const& each : request.fields())
        entry.fields_[entry.field_count_++] = {span_of(each.name), span_of(each.value), each.id};
    auto* output = std::copy(prefix.begin(), prefix.end(), entry.bytes_.data());
    std::copy(suffix.begin(), suffix.end(), output);
}

}  // namespace latchkey::http
