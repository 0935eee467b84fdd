// The query of a request as its handler reads it: decoded, each parameter once, without the
// credential. A handler takes the parameters that it knows, notes which are wrong, and then has all
// that is wrong refused at once, unknown and repeated ones too (api.md §1). Reused.
//
//     query.parse(request.query);
//     auto const sort = query.take("sort");
//     if (sort && *sort != "id") query.refuse("sort", field_code::not_in_enum, "must be id");
//     if (auto error = query.refuse_rest()) return error;
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/frame/api_error.hpp"
#include "base/clock.hpp"
#include "base/limits.hpp"

namespace latchkey::api {

inline constexpr std::string_view credential_parameter = "api_key";

class query {
  public:
    // Replaces the parameters. They are views of `raw` or of this object until the next `parse`.
    void parse(std::string_view raw);
    // The value, once; nullopt when the parameter is absent. `name` is a constant.
    std::optional<std::string_view> take(std::string_view name);
    // The RFC 3339 time that a value is; what is none is noted.
    std::optional<base::wall_ms> read_time(std::string_view name, std::string_view text);
    void refuse(std::string_view name, base::field_code code, std::string_view reason);
    // An error with all that was noted, and with what is repeated or was not taken; nullopt: none.
    std::optional<api_error> refuse_rest() const;
    // Whether `refuse_rest` has an error of what was taken so far.
    bool is_refused() const { return !faults_.empty(); }

  private:
    struct parameter {
        std::string_view name, value;
        bool is_taken = false;
    };

    std::string_view decoded(std::string_view raw, bool& valid);

    std::array<parameter, base::limits::query_parameters_max> parameters_;
    std::size_t count_ = 0;
    std::string text_;                     // decoded names and values
    std::vector<std::string_view> names_;  // that were taken, if the query has any parameter
    std::vector<base::fault> faults_;
};

}  // namespace latchkey::api
