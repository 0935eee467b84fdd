// Paths and queries of a request target (RFC 3986 §3.3, §3.4), decoded only where a handler asks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace latchkey::http {

// Percent-decodes; '+' is a space only in queries (`form`), as browsers and curl send it. nullopt
// on "%" without two hexadecimal digits, and on a decoded NUL.
std::optional<std::string> percent_decode(std::string_view text, bool form);
// Leaves RFC 3986's unreserved characters, encodes everything else in upper case.
std::string percent_encode(std::string_view text);

// Walks over `name=value&name=value` without allocating; raw views, empty pieces are skipped.
//
//     http::query_cursor cursor(request.query);
//     while (auto const parameter = cursor.next()) … parameter->name, parameter->value (raw)
struct raw_parameter {
    std::string_view name;
    std::string_view value;  // empty when there is no '='
    std::string_view whole;  // "name=value" as it stood there
};
class query_cursor {
  public:
    explicit query_cursor(std::string_view query) : rest_(query) {}
    std::optional<raw_parameter> next();

  private:
    std::string_view rest_;
};

}  // namespace latchkey::http
