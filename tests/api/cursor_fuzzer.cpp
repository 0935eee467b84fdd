// Cursors, from any bytes. The first byte chooses: a text that claims to be one, or an id and the
// name of a list, whose cursor is made and then bent. What is accepted must be exactly what would
// be given out for that id; what was bent, or is for another list, must be refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "api/cursor.hpp"
#include "base/bytes.hpp"

namespace {

using namespace latchkey;

void want(bool holds) {
    if (!holds) __builtin_trap();
}

auth::seal const& seal() {
    static auth::seal const one(std::array<char, 32>{'f', 'u', 'z', 'z'});
    return one;
}

// Behind the name of a list and a NUL.
void try_text(std::string_view input) {
    auto const end = std::min(input.find('\0'), input.size());
    api::list_name list("/api/v1/posts");
    list.add("status", input.substr(0, std::min<std::size_t>(end, 64)));
    auto const text = input.substr(std::min(end + 1, input.size()));
    auto const last = api::read_cursor(seal(), list, text);
    if (last) want(api::text_of(api::make_cursor(seal(), list, *last)) == text);
}

// The id (8), where to bend (1) and how (1), then two names of lists.
void try_cursor(std::string_view input) {
    if (input.size() < 10) return;
    auto const last = base::get<model::id>(input.data());
    auto const at = static_cast<unsigned char>(input[8]) % api::cursor_text{}.size();
    char const by = input[9];
    auto const names = input.substr(10, 128);
    auto const half = names.size() / 2;
    api::list_name list("/api/v1/users"), other("/api/v1/users");
    list.add("a", names.substr(0, half));
    other.add("a", names.substr(half));

    auto const cursor = api::make_cursor(seal(), list, last);
    want(api::read_cursor(seal(), list, api::text_of(cursor)) == last);
    bool const same = list.bytes() == other.bytes();
    want(api::read_cursor(seal(), other, api::text_of(cursor)).has_value() == same);
    auto bent = cursor;
    bent[at] = static_cast<char>(bent[at] ^ by);
    want(api::read_cursor(seal(), list, api::text_of(bent)).has_value() == (by == 0));
    std::string longer(api::text_of(cursor));
    want(!api::read_cursor(seal(), list, longer + by));
    want(!api::read_cursor(seal(), list, longer.substr(0, at)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
    if (size == 0) return 0;
    std::string_view const input(reinterpret_cast<char const*>(bytes) + 1, size - 1);
    bytes[0] % 2 == 0 ? try_text(input) : try_cursor(input);
    return 0;
}
