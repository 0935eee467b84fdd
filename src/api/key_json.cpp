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
                std::optional<std::string_view> plain, base::wall_ms last_used_at,
                live_limits const* live) {
    to.append("{\"id\":");
    append_number(to, record.id);
    if (plain) text_or_null(to, "key", *plain);
    text(to, "name", record.name);
    text(to, "project", record.project);
    text(to, "environment", model::name_of(record.environment));
    text_or_null(to, "start", record.start);
    text_or_null(to, "last4", record.last4);
    append_scopes(to, record);
    text(to, "state", model::name_of(record.state_at(now)));
    time(to, "not_before", record.not_before);
    time(to, "expires_at", record.expires_at);
    time(to, "created_at", record.created_at);
    id_or_null(to, "created_by", record.created_by);
    auto const end = record.ending_at(now);
    time(to, "deactivated_at", end.at);
    text_or_null(to, "deactivation_reason", model::name_of(end.reason));
    time(to, "last_used_at", last_used_at);
    id_or_null(to, "replaces", record.replaces);
    id_or_null(to, "replaced_by", record.replaced_by);
    time(to, "rotation_ends_at", record.rotation_ends_at);
    if (live != nullptr)
        append_limits(to, *live);
    else
        list(to, "rate_limits", record.rate_limits,
             [&](model::rate_limit const& limit) { rate_limit(to, limit); });
    list(to, "ip_allowlist", record.ip_allowlist,
         [&](model::cidr const& network) { append_string(to, network.text()); });
    append_metadata(to, record);
    to.push_back('}');
}

void append_scopes(std::string& to, model::key const& record) {
    list(to, "scopes", record.scopes.names(),
         [&](std::string const& name) { append_string(to, name); });
}

void append_limits(std::string& to, live_limits const& live) {
    std::size_t at = 0;
    list(to, "rate_limits", live.rules.rules, [&](limit::rule const& rule) {
        auto const& standing = live.seen.standings[at++];
        rate_limit(to, {std::string(rule.name()), rule.limit, rule.window_seconds, rule.burst});
        to.pop_back();
        to.append(",\"remaining\":");
        append_number(to, standing.remaining);
        to.append(",\"full_in_seconds\":");
        append_number(to, standing.full_in_seconds);
        to.push_back('}');
    });
}

void append_metadata(std::string& to, model::key const& record) {
    to.append(",\"metadata\":{");
    for (bool first = true; auto const& [name, value] : record.metadata) {
        if (!std::exchange(first, false)) to.push_back(',');
        append_string(to, name);
        to.push_back(':');
        append_string(to, value);
    }
    to.push_back('}');
}

}  // namespace latchkey::api
