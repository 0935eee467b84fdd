// How the record of an outcome is kept under an Idempotency-Key (kept_outcome.hpp). A kind
// specialises `kept_record` for each record that its commands return:
//
//     static constexpr std::uint8_t number;  // stored, never used twice; 0: no record
//     static void append(std::string& output, Record const& record);
//     static std::optional<Record> read(base::reader& reader);  // to the end; nullopt: damaged
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "model/id.hpp"

namespace latchkey::domain {

template <class Record>
struct kept_record;

// A record as the store has it: its id, then what `encode` makes of it.
template <std::uint8_t Number, auto Decode>
struct kept_whole {
    static constexpr std::uint8_t number = Number;

    template <class Record>
    static void append(std::string& output, Record const& record) {
        std::string bytes;
        encode(record, bytes);
        base::append(output, record.id);
        output.append(bytes);
    }
    static auto read(base::reader& reader) {
        auto const id = reader.integer<model::id>();
        auto record = Decode(id, reader.rest());
        if constexpr (requires { copy_of(*record); })
            return record ? std::optional(copy_of(*record)) : std::nullopt;
        else
            return record;
    }
};

// Of commands that take no Idempotency-Key.
struct kept_never {
    static constexpr std::uint8_t number = 0xff;

    template <class Record>
    static void append(std::string&, Record const&) {
        base::check(false, "this record is not kept under an Idempotency-Key");
    }
};

}  // namespace latchkey::domain
