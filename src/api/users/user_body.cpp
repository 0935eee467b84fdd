#include "api/users/user_body.hpp"

namespace latchkey::api {

using base::field_code;

user_body take_user(members& body, bool required, bool blank) {
    user_body fields;
    fields.name = body.text("name", {.required = required,
                                     .points_min = 1,
                                     .points_max = model::user_name_points_max,
                                     .blank = blank});
    fields.email = body.text("email", {.required = required, .controls = true});
    if (fields.email && fields.email->size() > model::email_bytes_max) {
        body.fault("email", field_code::too_long, "must have at most 254 bytes");
        fields.email.reset();
    } else if (fields.email && !model::is_email(*fields.email)) {
        body.fault("email", field_code::invalid_format, "must be an email address");
        fields.email.reset();
    }
    return fields;
}

line_result<model::user> read_user_line(std::string_view line, base::wall_ms now) {
    return read_line<model::user>(line, [&](members& body, model::user& record) {
        auto fields = take_user(body, true, true);
        record.name = std::move(fields.name).value_or("");
        record.email = std::move(fields.email).value_or("");
        take_times(body, now, record);
    });
}

}  // namespace latchkey::api
