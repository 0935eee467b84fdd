#include "domain/audit/audit_log.hpp"

#include <algorithm>

#include "domain/frame/rejection.hpp"

namespace latchkey::domain {
namespace {

// The bytes that an entry takes, with its place in the index.
constexpr std::uint64_t entry_bytes = 256;

model::id read_count(transaction& transaction, std::string_view key) {
    auto const bytes = transaction.get(table::index, key);
    return bytes ? read_id(*bytes).value_or(0) : 0;
}

void add_to_count(transaction& transaction, std::string_view key) {
    std::array<char, 8> value;
    transaction.put(table::index, key, id_value(read_count(transaction, key) + 1, value));
}

// Adds the actor, the address and the link to the previous entry.
void append_entry(transaction& transaction, command const& command, audit_entry entry) {
    auto const bytes = transaction.get(table::index, key_bytes{tag::audit_head});
    auto const head = bytes ? decode_audit_head(*bytes) : audit_head{};
    if (!head) return transaction.fail(MDB_CORRUPTED);
    entry.id = head->last + 1;
    entry.time = transaction.now();
    entry.actor = command.caller;
    entry.address = command.address;
    entry.previous = head->hash;
    encode(entry, transaction.scratch);
    auto const hash = hash_of(entry.id, transaction.scratch);
    transaction.append(table::audit, id_key(entry.id), transaction.scratch);
    encode(audit_head{entry.id, hash}, transaction.scratch);
    transaction.put(table::index, key_bytes{tag::audit_head}, transaction.scratch);
    transaction.put(table::index, audit_of_project(entry.project).add(entry.id), {});
    add_to_count(transaction, audit_count_key(entry.project));
    if (entry.actor != 0) add_to_count(transaction, audit_made_key(entry.actor));
}

outcome reject_share(std::string_view holder, model::id own, model::id room,
                     std::string_view remedy) {
    return reject(base::problem::storage_full,
                  "The audit log has " + std::to_string(own) + " entries " + std::string(holder) +
                      " and room for " + std::to_string(room) + ", which is its share. " +
                      std::string(remedy) + "a larger store.map_mib makes room.");
}

}  // namespace

// Entries are never removed, so that their number is the last one's id.
std::optional<outcome> check_audit_share(transaction& transaction, command const& command,
                                         std::string_view project) {
    if (command.caller == 0) return std::nullopt;
    auto const bytes = transaction.get(table::index, key_bytes{tag::audit_head});
    auto const head = bytes ? decode_audit_head(*bytes) : audit_head{};
    if (!head) {
        transaction.fail(MDB_CORRUPTED);
        return reject(base::problem::internal_error);
    }
    auto const room = static_cast<model::id>(transaction.store().map_bytes / 2 / entry_bytes);
    auto const rest = std::max<model::id>(room - head->last, 0);
    if (3 * head->last < rest) return std::nullopt;
    auto const own = read_count(transaction, audit_count_key(project));
    if (own >= rest)
        return reject_share("about this project", own, rest,
                            "What is there can be deactivated and deleted; ");
    // An entry adds to what the project has and takes from what is left.
    auto const rest_of_share = (rest - own + 1) / 2;
    auto const key_entries = read_count(transaction, audit_made_key(command.caller));
    if (key_entries < rest_of_share) return std::nullopt;
    return reject_share("that this key has made", key_entries, rest_of_share,
                        "Other keys of the project can go on; ");
}

void note(transaction& transaction, command const& command, audit_action action,
          model::key const& key, std::vector<std::string> fields) {
    append_entry(transaction, command,
                 {.action = action,
                  .key = key.id,
                  .project = key.project,
                  .source = {},
                  .fields = std::move(fields)});
}

void note(transaction& transaction, command const& command, audit_action action,
          std::string_view source, std::vector<std::string> fields) {
    append_entry(transaction, command,
                 {.action = action,
                  .project = {},
                  .source = std::string(source),
                  .fields = std::move(fields)});
}

void note(transaction& transaction, command const& command, audit_action action,
          model::webhook const& webhook, std::vector<std::string> fields) {
    append_entry(transaction, command,
                 {.action = action,
                  .project = std::string(audit_project_of(webhook)),
                  .source = std::to_string(webhook.id),
                  .fields = std::move(fields)});
}

}  // namespace latchkey::domain
