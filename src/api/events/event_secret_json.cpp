#include "api/events/event_secret_json.hpp"

#include "api/frame/json/json_writer.hpp"

namespace latchkey::api {
namespace {

void begin(std::string& output, std::string_view source, model::event_format format) {
    output.append("{\"source\":");
    append_plain_string(output, source);
    output.append(",\"format\":");
    append_plain_string(output, model::name_of(format));
}

}  // namespace

void append_kept_secret(std::string& output, domain::secret_result const& secret) {
    output.reserve(output.size() + 1024);
    begin(output, secret.source, secret.format);
    output.append(",\"secret\":");
    append_string_or_null(output, secret.secret.text());
    output.push_back('}');
}

void append_event_secrets(std::string& output, std::string_view source,
                          domain::event_secrets const& secrets) {
    begin(output, source, secrets.current.format);
    output.append(",\"created_at\":");
    append_timestamp(output, secrets.current.created_at);
    output.append(",\"rotation_ends_at\":");
    append_timestamp_or_null(output, secrets.previous ? secrets.previous->ends_at : 0);
    output.push_back('}');
}

void append_event_source(std::string& output, domain::event_source const& source) {
    output.append("{\"source\":");
    append_plain_string(output, source.name);
    append_name(output, "events");
    append_number(output, source.events);
    append_name(output, "secret");
    source.secrets ? append_event_secrets(output, source.name, *source.secrets)
                   : void(output.append("null"));
    output.push_back('}');
}

bool append_secret_change(std::string& output, domain::change_view const& change) {
    auto const secret = domain::decode_secret_change(change.record);
    if (!secret) return false;
    output.append("{\"source\":");
    append_plain_string(output, secret->source);
    append_name(output, "format");
    append_plain_string(output, model::name_of(static_cast<model::event_format>(secret->format)));
    append_name(output, "removed");
    output.append(secret->removed ? "true}" : "false}");
    return true;
}

}  // namespace latchkey::api
