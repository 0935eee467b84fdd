// A copy of a request that outlives the bytes it was read from, while its body arrives: the text in
// one string, and as many fields as there are. A `request` has room for the most that are allowed,
// which for a hundred streams of one connection would be 400 KB. Not thread-safe.
//
//     copy.keep(request);       // its body is not part of it
//     copy.restore(request);    // views into `copy`
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "wire/http/request.hpp"

namespace latchkey::http {

class kept_request {
  public:
    void keep(request const& original);
    void restore(request& copy) const;
    bool empty() const { return text_.empty(); }
    // Wipes the text, since it may hold a credential, and keeps memory up to `bytes_max` of text.
    void clear(std::size_t bytes_max);
    std::size_t heap_bytes() const;

  private:
    struct part {
        std::uint32_t begin = 0;
        std::uint32_t size = 0;
    };
    struct kept_field {
        part name, value;
        field_name id = field_name::unknown;
    };

    part append(std::string_view bytes);
    std::string_view view(part const& place) const {
        return {text_.data() + place.begin, place.size};
    }

    std::string text_;
    std::vector<kept_field> fields_;
    part method_text_, path_, query_, authority_;
    http::method method_ = method::get;
    std::uint8_t minor_version_ = 1;
};

}  // namespace latchkey::http
