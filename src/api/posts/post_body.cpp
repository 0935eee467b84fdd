#include "api/posts/post_body.hpp"

namespace latchkey::api {

using base::field_code;

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

}  // namespace latchkey::api
