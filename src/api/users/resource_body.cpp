#include "api/users/resource_body.hpp"

#include <stdexcept>

#include "api/frame/json/json_reader.hpp"
#include "api/keys/key_members.hpp"
#include "store/admin/bulk_load.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

// The record's id in the file; 0: none.
model::id take_id(members& body) {
    auto const id = body.id("id", false).value_or(0);
    if (id <= store::load_id_max) return id;
    body.fault("id", field_code::out_of_range, "must be at most 4503599627370496");
    return 0;
}

// 0: absent, or null where that is allowed.
base::wall_ms take_past_time(members& body, std::string_view name, base::wall_ms now,
                             bool nullable) {
    auto const time = take_time(body, name);
    if (!time || (*time == 0 && nullable)) return 0;
    if (*time > now) body.fault(name, field_code::out_of_range, "must not be in the future");
    if (*time == 0) body.fault(name, field_code::null_not_allowed, "must not be null");
    return *time;
}

// The record must not have changed before it was created.
template <class Record>
void take_times(members& body, base::wall_ms now, Record& record) {
    record.created_at = take_past_time(body, "created_at", now, false);
    record.updated_at = take_past_time(body, "updated_at", now, false);
    if (record.updated_at != 0 && record.updated_at < record.created_at)
        body.fault("updated_at", field_code::out_of_range, "must not be before created_at");
}

template <class Record, class Take>
line_result<Record> read_line(std::string_view line, Take take) {
    auto const document = read_json(line);
    if (!document.root) return line_error{{}, document.error, 0};
    auto const* const object = document.root->if_object();
    if (object == nullptr) return line_error{{}, "it is not a JSON object", 0};
    line_error error;
    members body(*object, error.faults);
    Record record;
    record.id = take_id(body);
    take(body, record);
    body.refuse_rest();
    if (error.faults.empty()) return record;
    error.id = record.id;
    return error;
}

}  // namespace

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

post_body take_post(members& body, bool title_required, bool rest_required, bool blank) {
    post_body fields;
    fields.title = body.text("title", {.required = title_required,
                                       .points_min = 1,
                                       .points_max = model::post_title_points_max,
                                       .blank = blank});
    fields.body = body.text("body", {.required = rest_required,
                                     .bytes_max = model::post_body_bytes_max,
                                     .controls = true,
                                     .blank = true});
    if (auto const name = body.word("status", rest_required)) {
        fields.status = model::find_post_status(*name);
        if (!fields.status)
            body.fault("status", field_code::not_in_enum, "must be draft, published or archived");
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

line_result<model::post> read_post_line(std::string_view line, base::wall_ms now) {
    return read_line<model::post>(line, [&](members& body, model::post& record) {
        auto fields = take_post(body, true, false, true);
        record.user_id = body.id("user_id", true).value_or(0);
        record.title = std::move(fields.title).value_or("");
        record.body = std::move(fields.body).value_or("");
        record.status = fields.status.value_or(model::post_status::draft);
        take_times(body, now, record);
        record.published_at = take_past_time(body, "published_at", now, true);
        if (record.published_at != 0 && record.status == model::post_status::draft)
            body.fault("published_at", field_code::out_of_range, "must be null in a draft");
    });
}

void throw_exception_from_error(line_error const& error, boost::source_location const&) {
    throw std::logic_error("an error was used as a value: " + error.detail);
}

}  // namespace latchkey::api
