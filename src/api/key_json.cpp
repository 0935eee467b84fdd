#include "api/key_json.hpp"

#include <utility>

#include "api/json_writer.hpp"

namespace latchkey::api {
namespace {

void text(std::string& to, std::string_view name, std::string_view value) {
    to.append(",\"").append(name).append("\":");
    append_string(to, value);
}
void text_or_null(std::string& to, std::string_view name, std::string_view value) {
    if (!value.empty()) return text(to, name, value);
    to.append(",\"").append(name).append("\":null");
}
void time(std::string& to, std::string_view name, base::wall_ms value) {
    to.append(",\"").append(name).append("\":");
    append_timestamp_or_null(to, value);
}
void id_or_null(std::string& to, std::string_view name, model::id value) {
    to.append(",\"").append(name).append("\":");
    value == 0 ? void(to.append("null")) : append_number(to, value);
}

// `[…]` around what `each` appends for every element.
template <class Range, class Each>
void list(std::string& to, std::string_view name, Range const& range, Each each) {
    to.append(",\"").append(name).append("\":[");
    bool first = true;
    for (auto const& element : range) {
        if (!std::exchange(first, false)) to.push_back(',');
        each(element);
    }
    to.push_back(']');
}

void rate_limit(std::string& to, model::rate_limit const& limit) {
    to.append("{\"name\":");
    append_string(to, limit.name);
    to.append(",\"limit\":");
    append_number(to, limit.limit);
    to.append(",\"window_seconds\":");
    append_number(to, limit.window_seconds);
    to.append(",\"burst\":");
    append_number(to, limit.burst == 0 ? limit.limit : limit.burst);
    to.push_back('}');
}

}  // namespace

void append_key(std::string& to, model::key const& record, base::wall_ms now,
                std::string_view plain) {
    to.append("{\"id\":");
    append_number(to, record.id);
    if (!plain.empty()) text(to, "key", plain);
    text(to, "name", record.name);
    text(to, "project", record.project);
    text(to, "environment", model::name_of(record.environment));
    text_or_null(to, "start", record.start);
    text_or_null(to, "last4", record.last4);
    list(to, "scopes", record.scopes.names(),
         [&](std::string const& name) { append_string(to, name); });
    text(to, "state", model::name_of(record.state_at(now)));
    time(to, "not_before", record.not_before);
    time(to, "expires_at", record.expires_at);
    time(to, "created_at", record.created_at);
    id_or_null(to, "created_by", record.created_by);
    time(to, "deactivated_at", record.deactivated_at);
    text_or_null(to, "deactivation_reason",
                 record.deactivation_reason == model::deactivation::none
                     ? std::string_view()
                     : model::name_of(record.deactivation_reason));
    to.append(",\"last_used_at\":null");
    id_or_null(to, "replaces", record.replaces);
    id_or_null(to, "replaced_by", record.replaced_by);
    time(to, "rotation_ends_at", record.rotation_ends_at);
    list(to, "rate_limits", record.rate_limits,
         [&](model::rate_limit const& limit) { rate_limit(to, limit); });
    list(to, "ip_allowlist", record.ip_allowlist,
         [&](model::cidr const& network) { append_string(to, network.text()); });
    to.append(",\"metadata\":{");
    for (bool first = true; auto const& [name, value] : record.metadata) {
        if (!std::exchange(first, false)) to.push_back(',');
        append_string(to, name);
        to.push_back(':');
        append_string(to, value);
    }
    to.append("}}");
}

}  // namespace latchkey::api
