#include "store/records/audit_log.hpp"

namespace latchkey::store {
namespace {

void add_to_project(transaction& transaction, std::string_view project, model::id entry) {
    transaction.put(table::index, audit_of_project(project).add(entry), {});
    auto const bytes = transaction.get(table::index, audit_count_key(project));
    auto const count = (bytes ? read_id(*bytes).value_or(0) : 0) + 1;
    std::array<char, 8> value;
    transaction.put(table::index, audit_count_key(project), id_value(count, value));
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
    append_entry(
        transaction, command,
        {.action = action,
         .project = webhook.project.empty() ? std::string(audit_all_projects) : webhook.project,
         .source = std::to_string(webhook.id),
         .fields = std::move(fields)});
}

}  // namespace latchkey::store
