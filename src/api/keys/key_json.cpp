#include "api/keys/key_json.hpp"

#include <utility>

#include "api/frame/json/json_writer.hpp"

namespace latchkey::api {
namespace {

void append_text(std::string& output, std::string_view name, std::string_view value) {
    append_name(output, name);
    append_string(output, value);
}
void append_text_or_null(std::string& output, std::string_view name, std::string_view value) {
    append_name(output, name);
    append_string_or_null(output, value);
}
void append_time(std::string& output, std::string_view name, base::wall_ms value) {
    append_name(output, name);
    append_timestamp_or_null(output, value);
}
void append_id(std::string& output, std::string_view name, model::id value) {
    append_name(output, name);
    append_id_or_null(output, value);
}

void append_limit(std::string& output, model::rate_limit const& limit) {
    output.append("{\"name\":");
    append_string(output, limit.name);
    output.append(",\"limit\":");
    append_number(output, limit.limit);
    output.append(",\"window_seconds\":");
    append_number(output, limit.window_seconds);
    output.append(",\"burst\":");
    append_number(output, limit.burst == 0 ? limit.limit : limit.burst);
    output.push_back('}');
}

}  // namespace

void append_key(std::string& output, model::key const& record, base::wall_ms now,
                std::optional<std::string_view> plain, base::wall_ms last_used_at,
                live_limits const* live) {
    output.append("{\"id\":");
    append_number(output, record.id);
    if (plain) append_text_or_null(output, "key", *plain);
    append_text(output, "kind", model::name_of(record.kind));
    append_text(output, "name", record.name);
    append_text(output, "project", record.project);
    append_text(output, "environment", model::name_of(record.environment));
    append_text_or_null(output, "start", record.start);
    append_text_or_null(output, "last4", record.last4);
    append_text_or_null(output, "issuer", record.issuer);
    append_text_or_null(output, "subject", record.subject);
    append_scopes(output, record.scopes);
    append_text(output, "state", model::name_of(record.state_at(now)));
    append_time(output, "not_before", record.not_before);
    append_time(output, "expires_at", record.expires_at);
    append_time(output, "created_at", record.created_at);
    append_id(output, "created_by", record.created_by);
    auto const end = record.ending_at(now);
    append_time(output, "deactivated_at", end.time);
    append_text_or_null(output, "deactivation_reason", model::name_of(end.reason));
    append_time(output, "last_used_at", last_used_at);
    append_id(output, "replaces", record.replaces);
    append_id(output, "replaced_by", record.replaced_by);
    append_time(output, "rotation_ends_at", record.rotation_ends_at);
    live != nullptr ? append_limits(output, *live) : append_limits(output, record);
    append_name(output, "ip_allowlist");
    append_array(output, record.ip_allowlist,
                 [&](model::cidr const& network) { append_string(output, network.text()); });
    append_metadata(output, record);
    output.push_back('}');
}

void append_deactivated_key(std::string& output, domain::outcome const& outcome) {
    auto const* const revocation = std::get_if<domain::revocation>(&outcome.record);
    auto const& key =
        revocation != nullptr ? revocation->key : std::get<model::key>(outcome.record);
    append_key(output, key, outcome.time, {}, outcome.last_used_at);
    if (revocation == nullptr) return;
    output.pop_back();
    output.append(",\"created\":{\"keys\":");
    auto const append = [&](model::id id) { append_number(output, id); };
    append_array(output, revocation->keys, append);
    append_name(output, "webhooks");
    append_array(output, revocation->webhooks, append);
    append_name(output, "is_complete");
    output.append(revocation->is_complete ? "true}}" : "false}}");
}

void append_scopes(std::string& output, model::scope_set const& scopes) {
    append_name(output, "scopes");
    append_array(output, scopes.names(),
                 [&](std::string const& name) { append_string(output, name); });
}

void append_limits(std::string& output, model::key const& record) {
    append_name(output, "rate_limits");
    append_array(output, record.rate_limits,
                 [&](model::rate_limit const& limit) { append_limit(output, limit); });
}

void append_limits(std::string& output, live_limits const& live) {
    std::size_t index = 0;
    append_name(output, "rate_limits");
    append_array(output, live.policy.rules, [&](limit::rule const& rule) {
        auto const& level = live.decision.levels[index++];
        append_limit(output, {std::string(rule.name), rule.limit, rule.window_seconds, rule.burst});
        output.pop_back();
        output.append(",\"remaining\":");
        append_number(output, level.remaining);
        output.append(",\"full_in_seconds\":");
        append_number(output, level.full_in_seconds);
        output.push_back('}');
    });
}

void append_metadata(std::string& output, model::key const& record) {
    output.append(",\"metadata\":{");
    for (bool first = true; auto const& [name, value] : record.metadata) {
        if (!std::exchange(first, false)) output.push_back(',');
        append_string(output, name);
        output.push_back(':');
        append_string(output, value);
    }
    output.push_back('}');
}

bool append_changed_key(std::string& output, domain::change_view const& change) {
    auto const key = model::decode_key(change.subject, change.record);
    if (key) append_key(output, *key, change.occurred_at, {}, change.last_used_at);
    return key.has_value();
}

}  // namespace latchkey::api
