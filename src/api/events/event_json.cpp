#include "api/events/event_json.hpp"

#include "api/frame/json/json_writer.hpp"

namespace latchkey::api {

void append_event(std::string& output, model::event_view const& event) {
    output.append("{\"id\":");
    append_number(output, event.id);
    output.append(",\"source\":");
    append_plain_string(output, event.source);
    output.append(",\"delivery_id\":");
    append_string_or_null(output, event.delivery_id);
    output.append(",\"key_id\":");
    append_number(output, event.key_id);
    output.append(event.verified ? ",\"verified\":true" : ",\"verified\":false");
    output.append(",\"received_at\":");
    append_timestamp(output, event.received_at);
    output.append(",\"payload\":").append(event.payload).push_back('}');
}

bool append_changed_event(std::string& output, domain::change_view const& change) {
    auto const event = model::decode_event(change.subject, change.record);
    if (event) append_event(output, *event);
    return event.has_value();
}

}  // namespace latchkey::api
