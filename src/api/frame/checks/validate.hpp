// Validates the members of a JSON body: takes them one by one, collects all faults up to
// limits::faults_max (api.md §11), and at the end refuses members that were not taken. Used on one
// thread.
//
//     members body(*root, faults);
//     auto name = body.text("name", {.required = true, .points_max = 200});
//     body.refuse_rest();
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/frame/api_error.hpp"
#include "api/frame/json/json_value.hpp"
#include "base/clock.hpp"
#include "base/limits.hpp"
#include "model/id.hpp"
#include "wire/http/request.hpp"

namespace latchkey::api {

struct text_rules {
    bool required = false;
    std::size_t points_min = 0;
    std::size_t points_max = SIZE_MAX;
    std::size_t bytes_max = SIZE_MAX;
    bool controls = false;  // may hold control characters
    bool blank = false;     // may be white space alone
};

class members {
  public:
    // `pointer` is the JSON pointer of an object within the body; empty: the body.
    members(json_object const& object, std::vector<base::fault>& faults, std::string pointer = {})
        : object_(object), faults_(faults), prefix_(std::move(pointer)) {}

    // The value if it is present and valid; else nullopt and a fault (absence is one if
    // `required`).
    std::optional<std::string> text(std::string_view name, text_rules const& rules);
    std::optional<model::id> id(std::string_view name, bool required);
    // A string for the caller to validate; null and other types are faults.
    std::optional<std::string_view> word(std::string_view name, bool required);

    std::optional<std::int64_t> number(std::string_view name, bool required, std::int64_t minimum,
                                       std::int64_t maximum);
    // Any value, null too, for the caller to validate; null pointer: absent.
    json_value const* value(std::string_view name);

    // Read-only members that may be sent back unchanged: the store compares the value with the
    // record. A value that no record can have is a fault now.
    std::optional<model::id> sent_back_id(std::string_view name);
    std::optional<std::optional<base::wall_ms>> sent_back_time(std::string_view name);
    // Read-only members of a record that does not exist yet: a fault if present.
    void refuse_read_only(std::string_view name);

    // Every member that was not taken is unknown_field.
    void refuse_rest();
    void fault(std::string_view name, base::field_code code, std::string_view detail);
    // For an element of an array.
    void fault(std::string_view name, std::size_t index, base::field_code code,
               std::string_view detail);

  private:
    json_value const* find(std::string_view name, bool required);
    bool full() const { return faults_.size() >= base::limits::faults_max; }

    json_object const& object_;
    std::vector<base::fault>& faults_;
    std::vector<std::string_view> names_, refused_names_;
    std::string prefix_;
};

// 0: null. nullopt: absent or invalid, which is added to the faults of the body.
std::optional<base::wall_ms> take_time(members& body, std::string_view name);

// The body as an object, without the credential that a POST may have; else an error (400, 422).
api_result<json_object> read_object(http::request const& request);
// The same for an optional body: no bytes are an empty object.
api_result<json_object> read_optional_object(http::request const& request);

}  // namespace latchkey::api
