// The query of a request as its handler reads it: decoded, each parameter once, without the
// credential. A handler takes the parameters that it knows; others are refused (api.md §1). Reused.
//
//     if (auto error = query.parse(request.query)) return error;
//     auto const email = query.take("email");
//     if (auto error = query.refuse_rest()) return error;
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "api/api_error.hpp"
#include "base/limits.hpp"

namespace latchkey::api {

inline constexpr std::string_view credential_parameter = "api_key";

class query {
  public:
    // Replaces the parameters. They are views of `raw` or of this object until the next `parse`.
    std::optional<api_error> parse(std::string_view raw);
    // The value, once; nullopt when the parameter is absent.
    std::optional<std::string_view> take(std::string_view name);
    std::optional<api_error> refuse_rest() const;

  private:
    struct parameter {
        std::string_view name, value;
        bool is_taken = false;
    };

    std::string_view decoded(std::string_view raw, bool& valid);

    std::array<parameter, base::limits::query_parameters_max> parameters_;
    std::size_t count_ = 0;
    std::string text_;  // decoded names and values
};

}  // namespace latchkey::api
