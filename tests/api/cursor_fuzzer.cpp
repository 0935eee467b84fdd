// Fuzzes cursors. The first byte chooses: a text to read as a cursor, or an id and the name of a
// list, whose cursor is made and then corrupted. An accepted text must be exactly the cursor of its
// id; a corrupted cursor and one of another list must be refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "api/frame/cursor.hpp"
#include "base/bytes.hpp"

namespace {

using namespace latchkey;

void want(bool holds) {
    if (!holds) __builtin_trap();
}

auth::mac const& mac() {
    static auth::mac const one(std::array<char, 32>{'f', 'u', 'z', 'z'});
    return one;
}

// The input: the name of a list, a NUL, the text.
void try_text(std::string_view input) {
    auto const end = std::min(input.find('\0'), input.size());
    api::list_name list("/api/v1/posts");
    list.add("status", input.substr(0, std::min<std::size_t>(end, 64)));
    auto const text = input.substr(std::min(end + 1, input.size()));
    auto const last = api::read_cursor(mac(), list, text);
    if (last) want(api::text_of(api::make_cursor(mac(), list, *last)) == text);
}

// The input: the id (8 bytes), the position (1) and the mask (1) of the corruption, two names of
// lists.
void try_cursor(std::string_view input) {
    if (input.size() < 10) return;
    auto const last = base::get<model::id>(input.data());
    auto const position = static_cast<unsigned char>(input[8]) % api::cursor_text{}.size();
    char const mask = input[9];
    auto const names = input.substr(10, 128);
    auto const half = names.size() / 2;
    api::list_name list("/api/v1/users"), other("/api/v1/users");
    list.add("a", names.substr(0, half));
    other.add("a", names.substr(half));

    auto const cursor = api::make_cursor(mac(), list, last);
    want(api::read_cursor(mac(), list, api::text_of(cursor)) == last);
    bool const same = list.bytes() == other.bytes();
    want(api::read_cursor(mac(), other, api::text_of(cursor)).has_value() == same);
    auto corrupted = cursor;
    corrupted[position] = static_cast<char>(corrupted[position] ^ mask);
    want(api::read_cursor(mac(), list, api::text_of(corrupted)).has_value() == (mask == 0));
    std::string longer(api::text_of(cursor));
    want(!api::read_cursor(mac(), list, longer + mask));
    want(!api::read_cursor(mac(), list, longer.substr(0, position)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
    if (size == 0) return 0;
    std::string_view const input(reinterpret_cast<char const*>(bytes) + 1, size - 1);
    bytes[0] % 2 == 0 ? try_text(input) : try_cursor(input);
    return 0;
}
