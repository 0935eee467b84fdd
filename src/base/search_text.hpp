// A text that is looked for in others, whatever the case of ASCII letters. Shift-And (Baeza-Yates
// and Gonnet, "A New Approach to Text Searching", CACM 35, 1992): a bit for each beginning of the
// text, so that each byte that is read costs the same, whatever both texts are. A value, which may
// be used from any thread.
//
//     search_text const search("ada");
//     if (search.is_in(user.name)) …
#pragma once

#include <array>
#include <string_view>

#include "base/limits.hpp"

namespace latchkey::base {

class search_text {
  public:
    // Of 1 to limits::search_bytes_max bytes.
    explicit search_text(std::string_view text);

    bool is_in(std::string_view text) const;

  private:
    __extension__ using bits = unsigned __int128;
    static_assert(limits::search_bytes_max <= 8 * sizeof(bits));

    std::array<bits, 256> places_{};  // where the text has a byte
    bits end_ = 0;
};

}  // namespace latchkey::base
