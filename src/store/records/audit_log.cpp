#include "store/records/audit_log.hpp"

#include <algorithm>

#include "store/records/rejection.hpp"

namespace latchkey::store {
namespace {

// What an entry takes, with its place in the index.
constexpr std::uint64_t entry_bytes = 256;

model::id count_of(transaction& transaction, std::string_view project) {
    auto const bytes = transaction.get(table::index, audit_count_key(project));
    return bytes ? read_id(*bytes).value_or(0) : 0;
}

void add_to_project(transaction& transaction, std::string_view project, model::id entry) {
    transaction.put(table::index, audit_of_project(project).add(entry), {});
    std::array<char, 8> value;
    transaction.put(table::index, audit_count_key(project),
                    id_value(count_of(transaction, project) + 1, value));
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
    add_to_project(transaction, entry.project, entry.id);
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
    if (head->last < rest) return std::nullopt;
    auto const own = count_of(transaction, project);
    if (own < rest) return std::nullopt;
    return reject(base::problem::storage_full,
                  "The audit log has " + std::to_string(own) +
                      " entries about this project and "
                      "room for " +
                      std::to_string(rest) +
                      ", which is its share. What is there can be deactivated and deleted; a "
                      "larger store.map_mib makes room.");
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

}  // namespace latchkey::store
