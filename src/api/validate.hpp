// The members of a JSON body against what a resource allows: takes them one by one, notes every
// fault at once (API §11), and at the end refuses those that nobody asked for.
//
//     members body(*root, faults);
//     auto name = body.text("name", {.required = true, .points_max = 200});
//     body.refuse_rest();
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/route.hpp"
#include "api/trouble.hpp"

namespace latchkey::api {

struct text_rules {
    bool required = false;
    std::size_t points_min = 0;
    std::size_t points_max = SIZE_MAX;
    std::size_t bytes_max = SIZE_MAX;
    bool controls = false;  // may hold control characters
};

class members {
  public:
    // `within` is the JSON pointer of an object within the body.
    members(boost::json::object const& from, std::vector<base::fault>& faults,
            std::string within = {})
        : from_(from), faults_(faults), prefix_(std::move(within)) {}

    // The value when it is there and right; a fault is noted otherwise (absent is one if required).
    std::optional<std::string> text(std::string_view name, text_rules const& rules);
    std::optional<model::id> id(std::string_view name, bool required);
    // A text for the caller to look at further: null and other types are faults already.
    std::optional<std::string_view> word(std::string_view name, bool required);

    std::optional<std::int64_t> number(std::string_view name, bool required, std::int64_t least,
                                       std::int64_t most);
    // As it is, null too; null pointer: absent. For the caller to look at.
    boost::json::value const* value(std::string_view name);

    // Read-only members that may be sent back as they are: the value is for the store to compare.
    // What cannot be right whatever the record says is a fault now.
    std::optional<model::id> sent_back_id(std::string_view name);
    std::optional<std::optional<base::wall_ms>> sent_back_time(std::string_view name);
    // Read-only members where there is nothing yet that they could be equal to.
    void refuse_read_only(std::string_view name);

    // Everything that was not asked for is unknown_field.
    void refuse_rest();
    void fault(std::string_view name, base::field_code code, std::string_view detail);
    // Of the element of an array.
    void fault(std::string_view name, std::size_t index, base::field_code code,
               std::string_view detail);

  private:
    boost::json::value const* find(std::string_view name, bool required);

    boost::json::object const& from_;
    std::vector<base::fault>& faults_;
    std::vector<std::string_view> known_;
    std::string prefix_;
};

// The object that a body is, without the credential that one of a POST may have; otherwise what is
// wrong (400, 422).
or_trouble<boost::json::object> read_object(http::request const& request);
// The same of an optional body: no bytes are an empty object.
or_trouble<boost::json::object> read_optional_object(http::request const& request);

}  // namespace latchkey::api
