// What is done with every kind of record in the same way: the consistency check
// (check_consistency.hpp), the reset of time (time_reset.hpp), and the names of what is told of it
// in the log of changes and in that of the audit. Each kind has a row, beside its record, and
// kind_list.hpp joins them. Constants; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/clock.hpp"
#include "domain/store_terms.hpp"
#include "model/change.hpp"

namespace latchkey::store {
enum class table : std::uint8_t;
enum class tag : std::uint8_t;
class transaction;
}  // namespace latchkey::store

namespace latchkey::domain {

class consistency_check;
enum class audit_action : std::uint8_t;

// How many of some records are redated, as a report names them.
struct redated_name {
    std::string_view member;  // empty: these are not counted
    std::string_view noun, plural;
};

// One sweep of a reset of time, over a table or what the index has under a tag. `is_late` tells
// whether an entry has a time after `now`; `rewrite` sets that to now, and returns false where
// nothing had to change. Keys are without the tag.
struct time_sweep {
    store::table table;
    std::optional<store::tag> tag;
    bool (*is_late)(std::string_view key, std::string_view value, base::wall_ms now);
    bool (*rewrite)(transaction& txn, std::string_view key, base::wall_ms now);
    redated_name name = {};

    constexpr bool is_counted() const { return !name.member.empty(); }
};

// Numbers are stored, and never used twice.
struct change_name {
    model::change_type type;
    std::string_view name;  // "user.created"
};
struct audit_name {
    audit_action action;
    std::string_view name;  // "key.create"
};

struct kind {
    std::span<store::tag const> tags = {};              // under which the index has its entries
    void (*check)(consistency_check& check) = nullptr;  // each of some tables and tags
    std::span<time_sweep const> sweeps = {};
    std::span<change_name const> changes = {};
    std::span<audit_name const> audited = {};
};

}  // namespace latchkey::domain
