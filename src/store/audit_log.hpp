// The inside of the audit log: how an entry is written and read. Private to the store.
#pragma once

#include "store/audit.hpp"
#include "store/commands.hpp"

namespace latchkey::store {

// Appends one entry to the log: about a key, or about the secret of a source of events. `whole`
// says who did it and from where.
void note(transaction& in, command const& whole, audit_action action, model::key const& key,
          std::vector<std::string> fields);
void note(transaction& in, command const& whole, audit_action action, std::string_view source,
          std::vector<std::string> fields);

// nullopt: not an entry of a version we know. Its hash is that of these bytes.
std::optional<audit_entry> decode_audit(model::id id, std::string_view bytes);

// The end of the chain.
struct audit_head {
    model::id last = 0;
    model::digest hash{};
};
void encode(audit_head const& head, std::string& to);
std::optional<audit_head> decode_audit_head(std::string_view bytes);

}  // namespace latchkey::store
