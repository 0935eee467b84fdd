#include "api/frame/change_json.hpp"

#include "api/frame/json/json_writer.hpp"
#include "api/frame/record_kind.hpp"
#include "domain/changes/change_types.hpp"

namespace latchkey::api {

void append_change(std::string& output, domain::change_view const& change) {
    output.append("{\"sequence\":");
    append_number(output, change.sequence);
    append_name(output, "type");
    append_plain_string(output, domain::name_of(change.type));
    append_name(output, "occurred_at");
    append_timestamp(output, change.occurred_at);
    append_name(output, "key_id");
    append_id_or_null(output, change.key_id);
    append_name(output, "data");
    if (!kind_of(change.type).append(output, change)) {
        output.append("{\"id\":");
        append_number(output, change.subject);
        output.push_back('}');
    }
    output.push_back('}');
}

}  // namespace latchkey::api
