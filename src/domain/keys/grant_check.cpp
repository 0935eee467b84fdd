#include "domain/keys/grant_check.hpp"

#include <algorithm>

#include "domain/keys/key_record.hpp"

namespace latchkey::domain {
namespace {

// Does `limit` never admit more than `own` in any interval: bucket no larger, filled no faster?
bool is_within(model::rate_limit const& limit, model::rate_limit const& own) {
    auto const burst = [](model::rate_limit const& rate) {
        return rate.burst == 0 ? rate.limit : rate.burst;
    };
    return burst(limit) <= burst(own) && std::uint64_t{limit.limit} * own.window_seconds <=
                                             std::uint64_t{own.limit} * limit.window_seconds;
}

}  // namespace

grant_check::grant_check(transaction& txn, command const& command) {
    if (command.caller == 0) return;
    // The caller was checked in this transaction; if it is unreadable now, it grants nothing.
    unbounded_ = false;
    if (read_key(txn, command.caller, key_) != base::problem::none) return;
    if (command.token_scopes) key_.scopes = model::intersection(key_.scopes, *command.token_scopes);
    unbounded_ = key_.scopes.has(model::scope::any);
}

bool grant_check::can_see(std::string_view project) const {
    return unbounded_ || project == key_.project;
}

std::string_view grant_check::project() const {
    return unbounded_ ? std::string_view() : key_.project;
}

grant_check::denial grant_check::scope_denial(model::scope_set const& scopes) const {
    if (unbounded_ || key_.scopes.covers(scopes)) return std::nullopt;
    return "The key's own scopes must cover those of every key that it makes or changes.";
}

grant_check::denial grant_check::limits_denial(std::vector<model::rate_limit> const& limits) const {
    if (unbounded_) return std::nullopt;
    if (limits.empty()) return "Only a key with the scope * can make a key without rate limits.";
    // Each of the caller's limits must be implied by one of the new limits.
    bool const satisfied = std::ranges::all_of(key_.rate_limits, [&](auto const& own) {
        return std::ranges::any_of(limits, [&](auto const& each) { return is_within(each, own); });
    });
    if (satisfied) return std::nullopt;
    return "A key cannot give looser rate limits than its own.";
}

grant_check::denial grant_check::allowlist_denial(std::vector<model::cidr> const& list) const {
    if (unbounded_ || key_.ip_allowlist.empty()) return std::nullopt;
    bool const is_covered = !list.empty() && std::ranges::all_of(list, [&](auto const& each) {
        return std::ranges::any_of(key_.ip_allowlist,
                                   [&](auto const& own) { return own.contains(each); });
    });
    if (is_covered) return std::nullopt;
    return "A key cannot give a wider IP allowlist than its own.";
}

grant_check::denial grant_check::expiry_denial(base::wall_ms expires_at) const {
    if (unbounded_ || key_.expires_at == 0) return std::nullopt;
    if (expires_at != 0 && expires_at <= key_.expires_at) return std::nullopt;
    return "A key cannot give a later expiry than its own.";
}

grant_check::denial grant_check::creation_denial(model::key const& key) const {
    if (!can_see(key)) return "Only a key with the scope * can make keys of another project.";
    // A subject has one record in the whole service: a refusal, or none, would tell a project of
    // those of others, and the first to come would have the subject for itself.
    if (!unbounded_ && key.kind == model::key_kind::jwt)
        return "Only a key with the scope * can make records of kind jwt, of any project.";
    if (auto denial = scope_denial(key.scopes)) return denial;
    if (auto denial = limits_denial(key.rate_limits)) return denial;
    if (auto denial = allowlist_denial(key.ip_allowlist)) return denial;
    return expiry_denial(key.expires_at);
}

grant_check::denial grant_check::change_denial(model::key const& old_key,
                                               model::key const& new_key) const {
    bool const limits = old_key.rate_limits != new_key.rate_limits;
    bool const allowlist = old_key.ip_allowlist != new_key.ip_allowlist;
    bool const expiry = old_key.expires_at != new_key.expires_at;
    if (!unbounded_ && key_.id == old_key.id && (limits || allowlist || expiry))
        return "A key cannot change its own rate limits, IP allowlist or expiry.";
    if (auto denial = scope_denial(new_key.scopes)) return denial;
    if (auto denial = limits ? limits_denial(new_key.rate_limits) : std::nullopt) return denial;
    if (auto denial = allowlist ? allowlist_denial(new_key.ip_allowlist) : std::nullopt)
        return denial;
    return expiry ? expiry_denial(new_key.expires_at) : std::nullopt;
}

bool is_last_admin(transaction& txn, model::key const& key) {
    // Whether its issuer still gives out a token for a record of kind `jwt` is not known here.
    auto const manages = [&](model::key const& each) {
        return each.kind == model::key_kind::secret &&
               each.state_at(txn.now()) == model::key_state::active &&
               each.scopes.allows(model::scope::keys_write);
    };
    if (!manages(key)) return false;
    return !txn.any_id_with_prefix(key_bytes{tag::key_admin}, [&](model::id id) {
        // An unreadable key manages nothing.
        auto const bytes = id != key.id ? txn.find(table::index, key_key(id)) : std::nullopt;
        auto const other = bytes ? model::decode_key(id, *bytes) : std::nullopt;
        return other && manages(*other) && other->rotation_ends_at == 0;
    });
}

}  // namespace latchkey::domain
