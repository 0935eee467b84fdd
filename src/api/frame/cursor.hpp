// Cursors (api.md §7): the position at which a list continues. A cursor is the last id of a page
// with a MAC over that id and the name of the list, so it is valid for that list only and cannot be
// forged. It holds nothing that the client does not know, and pages may change their size: `limit`
// is not in it. Opaque to clients: 32 of [A-Za-z0-9_-], the base64url (RFC 4648 §5) of the id (8
// bytes, big-endian) and the MAC (16). Any thread; allocates nothing.
//
//     list_name name("/api/v1/posts");
//     name.add("status", "draft");
//     auto const text = make_cursor(mac, name, last);
//     if (auto const id = read_cursor(mac, name, text)) …
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "auth/mac.hpp"
#include "model/id.hpp"

namespace latchkey::api {

// The identity of a list: its path, its order and everything that selects its elements. Two lists
// have one name only if they are the same list.
class list_name {
  public:
    explicit list_name(std::string_view path) { add("path", path); }
    // Bounded by the size of `bytes_`: values that were refused, which can have any length, do not
    // come here (api/frame/list.hpp).
    void add(std::string_view member, std::string_view value);
    void add(std::string_view member, std::int64_t value);

    std::string_view bytes() const { return {bytes_.data(), size_}; }

  private:
    std::array<char, 384> bytes_;  // only the first size_ are ever read
    std::size_t size_ = 0;
};

using cursor_text = std::array<char, 32>;
inline std::string_view text_of(cursor_text const& cursor) {
    return {cursor.data(), cursor.size()};
}

cursor_text make_cursor(auth::mac const& mac, list_name const& list, model::id last);
// The id; nullopt when `text`, which may be any bytes, is not a cursor of this list.
std::optional<model::id> read_cursor(auth::mac const& mac, list_name const& list,
                                     std::string_view text);

}  // namespace latchkey::api
