// Entries of the audit log (api.md §13): who changed which key or secret, and from where. Entries
// are only ever appended, in the transaction of the change itself, and each carries the SHA-256 of
// the one before it, so that an entry cannot be altered, removed or inserted without a break in the
// chain. An operator who keeps the hash of the last entry elsewhere can prove later that nothing
// before it was changed. Values, any thread.
//
// The hash of an entry is that of its canonical bytes: its id (8 bytes, big-endian) and its record
// as it is stored: version 1, time (8), hash of the previous entry (32; zeros for the first), actor
// (8), address (1 + 16), action (1), key (8), project, source (each preceded by its length of 2
// bytes), number of fields (1), each field preceded by its length.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/key.hpp"

namespace latchkey::domain {

// Never renumbered. A kind that came later has its actions beside its record, each of the next
// number; names are in the rows of all kinds (kind.hpp).
enum class audit_action : std::uint8_t {
    key_create,
    key_import,
    key_change,
    key_rotate,
    key_deactivate,
    key_reactivate,
    secret_put,
    secret_delete,
    webhook_create,
    webhook_change,
    webhook_rotate,
    webhook_delete,
    key_end_sessions,
};
std::span<std::string_view const> audit_names();  // by number
std::string_view name_of(audit_action action);    // "key.create"; of a known action
std::optional<audit_action> find_audit_action(std::string_view name);
inline bool is_about_webhook(audit_action action) {
    return action >= audit_action::webhook_create && action <= audit_action::webhook_delete;
}
// The project of entries about webhooks of no project: no project has this name, so only those who
// see all projects see them.
inline constexpr std::string_view audit_all_projects = "*";

struct audit_entry {
    model::id id = 0;
    base::wall_ms time = 0;
    model::id actor = 0;                    // the key of the caller; 0: the command line
    std::optional<model::address> address;  // nullopt: unknown, or the command line
    audit_action action = audit_action::key_create;
    model::id key = 0;    // the changed key; 0: none
    std::string project;  // of that key, may be empty
    std::string source;   // of events, whose secret was changed, or a webhook's id; may be empty
    std::vector<std::string> fields;  // names of the changed members, never their values
    model::digest previous{};
    model::digest hash{};
};
void encode(audit_entry const& entry, std::string& output);  // replaces `output`; without the hash
// nullopt: not an entry of a known version. The hash is that of these bytes.
std::optional<audit_entry> decode_audit(model::id id, std::string_view bytes);
// Only what an entry has up to `key`, which costs a small part of it.
std::optional<audit_entry> decode_audit_beginning(model::id id, std::string_view bytes);
// The hash of the entry with that id and record.
model::digest hash_of(model::id id, std::string_view record);

// The end of the chain.
struct audit_head {
    model::id last = 0;
    model::digest hash{};
};
void encode(audit_head const& head, std::string& output);
std::optional<audit_head> decode_audit_head(std::string_view bytes);

}  // namespace latchkey::domain
