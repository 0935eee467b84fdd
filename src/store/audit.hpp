// The audit log (API §13): who changed which key or secret, from where. Entries are only ever
// appended, in the transaction of the change itself, and each carries the SHA-256 of the one before
// it, so that nobody can alter, remove or insert one without all later ones showing it. Whoever
// keeps the hash of the last entry elsewhere can tell later that nothing before it was touched.
//
//     for (auto const& sentence : store::verify_audit(*environment).wrong) …
//
// The hash of an entry is that of its canonical bytes, which are its id (8 bytes, big-endian) and
// its record as it is kept: version 1, time (8), hash of the entry before (32; zeros for the
// first), actor (8), address (1 + 16), action (1), key (8), project, source (each behind its length
// of 2 bytes), number of fields (1), each field behind its length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.hpp"
#include "model/key.hpp"
#include "store/environment.hpp"

namespace latchkey::store {

// Never renumbered; new ones go to the end.
enum class audit_action : std::uint8_t {
    key_create,
    key_import,
    key_change,
    key_rotate,
    key_deactivate,
    key_reactivate,
    secret_put,
    secret_delete,
    count_
};
std::string_view name_of(audit_action action);  // "key.create"

struct audit_entry {
    model::id id = 0;
    base::wall_ms at = 0;
    model::id actor = 0;                 // the key that did it; 0: the command line
    std::optional<model::address> from;  // nullopt: not known, or the command line
    audit_action action = audit_action::key_create;
    model::id key = 0;                // that was changed; 0: none
    std::string project;              // of that key, may be empty
    std::string source;               // of events, whose secret was changed; may be empty
    std::vector<std::string> fields;  // names of the members that changed, never their values
    model::digest previous{};
    model::digest hash{};
};

struct audit_report {
    std::uint64_t entries = 0;
    model::digest last{};            // of the last entry
    std::vector<std::string> wrong;  // one sentence each, at most 100; empty: the chain is whole
};
// Reads all of it, in one snapshot; may run beside a server.
audit_report verify_audit(environment& store);

}  // namespace latchkey::store
