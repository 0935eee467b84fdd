// A record is encoded in order, numbers big-endian and texts behind their sizes; the version in
// front says what follows the metadata, so older records are shorter. The decoder checks each bound
// again and takes no byte too many: a damaged record yields nothing, not half a key.
#include "model/key.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/time_units.hpp"
#include "base/visible.hpp"

namespace latchkey::model {
namespace {

// Version 1 has no lineage, version 2 no generations of limits. Version 4 is of kind `jwt` alone,
// so that a program that does not know it reads all other records.
constexpr std::uint8_t key_version = 3;
constexpr std::uint8_t bearer_version = 4;
constexpr std::size_t environment_count = 3;
constexpr std::size_t deactivation_count = 4;

void append_scopes(std::string& output, scope_set const& scopes) {
    base::append(output, scopes.bits());
    base::append(output, static_cast<std::uint8_t>(scopes.sources().size()));
    for (auto const& source : scopes.sources()) base::append_text(output, source);
}

void append_limits(std::string& output, key const& record) {
    // The store assigns both before it encodes a record.
    base::check(record.limit_slots.size() == record.rate_limits.size(), "a limit without a slot");
    base::check(record.limit_generations.empty() ||
                    record.limit_generations.size() == record.rate_limits.size(),
                "a limit without a generation");
    base::append(output, static_cast<std::uint8_t>(record.rate_limits.size()));
    for (std::size_t i = 0; i < record.rate_limits.size(); ++i) {
        auto const& each = record.rate_limits[i];
        base::append(output, record.limit_slots[i]);
        base::append_text(output, each.name);
        base::append(output, each.limit);
        base::append(output, each.window_seconds);
        base::append(output, each.burst);
    }
}

void append_allowlist(std::string& output, std::vector<cidr> const& list) {
    base::append(output, static_cast<std::uint8_t>(list.size()));
    for (auto const& each : list) {
        output.append(reinterpret_cast<char const*>(each.network.bytes.data()),
                      each.network.bytes.size());
        base::append(output, each.prefix);
    }
}

bool read_scopes(base::reader& input, scope_set& scopes) {
    auto const bits = input.integer<std::uint32_t>();
    auto const count = input.integer<std::uint8_t>();
    if (bits >> scope_count != 0 || count > scope_set::sources_max) return false;
    std::vector<std::string> sources;
    for (unsigned i = 0; i < count; ++i) {
        auto const source = input.text();
        if (!is_event_source(source)) return false;
        sources.emplace_back(source);
    }
    scopes = scope_set::of(bits, std::move(sources));
    return scopes.sources().size() == count;
}

bool read_limits(base::reader& input, key& record) {
    auto const count = input.integer<std::uint8_t>();
    if (count > rate_limits_max) return false;
    record.rate_limits.clear();
    unsigned used_slots = 0;  // two limits in one slot would share a bucket
    for (unsigned i = 0; i < count; ++i) {
        auto const slot = input.integer<std::uint8_t>();
        rate_limit each;
        each.name = input.text();
        each.limit = input.integer<std::uint32_t>();
        each.window_seconds = input.integer<std::uint32_t>();
        each.burst = input.integer<std::uint32_t>();
        if (slot >= rate_limits_max || (used_slots >> slot & 1u) != 0) return false;
        if (!is_limit_name(each.name) || each.limit == 0 || each.window_seconds == 0) return false;
        used_slots |= 1u << slot;
        record.limit_slots.push_back(slot);
        record.rate_limits.push_back(std::move(each));
    }
    return input.ok();
}

bool read_allowlist(base::reader& input, std::vector<cidr>& list) {
    auto const count = input.integer<std::uint8_t>();
    if (count > ip_allowlist_max) return false;
    for (unsigned i = 0; i < count; ++i) {
        cidr each;
        auto const network = input.bytes(each.network.bytes.size());
        std::ranges::copy(network, each.network.bytes.begin());
        each.prefix = input.integer<std::uint8_t>();
        if (each.prefix > 128) return false;
        list.push_back(each);
    }
    return input.ok();
}

bool read_metadata(base::reader& input, std::map<std::string, std::string>& members) {
    auto const count = input.integer<std::uint8_t>();
    if (count > metadata_members_max) return false;
    for (unsigned i = 0; i < count; ++i) {
        std::string name(input.text());
        members.emplace(std::move(name), input.text());
    }
    return input.ok() && members.size() == count;
}

bool read_bearer(base::reader& input, key& record) {
    record.kind = key_kind::jwt;
    record.issuer = input.text();
    record.subject = input.text();
    return is_claim_text(record.issuer, issuer_bytes_max) &&
           is_claim_text(record.subject, subject_bytes_max);
}

bool all_of(std::string_view text, bool (*accepts)(char)) {
    return std::ranges::all_of(text, accepts);
}

bool is_lower_or_digit(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

}  // namespace

std::string_view name_of(environment value) {
    static constexpr std::string_view names[] = {"development", "staging", "production"};
    return names[static_cast<std::size_t>(value)];
}

std::optional<environment> find_environment(std::string_view name) {
    for (std::size_t i = 0; i < environment_count; ++i)
        if (auto const each = static_cast<environment>(i); name_of(each) == name) return each;
    return std::nullopt;
}

std::string_view name_of(key_kind kind) {
    return kind == key_kind::jwt ? "jwt" : "key";
}

std::string_view name_of(deactivation reason) {
    static constexpr std::string_view names[] = {"", "manual", "rotated", "compromised"};
    return names[static_cast<std::size_t>(reason)];
}

std::string_view name_of(key_state state) {
    static constexpr std::string_view names[] = {"scheduled", "active", "expired", "deactivated"};
    return names[static_cast<std::size_t>(state)];
}

std::int64_t token_interval_ns(rate_limit const& limit) {
    std::int64_t const window_ns = std::int64_t{limit.window_seconds} * base::second;
    return (window_ns + limit.limit - 1) / limit.limit;
}

std::uint32_t burst_max(rate_limit const& limit) {
    auto const tokens = std::max<std::int64_t>(1, refill_max_ns / token_interval_ns(limit));
    return static_cast<std::uint32_t>(std::min<std::int64_t>(tokens, rate_limit_max));
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

void encode(key const& record, std::string& output) {
    // Longer lists are refused with 422, and of metadata the sum with what is there, too.
    base::check(record.ip_allowlist.size() <= ip_allowlist_max, "an allowlist beyond its bound");
    base::check(record.metadata.size() <= metadata_members_max, "metadata beyond its bound");
    output.clear();
    bool const is_bearer = record.kind == key_kind::jwt;
    base::append(output, is_bearer ? bearer_version : key_version);
    output.append(reinterpret_cast<char const*>(record.digest.data()), record.digest.size());
    base::append_text(output, record.name);
    base::append_text(output, record.project);
    base::append(output, static_cast<std::uint8_t>(record.environment));
    base::append_text(output, record.start);
    base::append_text(output, record.last4);
    append_scopes(output, record.scopes);
    for (auto const time : {record.not_before, record.expires_at, record.created_at,
                            record.deactivated_at, record.rotation_ends_at})
        base::append(output, time);
    base::append(output, static_cast<std::uint8_t>(record.deactivation_reason));
    for (auto const id : {record.created_by, record.replaces, record.replaced_by})
        base::append(output, id);
    append_limits(output, record);
    append_allowlist(output, record.ip_allowlist);
    base::append(output, static_cast<std::uint8_t>(record.metadata.size()));
    for (auto const& [name, value] : record.metadata) {
        base::append_text(output, name);
        base::append_text(output, value);
    }
    base::append(output, record.lineage);
    for (std::size_t i = 0; i < record.rate_limits.size(); ++i)
        base::append(output, record.limit_generations.empty() ? 0 : record.limit_generations[i]);
    if (!is_bearer) return;
    base::append_text(output, record.issuer);
    base::append_text(output, record.subject);
}

std::optional<key> decode_key(model::id id, std::string_view bytes) {
    base::reader input(bytes);
    auto const version = input.integer<std::uint8_t>();
    if (version == 0 || version > bearer_version) return std::nullopt;
    key record;
    record.id = id;
    std::ranges::copy(input.bytes(record.digest.size()), record.digest.begin());
    record.name = input.text();
    record.project = input.text();
    auto const environment_code = input.integer<std::uint8_t>();
    record.start = input.text();
    record.last4 = input.text();
    if (!read_scopes(input, record.scopes)) return std::nullopt;
    for (auto* const time : {&record.not_before, &record.expires_at, &record.created_at,
                             &record.deactivated_at, &record.rotation_ends_at})
        *time = input.integer<base::wall_ms>();
    auto const reason = input.integer<std::uint8_t>();
    for (auto* const other : {&record.created_by, &record.replaces, &record.replaced_by})
        *other = input.integer<model::id>();
    if (!read_limits(input, record) || !read_allowlist(input, record.ip_allowlist))
        return std::nullopt;
    if (!read_metadata(input, record.metadata)) return std::nullopt;
    record.lineage = version == 1 ? record.replaces : input.integer<model::id>();
    record.limit_generations.resize(record.rate_limits.size());
    if (version >= 3)
        for (auto& each : record.limit_generations) each = input.integer<std::uint64_t>();
    if (version == bearer_version && !read_bearer(input, record)) return std::nullopt;
    if (!input.done() || !is_project(record.project)) return std::nullopt;
    if (environment_code >= environment_count || reason >= deactivation_count) return std::nullopt;
    record.environment = static_cast<model::environment>(environment_code);
    record.deactivation_reason = static_cast<deactivation>(reason);
    return record;
}

bool is_project(std::string_view text) {
    if (text.empty() || text.size() > 64) return false;
    return all_of(text, [](char byte) { return is_lower_or_digit(byte) || byte == '-'; });
}

bool is_claim_text(std::string_view text, std::size_t bytes_max) {
    return !text.empty() && text.size() <= bytes_max && base::is_visible(text);
}

std::string bearer_identity(std::string_view issuer, std::string_view subject) {
    std::string text("latchkey bearer\0", 16);
    base::append_text(text, issuer);
    base::append_text(text, subject);
    return text;
}

bool is_limit_name(std::string_view text) {
    if (text.empty() || text.size() > 32 || text[0] < 'a' || text[0] > 'z') return false;
    return all_of(text,
                  [](char byte) { return is_lower_or_digit(byte) || byte == '_' || byte == '-'; });
}

}  // namespace latchkey::model
