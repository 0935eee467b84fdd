#include "base/search_text.hpp"

#include "base/ascii.hpp"
#include "base/check.hpp"

namespace latchkey::base {

search_text::search_text(std::string_view text) {
    // The bound of the contract: the query of a request was refused otherwise.
    check(!text.empty() && text.size() <= limits::search_bytes_max, "a search beyond its bound");
    bits place = 1;
    for (char const byte : text) {
        auto const lower = to_lower(byte);
        auto const upper = is_letter(byte) ? static_cast<char>(lower - ('a' - 'A')) : byte;
        places_[static_cast<unsigned char>(lower)] |= place;
        if (upper != lower) places_[static_cast<unsigned char>(upper)] |= place;
        end_ = place;
        place <<= 1;
    }
}

// A bit of `beginnings` is set where as much of the search ends here.
bool search_text::is_in(std::string_view text) const {
    bits beginnings = 0;
    for (char const byte : text) {
        beginnings = (beginnings << 1 | 1) & places_[static_cast<unsigned char>(byte)];
        if ((beginnings & end_) != 0) return true;
    }
    return false;
}

}  // namespace latchkey::base
