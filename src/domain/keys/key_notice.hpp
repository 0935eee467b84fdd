// Changes of a key that no request makes (api.md §16): events caused by time alone, and events of
// its use. Beside the key a record keeps which of them were recorded already: told_until,
// limited_at and exposed_at (8 each), after a version (1). Private to the domain.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "domain/store_terms.hpp"
#include "model/change.hpp"
#include "model/key.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

// Times; 0: never.
struct key_notice {
    base::wall_ms told_until = 0;  // all that time brought about up to then
    base::wall_ms limited_at = 0;  // when key.limited was told last
    base::wall_ms exposed_at = 0;
    bool operator==(key_notice const&) const = default;
};
void encode(key_notice const& notice, std::string& output);  // replaces `output`
std::optional<key_notice> decode_key_notice(std::string_view bytes);

// The events of a key that are caused by time alone and lie after `start`.
struct key_times {
    // The first of these times, which may have come; INT64_MAX: there is none.
    base::wall_ms next = INT64_MAX;
    std::array<model::change_type, 3> types{};  // what has come by `now`, in order
    std::size_t count = 0;
    std::span<model::change_type const> due() const { return {types.data(), count}; }
};
key_times times_of(model::key const& key, base::wall_ms last_use, base::wall_ms start,
                   base::wall_ms now, key_time_rules const& rules);

// The time from which on this store records key events caused by time alone (expiry, disuse);
// earlier ones are never recorded. Where it is not stored yet, the result is the transaction's
// time, which `begin_key_times` stores.
base::wall_ms begin_of_key_times(transaction& txn);
void begin_key_times(transaction& txn);

// Records the key's events caused by time alone since the last call. Returns the bytes of the
// changes recorded.
std::size_t tell_times(transaction& txn, model::key const& key);
// The same, before a change of the key's times. New times that already lie in the past then cause
// no event.
void tell_times_before_change(transaction& txn, model::key const& old_key);
// Records the end of a rotation whose overlap has no length, and so ends as it begins.
void tell_end_of_rotation(transaction& txn, model::key const& key);
// Records that requests with the key were refused by its limits, or that it came unprotected (by
// query, by body or without TLS), unless that was recorded recently.
void tell_limited(transaction& txn, model::id id);
void tell_exposed(transaction& txn, model::id id);

}  // namespace latchkey::domain
