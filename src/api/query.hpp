// The query of a request as its handler sees it: decoded, each parameter once, the credential taken
// out. A handler takes what it knows; what is left over is refused (API §1).
//
//     if (auto const wrong = query.parse(request.query)) return *wrong;
//     auto const email = query.take("email");
//     if (auto const wrong = query.refuse_rest()) return *wrong;
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "api/trouble.hpp"

namespace latchkey::api {

inline constexpr std::string_view credential_parameter = "api_key";

class query {
  public:
    // Forgets what was there. Views into `raw` or into this object; valid until the next `parse`.
    std::optional<trouble> parse(std::string_view raw);
    // The value, once; nullopt when the parameter is absent.
    std::optional<std::string_view> take(std::string_view name);
    std::optional<trouble> refuse_rest() const;

  private:
    struct parameter {
        std::string_view name, value;
        bool taken = false;
    };
    static constexpr std::size_t parameters_max = 16;

    std::string_view decoded(std::string_view raw, bool& valid);

    std::array<parameter, parameters_max> parameters_;
    std::size_t count_ = 0;
    std::string text_;  // of what had to be decoded
};

}  // namespace latchkey::api
