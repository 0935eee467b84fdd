#include "api/event_secret_json.hpp"

#include "api/json_writer.hpp"

namespace latchkey::api {
namespace {

void begin(std::string& to, std::string_view source, model::event_format format) {
    to.append("{\"source\":");
    append_plain_string(to, source);
    to.append(",\"format\":");
    append_plain_string(to, model::name_of(format));
}

}  // namespace

void append_kept_secret(std::string& to, store::kept_secret const& kept) {
    to.reserve(to.size() + 1024);
    begin(to, kept.source, kept.format);
    to.append(",\"secret\":");
    kept.shown.empty() ? void(to.append("null")) : append_plain_string(to, kept.shown.text());
    to.push_back('}');
}

void append_event_secrets(std::string& to, std::string_view source,
                          store::event_secrets const& secrets) {
    begin(to, source, secrets.current.format);
    to.append(",\"created_at\":");
    append_timestamp(to, secrets.current.created_at);
    to.append(",\"rotation_ends_at\":");
    append_timestamp_or_null(to, secrets.previous ? secrets.previous->ends_at : 0);
    to.push_back('}');
}

}  // namespace latchkey::api
