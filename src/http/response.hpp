// An answer as handlers make it: status, field lines and content, no framing. Reused from request
// to request by its worker, so in the steady state it allocates nothing.
//
//     response.status = 201;
//     response.add("Location", "/api/v1/users/", id);
//     response.content_type = http::content::json;
//     response.body.append(…);
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/problem.hpp"

namespace latchkey::http {

enum class content : std::uint8_t { none, json, problem, html, text };
std::string_view media_type_of(content kind);

class response {
  public:
    std::uint16_t status = 200;
    content content_type = content::none;
    base::problem code = base::problem::none;  // for the access log
    bool close = false;                        // the connection must end after this answer
    bool secret = false;  // the content must not stay in memory once it was sent
    std::string body;

    // Appends the field line "name: pieces…". Pieces are text or integers; they must not hold CR,
    // LF or NUL (checked: a client's bytes never reach a field without having been validated).
    template <class... Pieces>
    void add(std::string_view name, Pieces const&... pieces) {
        fields_.append(name).append(": ");
        (append(pieces), ...);
        fields_.append("\r\n");
    }
    // Appends to the value of the field that was added last.
    template <class... Pieces>
    void extend(Pieces const&... pieces) {
        fields_.resize(fields_.size() - 2);
        (append(pieces), ...);
        fields_.append("\r\n");
    }
    // "name: value\r\n" for each field, in order.
    std::string_view field_lines() const { return fields_; }
    // Value of the first field with exactly this name; empty when absent. For tests.
    std::string_view find(std::string_view name) const;

    void clear() {
        status = 200, content_type = content::none, code = base::problem::none;
        close = secret = false;
        body.clear();
        fields_.clear();
    }

  private:
    void append(std::string_view text);
    void append(std::integral auto number) {
        char digits[24];
        auto const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
        fields_.append(digits, end);
    }

    std::string fields_;
};

}  // namespace latchkey::http
