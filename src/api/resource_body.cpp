#include "api/resource_body.hpp"

#include <stdexcept>

#include "api/json_reader.hpp"
#include "api/key_members.hpp"
#include "store/bulk_load.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

// The id that the record had where it comes from; 0: none.
model::id take_id(members& body) {
    auto const id = body.id("id", false).value_or(0);
    if (id <= store::load_id_max) return id;
    body.fault("id", field_code::out_of_range, "must be at most 4503599627370496");
    return 0;
}

// 0: it is not there, or null where that is allowed.
base::wall_ms take_past_time(members& body, std::string_view name, base::wall_ms now,
                             bool nullable) {
    auto const time = take_time(body, name);
    if (!time || (*time == 0 && nullable)) return 0;
    if (*time > now) body.fault(name, field_code::out_of_range, "must not be in the future");
    if (*time == 0) body.fault(name, field_code::null_not_allowed, "must not be null");
    return *time;
}

// Created before it was changed.
template <class Record>
void take_times(members& body, base::wall_ms now, Record& to) {
    to.created_at = take_past_time(body, "created_at", now, false);
    to.updated_at = take_past_time(body, "updated_at", now, false);
    if (to.updated_at != 0 && to.updated_at < to.created_at)
        body.fault("updated_at", field_code::out_of_range, "must not be before created_at");
}

template <class Record, class Take>
or_line_trouble<Record> read_line(std::string_view line, Take take) {
    auto const document = read_json(line);
    if (!document.root) return line_trouble{{}, document.wrong, 0};
    auto const* const object = document.root->if_object();
    if (object == nullptr) return line_trouble{{}, "it is not a JSON object", 0};
    line_trouble wrong;
    members body(*object, wrong.faults);
    Record record;
    record.id = take_id(body);
    take(body, record);
    body.refuse_rest();
    if (wrong.faults.empty()) return record;
    wrong.id = record.id;
    return wrong;
}

}  // namespace

user_body take_user(members& body, bool required) {
    user_body made;
    made.name = body.text(
        "name", {.required = required, .points_min = 1, .points_max = model::user_name_points_max});
    made.email = body.text("email", {.required = required, .controls = true});
    if (made.email && made.email->size() > model::email_bytes_max) {
        body.fault("email", field_code::too_long, "must have at most 254 bytes");
        made.email.reset();
    } else if (made.email && !model::is_email(*made.email)) {
        body.fault("email", field_code::invalid_format, "must be an email address");
        made.email.reset();
    }
    return made;
}

post_body take_post(members& from, bool title_required, bool rest_required) {
    post_body made;
    made.title = from.text(
        "title",
        {.required = title_required, .points_min = 1, .points_max = model::post_title_points_max});
    made.body = from.text(
        "body",
        {.required = rest_required, .bytes_max = model::post_body_bytes_max, .controls = true});
    if (auto const name = from.word("status", rest_required)) {
        made.status = model::find_post_status(*name);
        if (!made.status)
            from.fault("status", field_code::not_in_enum, "must be draft, published or archived");
    }
    return made;
}

or_line_trouble<model::user> read_user_line(std::string_view line, base::wall_ms now) {
    return read_line<model::user>(line, [&](members& body, model::user& to) {
        auto made = take_user(body, true);
        to.name = std::move(made.name).value_or("");
        to.email = std::move(made.email).value_or("");
        take_times(body, now, to);
    });
}

or_line_trouble<model::post> read_post_line(std::string_view line, base::wall_ms now) {
    return read_line<model::post>(line, [&](members& body, model::post& to) {
        auto made = take_post(body, true, false);
        to.user_id = body.id("user_id", true).value_or(0);
        to.title = std::move(made.title).value_or("");
        to.body = std::move(made.body).value_or("");
        to.status = made.status.value_or(model::post_status::draft);
        take_times(body, now, to);
        to.published_at = take_past_time(body, "published_at", now, true);
        if (to.published_at != 0 && to.status == model::post_status::draft)
            body.fault("published_at", field_code::out_of_range, "must be null in a draft");
    });
}

void throw_exception_from_error(line_trouble const& of, boost::source_location const&) {
    throw std::logic_error("a line that was refused: " + of.detail);
}

}  // namespace latchkey::api
