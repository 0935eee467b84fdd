// Members are appended one by one, grouped as settings, state and secret. Values of header fields
// are always masked here. Room is reserved before a secret is written, since a string that grows
// leaves a copy of it behind.
#include "api/webhooks/webhook_json.hpp"

#include <utility>

#include "api/frame/json/json_writer.hpp"
#include "auth/webhook_signature.hpp"
#include "domain/changes/change_types.hpp"
#include "domain/webhooks/webhook_record.hpp"
#include "model/message_id.hpp"

namespace latchkey::api {
namespace {

constexpr std::size_t webhook_answer_bytes = 32 * 1024;

void append_boolean(std::string& output, bool value) {
    output.append(value ? "true" : "false");
}

void append_headers(std::string& output, model::webhook const& webhook) {
    output.append(",\"headers\":{");
    for (bool first = true; auto const& header : webhook.headers) {
        if (!std::exchange(first, false)) output.push_back(',');
        append_string(output, header.first);
        output.push_back(':');
        append_plain_string(output, header_mask);
    }
    output.push_back('}');
}

void append_signatures(std::string& output, model::webhook const& webhook) {
    std::string_view const both = webhook.signs_v1 && webhook.signs_v1a ? "," : "";
    output.append(",\"signatures\":[").append(webhook.signs_v1 ? "\"v1\"" : "");
    output.append(both).append(webhook.signs_v1a ? "\"v1a\"" : "").append("]");
}

void append_settings(std::string& output, model::webhook const& webhook) {
    append_name(output, "url");
    append_string(output, webhook.url);
    append_name(output, "types");
    append_array(output, webhook.types,
                 [&](std::string const& type) { append_string(output, type); });
    append_name(output, "description");
    append_string_or_null(output, webhook.description);
    append_name(output, "ordered");
    append_boolean(output, webhook.ordered);
    append_name(output, "max_per_second");
    append_id_or_null(output, webhook.max_per_second);
    append_headers(output, webhook);
    append_signatures(output, webhook);
}

void append_state(std::string& output, domain::webhook_entry const& entry, base::wall_ms now) {
    auto const& webhook = entry.webhook;
    append_name(output, "enabled");
    append_boolean(output, webhook.is_enabled());
    append_name(output, "disabled_at");
    append_timestamp_or_null(output, webhook.disabled_at);
    append_name(output, "disabled_reason");
    append_string_or_null(output, model::name_of(webhook.end));
    append_name(output, "failing_since");
    append_timestamp_or_null(output, entry.progress.failing_since);
    append_name(output, "position");
    append_number(output, entry.progress.position);
    append_name(output, "project");
    append_string_or_null(output, webhook.project);
    append_name(output, "public_key");
    append_string_or_null(
        output, webhook.signs_v1a ? auth::public_key_text(webhook.public_key) : std::string());
    append_name(output, "secret_rotation_ends_at");
    append_timestamp_or_null(output, webhook.rotation_ends_at > now ? webhook.rotation_ends_at : 0);
    append_name(output, "created_by");
    append_id_or_null(output, webhook.created_by);
    append_name(output, "created_at");
    append_timestamp(output, webhook.created_at);
    append_name(output, "updated_at");
    append_timestamp(output, webhook.updated_at);
}

void append_attempt(std::string& output, model::delivery_attempt const& attempt) {
    output.append("{\"at\":");
    append_timestamp(output, attempt.time);
    append_name(output, "status");
    append_id_or_null(output, attempt.status);
    append_name(output, "error");
    append_string_or_null(output, attempt.error);
    append_name(output, "duration_ms");
    append_number(output, attempt.duration_ms);
    append_name(output, "response");
    attempt.status == 0 ? output.append("null") : (append_string(output, attempt.response), output);
    output.push_back('}');
}

}  // namespace

void append_webhook(std::string& output, domain::webhook_entry const& entry, base::wall_ms now,
                    base::secret const* secret) {
    if (secret != nullptr) output.reserve(output.size() + webhook_answer_bytes);
    output.append("{\"id\":");
    append_number(output, entry.webhook.id);
    append_settings(output, entry.webhook);
    append_state(output, entry, now);
    if (secret != nullptr) {
        append_name(output, "secret");
        append_string_or_null(
            output, secret->empty() ? std::string_view() : auth::secret_text(*secret).text());
    }
    output.push_back('}');
}

void append_test(std::string& output, domain::webhook_outcome const& outcome, base::wall_ms time) {
    output.append("{\"sequence\":");
    append_number(output, outcome.sequence);
    append_name(output, "type");
    append_plain_string(output, domain::name_of(model::change_type::webhook_test));
    append_name(output, "occurred_at");
    append_timestamp(output, time);
    append_name(output, "key_id");
    append_id_or_null(output, outcome.caller);
    append_name(output, "data");
    append_webhook(output, outcome.entry, time);
    output.push_back('}');
}

void append_delivery(std::string& output, model::delivery const& delivery,
                     std::string_view message_id) {
    output.append("{\"sequence\":");
    append_number(output, delivery.sequence);
    append_name(output, "message_id");
    append_string_or_null(output, message_id);
    append_name(output, "type");
    append_plain_string(output, domain::name_of(delivery.type));
    append_name(output, "state");
    append_plain_string(output, model::name_of(delivery.state));
    append_name(output, "attempts");
    append_array(output, delivery.attempts,
                 [&](model::delivery_attempt const& attempt) { append_attempt(output, attempt); });
    append_name(output, "next_attempt_at");
    bool const is_pending = delivery.state == model::delivery_state::pending;
    append_timestamp_or_null(output, is_pending ? delivery.next_attempt_at : 0);
    output.push_back('}');
}

bool append_changed_webhook(std::string& output, domain::change_view const& change) {
    auto const entry = domain::decode_webhook_entry(change.subject, change.record);
    if (entry) append_webhook(output, *entry, change.occurred_at);
    return entry.has_value();
}

std::string message_id_of(domain::snapshot const& snapshot, model::id sequence) {
    auto const change = snapshot.change(sequence);
    return change ? model::message_id(sequence, change->occurred_at) : std::string();
}

}  // namespace latchkey::api
