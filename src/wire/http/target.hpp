// Paths and queries of a request target (RFC 3986 §3.3, §3.4), decoded on demand.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace latchkey::http {

// Percent-decodes; '+' is a space only in queries (`form`), as browsers and curl send it. nullopt
// on "%" without two hexadecimal digits, and on a decoded NUL.
std::optional<std::string> percent_decode(std::string_view text, bool form);
// Encodes everything but RFC 3986's unreserved characters, in upper case.
std::string percent_encode(std::string_view text);

// Iterates over `name=value&name=value` without allocating; raw views, empty pieces are skipped.
//
//     http::query_cursor cursor(request.query);
//     while (auto const parameter = cursor.next()) … parameter->name, parameter->value (raw)
struct raw_parameter {
    std::string_view name;
    std::string_view value;  // empty when there is no '='
    std::string_view whole;  // "name=value" as received
};
class query_cursor {
  public:
    explicit query_cursor(std::string_view query) : rest_(query) {}
    std::optional<raw_parameter> next();

  private:
    std::string_view rest_;
};

}  // namespace latchkey::http
