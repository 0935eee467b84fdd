#include "store/giver.hpp"

#include <algorithm>

#include "store/key_record.hpp"

namespace latchkey::store {
namespace {

// Never admits more than `own` in any interval: the bucket is no larger and fills no faster.
bool is_within(model::rate_limit const& limit, model::rate_limit const& own) {
    auto const burst = [](model::rate_limit const& of) {
        return of.burst == 0 ? of.limit : of.burst;
    };
    return burst(limit) <= burst(own) && std::uint64_t{limit.limit} * own.window_seconds <=
                                             std::uint64_t{own.limit} * limit.window_seconds;
}

}  // namespace

giver::giver(transaction& in, command const& whole) {
    if (whole.caller == 0) return;
    // The caller was judged in this transaction; if it cannot be read now, it gives nothing.
    unbounded_ = false;
    if (read_key(in, whole.caller, key_) == base::problem::none)
        unbounded_ = key_.scopes.has(model::scope::any);
}

bool giver::sees(model::key const& other) const {
    return unbounded_ || other.project == key_.project;
}

giver::objection_to giver::objection(model::scope_set const& scopes) const {
    if (unbounded_ || key_.scopes.covers(scopes)) return std::nullopt;
    return "The key's own scopes must cover those of every key that it makes or changes.";
}

giver::objection_to giver::objection_to_limits(std::vector<model::rate_limit> const& limits) const {
    if (unbounded_) return std::nullopt;
    if (limits.empty()) return "Only a key with the scope * can make a key without rate limits.";
    // Each limit of the caller's must be kept by one of those that are given.
    bool const kept = std::ranges::all_of(key_.rate_limits, [&](auto const& own) {
        return std::ranges::any_of(limits, [&](auto const& each) { return is_within(each, own); });
    });
    if (kept) return std::nullopt;
    return "A key cannot give looser rate limits than its own.";
}

giver::objection_to giver::objection_to_allowlist(std::vector<model::cidr> const& list) const {
    if (unbounded_ || key_.ip_allowlist.empty()) return std::nullopt;
    bool const within = !list.empty() && std::ranges::all_of(list, [&](auto const& each) {
        return std::ranges::any_of(key_.ip_allowlist,
                                   [&](auto const& own) { return own.contains(each); });
    });
    if (within) return std::nullopt;
    return "A key cannot give a wider IP allowlist than its own.";
}

giver::objection_to giver::objection_to_expiry(base::wall_ms expires_at) const {
    if (unbounded_ || key_.expires_at == 0) return std::nullopt;
    if (expires_at != 0 && expires_at <= key_.expires_at) return std::nullopt;
    return "A key cannot give a later expiry than its own.";
}

giver::objection_to giver::objection_to_making(model::key const& made) const {
    if (!sees(made)) return "Only a key with the scope * can make keys of another project.";
    if (auto no = objection(made.scopes)) return no;
    if (auto no = objection_to_limits(made.rate_limits)) return no;
    if (auto no = objection_to_allowlist(made.ip_allowlist)) return no;
    return objection_to_expiry(made.expires_at);
}

giver::objection_to giver::objection_to_change(model::key const& before,
                                               model::key const& after) const {
    bool const limits = before.rate_limits != after.rate_limits;
    bool const allowlist = before.ip_allowlist != after.ip_allowlist;
    bool const expiry = before.expires_at != after.expires_at;
    if (!unbounded_ && key_.id == before.id && (limits || allowlist || expiry))
        return "A key cannot change its own rate limits, IP allowlist or expiry.";
    if (auto no = objection(after.scopes)) return no;
    if (auto no = limits ? objection_to_limits(after.rate_limits) : std::nullopt) return no;
    if (auto no = allowlist ? objection_to_allowlist(after.ip_allowlist) : std::nullopt) return no;
    return expiry ? objection_to_expiry(after.expires_at) : std::nullopt;
}

bool is_last_admin(transaction& in, model::key const& key) {
    auto const manages = [&](model::key const& each) {
        return each.state_at(in.now()) == model::key_state::active &&
               each.scopes.allows(model::scope::keys_write);
    };
    if (!manages(key)) return false;
    return !in.any_under(key_bytes{tag::key_admin}, [&](model::id id) {
        model::key other;
        return id != key.id && read_key(in, id, other) == base::problem::none && manages(other) &&
               other.rotation_ends_at == 0;
    });
}

}  // namespace latchkey::store
