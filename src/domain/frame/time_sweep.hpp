// Makes sweeps of a reset of time (kind.hpp) for tables whose keys are ids. Private to the domain.
#pragma once

#include <algorithm>

#include "domain/frame/kind.hpp"
#include "store/layout.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {

inline void clamp(base::wall_ms& time, base::wall_ms now) {
    time = std::min(time, now);
}

template <auto Decode>
auto decode_entry(std::string_view key, std::string_view value) {
    auto const id = read_id(key);
    return id ? Decode(*id, value) : std::nullopt;
}

// `IsLate` and `Rewrite` get the record that `Decode` makes.
template <table Table, auto Decode, auto IsLate, auto Rewrite>
constexpr time_sweep sweep_of(redated_name name) {
    return {.table = Table,
            .tag = std::nullopt,
            .is_late =
                [](std::string_view key, std::string_view value, base::wall_ms now) {
                    auto const record = decode_entry<Decode>(key, value);
                    return record && IsLate(*record, now);
                },
            .rewrite =
                [](transaction& txn, std::string_view key, base::wall_ms now) {
                    auto const bytes = txn.get(Table, key);
                    auto const record = bytes ? decode_entry<Decode>(key, *bytes) : std::nullopt;
                    if (record) Rewrite(txn, *record, now);
                    return record.has_value();
                },
            .name = name};
}

}  // namespace latchkey::domain
