#include "api/frame/change_json.hpp"

#include "api/events/event_json.hpp"
#include "api/frame/json/json_writer.hpp"
#include "api/frame/resource.hpp"
#include "api/keys/key_json.hpp"
#include "api/webhooks/webhook_json.hpp"
#include "store/records/webhook_record.hpp"

namespace latchkey::api {
namespace {

using store::change_view;

// Each appends the record of its kind; false: it cannot be decoded, and nothing was appended.
bool append_user_of(std::string& output, change_view const& change) {
    auto const user = model::decode_user(change.subject, change.record);
    if (user) append_user(output, *user);
    return user.has_value();
}

bool append_post_of(std::string& output, change_view const& change) {
    auto const post = model::decode_post(change.subject, change.record);
    if (post) append_post(output, *post);
    return post.has_value();
}

// Its state is that of the time of the change.
bool append_key_of(std::string& output, change_view const& change) {
    auto const key = model::decode_key(change.subject, change.record);
    if (key) append_key(output, *key, change.occurred_at, {}, change.last_used_at);
    return key.has_value();
}

bool append_event_of(std::string& output, change_view const& change) {
    auto const event = model::decode_event(change.subject, change.record);
    if (event) append_event(output, *event);
    return event.has_value();
}

bool append_secret_change(std::string& output, change_view const& change) {
    auto const secret = store::decode_secret_change(change.record);
    if (!secret) return false;
    output.append("{\"source\":");
    append_plain_string(output, secret->source);
    append_name(output, "format");
    append_plain_string(output, model::name_of(static_cast<model::event_format>(secret->format)));
    append_name(output, "removed");
    output.append(secret->removed ? "true}" : "false}");
    return true;
}

bool append_webhook_of(std::string& output, change_view const& change) {
    auto const entry = store::decode_webhook_entry(change.subject, change.record);
    if (entry) append_webhook(output, *entry, change.occurred_at);
    return entry.has_value();
}

bool append_record(std::string& output, change_view const& change) {
    using enum model::change_type;
    if (change.type <= user_deleted) return append_user_of(output, change);
    if (change.type <= post_deleted) return append_post_of(output, change);
    if (model::is_about_key(change.type)) return append_key_of(output, change);
    if (change.type == event_received) return append_event_of(output, change);
    if (change.type == event_secret_changed) return append_secret_change(output, change);
    return append_webhook_of(output, change);
}

}  // namespace

void append_change(std::string& output, change_view const& change) {
    output.append("{\"sequence\":");
    append_number(output, change.sequence);
    append_name(output, "type");
    append_plain_string(output, model::name_of(change.type));
    append_name(output, "occurred_at");
    append_timestamp(output, change.occurred_at);
    append_name(output, "key_id");
    append_id_or_null(output, change.key_id);
    append_name(output, "data");
    if (!append_record(output, change)) {
        output.append("{\"id\":");
        append_number(output, change.subject);
        output.push_back('}');
    }
    output.push_back('}');
}

}  // namespace latchkey::api
