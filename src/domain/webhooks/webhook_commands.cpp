// Creating, changing and deleting webhooks (api.md §17). See webhook_actions.cpp for what else a
// client may ask of one.
#include <algorithm>

#include "base/limits.hpp"
#include "domain/audit/audit_log.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/frame/rejection.hpp"
#include "domain/webhooks/webhook_access.hpp"

namespace latchkey::domain {
namespace {

using base::field_code;
using base::problem;
using faults = std::vector<base::fault>;
using member_value = decltype(expected_member::value);

// Beyond, pending deliveries of a deleted webhook stay until their changes are removed.
constexpr std::size_t pending_erased_max = 1024;

// A key gets another one while more are left than it has, a project while a third as many are.
std::optional<outcome> check_share(transaction& txn, command const& command,
                                   std::string_view project, std::size_t rest) {
    std::size_t own = 0, of_project = 0;
    for (auto const id : txn.ids_with_prefix(key_bytes{tag::webhook}, SIZE_MAX)) {
        webhook_record record;
        if (read_webhook(txn, id, record) != problem::none) continue;
        own += record.webhook.created_by == command.caller ? 1 : 0;
        of_project += !project.empty() && record.webhook.project == project ? 1 : 0;
    }
    if (own < rest && of_project < 3 * rest) return std::nullopt;
    bool const is_key = own >= rest;
    return reject(problem::storage_full,
                  std::string(is_key ? "This key has " : "This project has ") +
                      std::to_string(is_key ? own : of_project) + " webhooks and " +
                      std::to_string(rest) +
                      " are left, which is its share; delete one that is not needed.");
}

std::optional<outcome> check_room(transaction& txn, command const& command,
                                  std::string_view project, webhook_head const& head) {
    if (head.count >= webhooks_max || head.last >= base::limits::id_max)
        return reject(problem::storage_full,
                      "There are " + std::to_string(webhooks_max) +
                          " webhooks already; delete one that is not needed.");
    auto const rest = static_cast<std::size_t>(webhooks_max - head.count);
    if (command.caller == 0 || head.count < rest) return std::nullopt;
    return check_share(txn, command, project, rest);
}

member_value number_value(std::int64_t number) {
    return number == 0 ? member_value{} : member_value{number};
}
member_value text_value(std::string_view text) {
    return text.empty() ? member_value{} : member_value{std::string(text)};
}

// The current value of a read-only member; null for other names. A public key is its 32 bytes.
member_value value_of(model::webhook const& webhook, std::string_view name, base::wall_ms now) {
    if (name == "id") return number_value(webhook.id);
    if (name == "disabled_at") return number_value(webhook.disabled_at);
    if (name == "disabled_reason") return text_value(model::name_of(webhook.end));
    if (name == "project") return text_value(webhook.project);
    if (name == "created_by") return number_value(webhook.created_by);
    if (name == "created_at") return number_value(webhook.created_at);
    if (name == "updated_at") return number_value(webhook.updated_at);
    if (name == "secret_rotation_ends_at")
        return number_value(webhook.rotation_ends_at > now ? webhook.rotation_ends_at : 0);
    if (name == "public_key" && webhook.signs_v1a)
        return std::string(reinterpret_cast<char const*>(webhook.public_key.data()),
                           webhook.public_key.size());
    return {};
}

std::string header_pointer(std::string_view name) {
    std::string pointer = "/headers/";
    for (auto const byte : name)
        byte == '~' ? void(pointer += "~0") : pointer.push_back(byte);  // RFC 6901
    return pointer;
}

// Header values that were stored for one origin are not sent to another.
void check_moved_headers(change_webhook const& action, model::webhook const& webhook,
                         faults& list) {
    for (auto const& [name, value] : webhook.headers)
        if (std::ranges::none_of(action.headers, [&](auto const& each) {
                return each.value && model::is_same_header(each.name, name);
            }))
            list.push_back({.location = header_pointer(name),
                            .code = field_code::required,
                            .detail = "must be given anew, or removed: the stored value is not "
                                      "sent to another origin"});
}

void apply_headers(change_webhook const& action, model::webhook& webhook, faults& list) {
    auto& headers = webhook.headers;
    if (action.clear_headers) headers.clear();
    for (auto const& each : action.headers) {
        auto const position = std::ranges::find_if(headers, [&](auto const& header) {
            return model::is_same_header(header.first, each.name);
        });
        bool const exists = position != headers.end();
        if (each.keeps && !exists)
            list.push_back({.location = header_pointer(each.name),
                            .code = field_code::invalid_format,
                            .detail = "has the mask of a value that is not there"});
        if (each.keeps) continue;
        if (!each.value)
            exists ? void(headers.erase(position)) : void();
        else if (exists)
            *position = {each.name, *each.value};
        else
            headers.emplace_back(each.name, *each.value);
    }
    std::size_t bytes = 0;
    for (auto const& [name, value] : headers) bytes += name.size() + value.size();
    if (headers.size() > model::webhook_headers_max || bytes > model::webhook_header_bytes_max)
        list.push_back({.location = "/headers",
                        .code = field_code::too_long,
                        .detail = "must have at most 16 members and 4 KiB"});
}

void apply_enabled(change_webhook const& action, model::webhook& webhook, base::wall_ms now) {
    if (!action.enabled || *action.enabled == webhook.is_enabled()) return;
    webhook.end = *action.enabled ? model::webhook_end::none : model::webhook_end::manual;
    webhook.disabled_at = *action.enabled ? 0 : now;
}

// Faults in the changed webhook as a whole, and in read-only members.
model::webhook apply_change(model::webhook const& old_webhook, change_webhook const& action,
                            base::wall_ms now, faults& list) {
    auto webhook = old_webhook;
    for (auto const& each : action.expected)
        if (value_of(old_webhook, each.name, now) != each.value)
            list.push_back({.location = "/" + each.name,
                            .code = field_code::read_only_field,
                            .detail = "is assigned by the service: leave it out, or send it "
                                      "back unchanged"});
    if (action.url) webhook.url = *action.url;
    if (action.types) webhook.types = *action.types;
    if (action.description) webhook.description = *action.description;
    if (action.ordered) webhook.ordered = *action.ordered;
    if (action.max_per_second) webhook.max_per_second = *action.max_per_second;
    if (action.signatures) {
        webhook.signs_v1 = action.signatures->v1;
        webhook.signs_v1a = action.signatures->v1a;
    }
    apply_headers(action, webhook, list);
    if (model::origin_of(webhook.url) != model::origin_of(old_webhook.url))
        check_moved_headers(action, webhook, list);
    apply_enabled(action, webhook, now);
    return webhook;
}

std::vector<std::string> differences(model::webhook const& old_webhook,
                                     model::webhook const& new_webhook) {
    std::vector<std::string> fields;
    auto const compare = [&](bool match, char const* name) {
        if (!match) fields.emplace_back(name);
    };
    compare(old_webhook.url == new_webhook.url, "url");
    compare(old_webhook.types == new_webhook.types, "types");
    compare(old_webhook.description == new_webhook.description, "description");
    compare(old_webhook.ordered == new_webhook.ordered, "ordered");
    compare(old_webhook.max_per_second == new_webhook.max_per_second, "max_per_second");
    compare(old_webhook.headers == new_webhook.headers, "headers");
    compare(old_webhook.signs_v1 == new_webhook.signs_v1 &&
                old_webhook.signs_v1a == new_webhook.signs_v1a,
            "signatures");
    compare(old_webhook.is_enabled() == new_webhook.is_enabled(), "enabled");
    return fields;
}

}  // namespace

outcome run(transaction& txn, create_webhook const& action, command const& command) {
    grant_check const grants(txn, command);
    if (!command.faults.empty()) return reject_invalid(command.faults);
    if (auto rejection = check_changes_read(grants)) return std::move(*rejection);
    if (auto rejection = check_conditions(command)) return std::move(*rejection);
    if (!is_storable(action.record)) return reject(problem::internal_error);
    if (auto rejection = check_changes_recorded(txn)) return std::move(*rejection);
    auto const head = read_head(txn);
    if (auto rejection = check_room(txn, command, grants.project(), head))
        return std::move(*rejection);
    webhook_record record{.webhook = action.record, .header_values = {}, .secrets = {}};
    auto& webhook = record.webhook;
    webhook.project = grants.project();
    if (auto rejection = check_audit_share(txn, command, audit_project_of(webhook)))
        return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    webhook.id = head.last + 1;
    webhook.created_by = command.caller;
    webhook.created_at = webhook.updated_at = txn.now();
    record.header_values = encrypt_header_values(txn.store(), webhook);
    record.secrets = {{0, encrypt_secret(txn.store(), webhook.id, action.secret)}};
    put_webhook(txn, record);
    put_progress(txn, webhook.id, {.position = txn.last_id(table::changes)});
    put_head(txn, {webhook.id, head.count + 1});
    note(txn, command, audit_action::webhook_create, webhook, {});
    auto result = webhook_result_of(txn, std::move(webhook));
    std::get<webhook_outcome>(result.record).secret = action.secret.hmac;
    return result;
}

outcome run(transaction& txn, change_webhook const& action, command const& command) {
    webhook_record record;
    if (auto rejection = find_webhook(txn, command, action.id, record, true))
        return std::move(*rejection);
    auto const tag = [&] { return model::tag_of(record.webhook, txn.now()); };
    if (command.faults.empty())
        if (auto rejection = check_conditions(command, tag)) return std::move(*rejection);
    // Values that cannot be decrypted can only be cleared.
    bool const changes_headers = action.clear_headers || !action.headers.empty();
    if (changes_headers && !action.clear_headers && !decrypt_header_values(txn.store(), record))
        return reject(problem::internal_error);
    auto const old_webhook = record.webhook;
    auto list = command.faults;
    auto new_webhook = apply_change(old_webhook, action, txn.now(), list);
    if (!list.empty()) return reject_invalid(std::move(list));
    auto fields = differences(old_webhook, new_webhook);
    if (fields.empty()) return webhook_result_of(txn, new_webhook);
    if (!is_storable(new_webhook)) return reject(problem::internal_error);
    if (auto rejection = check_audit_share(txn, command, audit_project_of(new_webhook)))
        return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    new_webhook.updated_at = txn.now();
    ++new_webhook.revision;
    bool const begins = new_webhook.is_enabled() && !old_webhook.is_enabled();
    record.webhook = new_webhook;
    if (changes_headers) record.header_values = encrypt_header_values(txn.store(), new_webhook);
    put_webhook(txn, record);
    if (begins) {
        put_progress(txn, action.id, {.position = read_progress(txn, action.id).position});
        make_due(txn, action.id, new_webhook.ordered ? webhook_due_max : webhook_probes_max);
    }
    note(txn, command, audit_action::webhook_change, new_webhook, std::move(fields));
    return webhook_result_of(txn, std::move(new_webhook));
}

outcome run(transaction& txn, delete_webhook const& action, command const& command) {
    webhook_record record;
    if (auto rejection = find_webhook(txn, command, action.id, record, false))
        return std::move(*rejection);
    if (!command.faults.empty()) return reject_invalid(command.faults);
    auto const tag = [&] { return model::tag_of(record.webhook, txn.now()); };
    if (auto rejection = check_conditions(command, tag)) return std::move(*rejection);
    if (auto const shortage = check_capacity(txn, false)) return reject(*shortage);

    txn.erase(table::index, webhook_key(action.id));
    txn.erase(table::index, webhook_progress_key(action.id));
    txn.erase_range(replays_of(action.id), replays_of(action.id + 1), model::webhook_replays_max);
    txn.add_weight(
        txn.erase_range(pending_of(action.id), pending_of(action.id + 1), pending_erased_max));
    auto const head = read_head(txn);
    put_head(txn, {head.last, head.count - 1});
    note(txn, command, audit_action::webhook_delete, record.webhook, {});
    return {};
}

std::size_t bytes_of(create_webhook const& action) {
    auto const& record = action.record;
    std::size_t bytes = record.url.size() + record.description.size();
    for (auto const& type : record.types) bytes += sizeof type + type.size();
    for (auto const& [name, value] : record.headers) bytes += 64 + name.size() + value.size();
    return bytes;
}

std::size_t bytes_of(change_webhook const& action) {
    std::size_t bytes = text_bytes(action.url) + text_bytes(action.description);
    if (action.types)
        for (auto const& type : *action.types) bytes += sizeof type + type.size();
    for (auto const& each : action.headers)
        bytes += sizeof each + each.name.size() + text_bytes(each.value);
    return bytes + action.expected.size() * sizeof(expected_member);
}

}  // namespace latchkey::domain
