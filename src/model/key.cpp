#include "model/key.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace latchkey::model {
namespace {

// Version 1 had no lineage.
constexpr std::uint8_t key_version = 2;
constexpr std::size_t environment_count = 3;
constexpr std::size_t deactivation_count = 4;

void put_scopes(std::string& to, scope_set const& scopes) {
    base::append(to, scopes.bits());
    base::append(to, static_cast<std::uint8_t>(scopes.sources().size()));
    for (auto const& source : scopes.sources()) base::append_text(to, source);
}

void put_limits(std::string& to, key const& whole) {
    base::check(whole.limit_slots.size() == whole.rate_limits.size(), "a limit without a slot");
    base::append(to, static_cast<std::uint8_t>(whole.rate_limits.size()));
    for (std::size_t i = 0; i < whole.rate_limits.size(); ++i) {
        auto const& each = whole.rate_limits[i];
        base::append(to, whole.limit_slots[i]);
        base::append_text(to, each.name);
        base::append(to, each.limit);
        base::append(to, each.window_seconds);
        base::append(to, each.burst);
    }
}

void put_allowlist(std::string& to, std::vector<cidr> const& list) {
    base::append(to, static_cast<std::uint8_t>(list.size()));
    for (auto const& each : list) {
        to.append(reinterpret_cast<char const*>(each.network.bytes.data()),
                  each.network.bytes.size());
        base::append(to, each.prefix);
    }
}

bool take_scopes(base::reader& from, scope_set& scopes) {
    auto const bits = from.integer<std::uint32_t>();
    auto const count = from.integer<std::uint8_t>();
    if (bits >> scope_count != 0 || count > scope_set::sources_max) return false;
    std::vector<std::string> sources;
    for (unsigned i = 0; i < count; ++i) {
        auto const source = from.text();
        if (!is_event_source(source)) return false;
        sources.emplace_back(source);
    }
    scopes = scope_set::of(bits, std::move(sources));
    return scopes.sources().size() == count;
}

bool take_limits(base::reader& from, key& whole) {
    auto const count = from.integer<std::uint8_t>();
    if (count > rate_limits_max) return false;
    whole.rate_limits.clear();
    unsigned used = 0;  // two limits in one slot would charge each other's bucket
    for (unsigned i = 0; i < count; ++i) {
        auto const slot = from.integer<std::uint8_t>();
        rate_limit each;
        each.name = from.text();
        each.limit = from.integer<std::uint32_t>();
        each.window_seconds = from.integer<std::uint32_t>();
        each.burst = from.integer<std::uint32_t>();
        if (slot >= rate_limits_max || (used >> slot & 1u) != 0) return false;
        if (!is_limit_name(each.name) || each.limit == 0 || each.window_seconds == 0) return false;
        used |= 1u << slot;
        whole.limit_slots.push_back(slot);
        whole.rate_limits.push_back(std::move(each));
    }
    return from.ok();
}

bool take_allowlist(base::reader& from, std::vector<cidr>& list) {
    auto const count = from.integer<std::uint8_t>();
    if (count > ip_allowlist_max) return false;
    for (unsigned i = 0; i < count; ++i) {
        cidr each;
        auto const network = from.bytes(each.network.bytes.size());
        std::ranges::copy(network, each.network.bytes.begin());
        each.prefix = from.integer<std::uint8_t>();
        if (each.prefix > 128) return false;
        list.push_back(each);
    }
    return from.ok();
}

bool take_metadata(base::reader& from, std::map<std::string, std::string>& members) {
    auto const count = from.integer<std::uint8_t>();
    if (count > metadata_members_max) return false;
    for (unsigned i = 0; i < count; ++i) {
        std::string name(from.text());
        members.emplace(std::move(name), from.text());
    }
    return from.ok() && members.size() == count;
}

bool all_of(std::string_view text, bool (*accepts)(char)) {
    return std::ranges::all_of(text, accepts);
}

bool is_lower_or_digit(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

}  // namespace

std::string_view name_of(environment which) {
    static constexpr std::string_view names[] = {"development", "staging", "production"};
    return names[static_cast<std::size_t>(which)];
}

std::optional<environment> find_environment(std::string_view name) {
    for (std::size_t i = 0; i < environment_count; ++i)
        if (auto const each = static_cast<environment>(i); name_of(each) == name) return each;
    return std::nullopt;
}

std::string_view name_of(deactivation reason) {
    static constexpr std::string_view names[] = {"", "manual", "rotated", "compromised"};
    return names[static_cast<std::size_t>(reason)];
}

std::string_view name_of(key_state state) {
    static constexpr std::string_view names[] = {"scheduled", "active", "expired", "deactivated"};
    return names[static_cast<std::size_t>(state)];
}

std::vector<rate_limit> default_rate_limits() {
    return {{"minute", 600, 60, 0}, {"hour", 20'000, 3600, 0}};
}

key::ending key::ending_at(base::wall_ms now) const {
    if (deactivation_reason != deactivation::none) return {deactivated_at, deactivation_reason};
    if (deactivated_at != 0) return {deactivated_at, deactivation::manual};
    if (rotation_ends_at != 0 && now >= rotation_ends_at)
        return {rotation_ends_at, deactivation::rotated};
    return {};
}

key_state key::state_at(base::wall_ms now) const {
    if (ending_at(now).reason != deactivation::none) return key_state::deactivated;
    if (expires_at != 0 && now >= expires_at) return key_state::expired;
    if (not_before != 0 && now < not_before) return key_state::scheduled;
    return key_state::active;
}

base::problem refusal_of(key_state state) {
    switch (state) {
        case key_state::scheduled:
            return base::problem::key_not_yet_active;
        case key_state::active:
            return base::problem::none;
        case key_state::expired:
            return base::problem::key_expired;
        case key_state::deactivated:
            return base::problem::key_deactivated;
    }
    return base::problem::internal_error;
}

void encode(key const& whole, std::string& to) {
    base::check(whole.ip_allowlist.size() <= ip_allowlist_max, "an allowlist beyond its bound");
    base::check(whole.metadata.size() <= metadata_members_max, "metadata beyond its bound");
    to.clear();
    base::append(to, key_version);
    to.append(reinterpret_cast<char const*>(whole.digest.data()), whole.digest.size());
    base::append_text(to, whole.name);
    base::append_text(to, whole.project);
    base::append(to, static_cast<std::uint8_t>(whole.environment));
    base::append_text(to, whole.start);
    base::append_text(to, whole.last4);
    put_scopes(to, whole.scopes);
    for (auto const time : {whole.not_before, whole.expires_at, whole.created_at,
                            whole.deactivated_at, whole.rotation_ends_at})
        base::append(to, time);
    base::append(to, static_cast<std::uint8_t>(whole.deactivation_reason));
    for (auto const id : {whole.created_by, whole.replaces, whole.replaced_by})
        base::append(to, id);
    put_limits(to, whole);
    put_allowlist(to, whole.ip_allowlist);
    base::append(to, static_cast<std::uint8_t>(whole.metadata.size()));
    for (auto const& [name, value] : whole.metadata)
        base::append_text(to, name), base::append_text(to, value);
    base::append(to, whole.lineage);
}

std::optional<key> decode_key(model::id id, std::string_view bytes) {
    base::reader from(bytes);
    auto const version = from.integer<std::uint8_t>();
    if (version == 0 || version > key_version) return std::nullopt;
    key whole;
    whole.id = id;
    std::ranges::copy(from.bytes(whole.digest.size()), whole.digest.begin());
    whole.name = from.text();
    whole.project = from.text();
    auto const environment_code = from.integer<std::uint8_t>();
    whole.start = from.text();
    whole.last4 = from.text();
    if (!take_scopes(from, whole.scopes)) return std::nullopt;
    for (auto* const time : {&whole.not_before, &whole.expires_at, &whole.created_at,
                             &whole.deactivated_at, &whole.rotation_ends_at})
        *time = from.integer<base::wall_ms>();
    auto const reason = from.integer<std::uint8_t>();
    for (auto* const other : {&whole.created_by, &whole.replaces, &whole.replaced_by})
        *other = from.integer<model::id>();
    if (!take_limits(from, whole) || !take_allowlist(from, whole.ip_allowlist)) return std::nullopt;
    if (!take_metadata(from, whole.metadata)) return std::nullopt;
    whole.lineage = version == 1 ? whole.replaces : from.integer<model::id>();
    if (!from.done()) return std::nullopt;
    if (environment_code >= environment_count || reason >= deactivation_count) return std::nullopt;
    whole.environment = static_cast<model::environment>(environment_code);
    whole.deactivation_reason = static_cast<deactivation>(reason);
    return whole;
}

bool is_project(std::string_view text) {
    if (text.empty() || text.size() > 64) return false;
    return all_of(text, [](char byte) { return is_lower_or_digit(byte) || byte == '-'; });
}

bool is_limit_name(std::string_view text) {
    if (text.empty() || text.size() > 32 || text[0] < 'a' || text[0] > 'z') return false;
    return all_of(text,
                  [](char byte) { return is_lower_or_digit(byte) || byte == '_' || byte == '-'; });
}

}  // namespace latchkey::model
