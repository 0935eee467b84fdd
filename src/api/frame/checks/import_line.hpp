// The lines of `latchkey import`: records as the API shows them. A missing `id` or time is 0; names
// and titles may be blank, as in stores of earlier versions. Values; any thread.
#pragma once

#include <boost/system/result.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/frame/checks/validate.hpp"
#include "api/frame/json/json_reader.hpp"

namespace latchkey::api {

struct line_error {
    std::vector<base::fault> faults;  // empty: the line is not a JSON object
    std::string detail;
    model::id id = 0;  // of the record, if it could be read
};
template <class Record>
using line_result = boost::system::result<Record, line_error>;
[[noreturn]] void throw_exception_from_error(line_error const& error,
                                             boost::source_location const&);

// The record's id in the file; 0: none.
model::id take_line_id(members& body);
// 0: absent, or null where that is allowed.
base::wall_ms take_past_time(members& body, std::string_view name, base::wall_ms now,
                             bool nullable);

// The record must not have changed before it was created.
template <class Record>
void take_times(members& body, base::wall_ms now, Record& record) {
    record.created_at = take_past_time(body, "created_at", now, false);
    record.updated_at = take_past_time(body, "updated_at", now, false);
    if (record.updated_at != 0 && record.updated_at < record.created_at)
        body.fault("updated_at", base::field_code::out_of_range, "must not be before created_at");
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
    record.id = take_line_id(body);
    take(body, record);
    body.refuse_rest();
    if (error.faults.empty()) return record;
    error.id = record.id;
    return error;
}

}  // namespace latchkey::api
