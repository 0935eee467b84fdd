// Cursors (API §7): where a list goes on. A cursor is the last id that was given out, sealed
// together with what the list is, so it is good for that list alone and nobody can make one. Opaque
// to clients: 32 of [A-Za-z0-9_-], the base64url (RFC 4648 §5) of the id (8 bytes, big-endian) and
// the seal's mark (16). Any thread; allocates nothing.
//
//     list_name name("/api/v1/posts");
//     name.add("status", "draft");
//     auto const text = make_cursor(seal, name, last);
//     if (auto const after = read_cursor(seal, name, text)) …
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "auth/seal.hpp"
#include "model/user.hpp"

namespace latchkey::api {

// What a list is: its path, its order and everything that selects its elements. Two lists have one
// name only if they are the same list.
class list_name {
  public:
    explicit list_name(std::string_view path) { add("path", path); }
    // Bounded: whoever adds a client's text has checked how long it is.
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

cursor_text make_cursor(auth::seal const& seal, list_name const& list, model::id last);
// The id; nullopt when it is not a cursor of this list. Whatever the bytes are.
std::optional<model::id> read_cursor(auth::seal const& seal, list_name const& list,
                                     std::string_view text);

}  // namespace latchkey::api
