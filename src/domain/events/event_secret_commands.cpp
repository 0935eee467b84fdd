// Setting and removing the secret of a source of events.
#include "domain/audit/audit_log.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/events/event_secret_record.hpp"
#include "domain/frame/rejection.hpp"
#include "store/encryption.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

void note_secret(transaction& txn, command const& command, secret_change const& change) {
    note_change(txn, model::change_type::event_secret_changed, command.caller, change);
}

}  // namespace

outcome run(transaction& txn, put_event_secret const& action, command const& command) {
    if (!command.faults.empty()) return reject_invalid(command.faults);
    if (!model::is_event_source(action.source) || action.secret.empty())
        return reject(problem::internal_error);
    if (auto rejection = check_conditions(command)) return std::move(*rejection);
    if (auto rejection = check_audit_share(txn, command, {})) return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    // An unreadable secret is replaced like a missing one.
    auto const key = event_secret_key(action.source);
    auto const bytes = txn.find(table::index, key);
    auto previous = bytes ? decode_event_secrets(*bytes) : std::nullopt;
    if (previous && !decrypt(txn.store(), previous->front().ciphertext, action.source))
        previous.reset();
    std::vector<std::string> fields;
    if (!previous || previous->front().format != action.format) fields.emplace_back("format");
    fields.emplace_back("secret");
    std::vector<encrypted_secret> all{
        {action.format, txn.now(), 0, encrypt(txn.store(), action.secret, action.source)}};
    if (previous && action.overlap_ms > 0) {
        all.push_back(std::move(previous->front()));
        all.back().ends_at = txn.now() + action.overlap_ms;
    }
    encode(all, txn.scratch);
    txn.put(table::index, key, txn.scratch);
    txn.note_urgency();
    note(txn, command, audit_action::secret_put, action.source, std::move(fields));
    note_secret(txn, command, {static_cast<std::uint8_t>(action.format), false, action.source});
    return {.record = secret_result{action.source, action.format,
                                    action.reveal ? action.secret : base::secret()}};
}

outcome run(transaction& txn, delete_event_secret const& action, command const& command) {
    auto const key = event_secret_key(action.source);
    if (!model::is_event_source(action.source) || !txn.has(table::index, key))
        return reject_missing(command, "The source " + action.source + " has no secret.");
    if (!command.faults.empty()) return reject_invalid(command.faults);
    if (auto rejection = check_conditions(command)) return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, false)) return reject(*shortage);
    auto const bytes = txn.find(table::index, key);
    auto const secrets = bytes ? decode_event_secrets(*bytes) : std::nullopt;
    auto const format = secrets ? secrets->front().format : model::event_format::standard;
    txn.erase(table::index, key);
    txn.note_urgency();
    note(txn, command, audit_action::secret_delete, action.source, {});
    note_secret(txn, command, {static_cast<std::uint8_t>(format), true, action.source});
    return {};
}

std::size_t bytes_of(put_event_secret const& action) {
    return action.source.size();
}

std::size_t bytes_of(delete_event_secret const& action) {
    return action.source.size();
}

}  // namespace latchkey::domain
