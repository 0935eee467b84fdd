#include "api/frame/checks/import_line.hpp"

#include <stdexcept>

#include "domain/admin/bulk_load.hpp"

namespace latchkey::api {

using base::field_code;

model::id take_line_id(members& body) {
    auto const id = body.id("id", false).value_or(0);
    if (id <= domain::load_id_max) return id;
    body.fault("id", field_code::out_of_range, "must be at most 4503599627370496");
    return 0;
}

base::wall_ms take_past_time(members& body, std::string_view name, base::wall_ms now,
                             bool nullable) {
    auto const time = take_time(body, name);
    if (!time || (*time == 0 && nullable)) return 0;
    if (*time > now) body.fault(name, field_code::out_of_range, "must not be in the future");
    if (*time == 0) body.fault(name, field_code::null_not_allowed, "must not be null");
    return *time;
}

void throw_exception_from_error(line_error const& error, boost::source_location const&) {
    throw std::logic_error("an error was used as a value: " + error.detail);
}

}  // namespace latchkey::api
