// Chunked bodies. The first two bytes say how much content is wanted and where to cut, the rest is
// what follows the head: however it is cut, the same content comes out and the same bytes are
// taken as a second reading takes (reference.hpp), or it is refused for the same reason, and never
// where that takes it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/parser.hpp"
#include "reference.hpp"

namespace {

using namespace latchkey;
using state = enum http::step::state;

void want(bool holds) {
    if (!holds) __builtin_trap();
}

struct result {
    state end = state::incomplete;
    base::problem problem = base::problem::none;
    std::string_view detail;
    std::string content;
    std::size_t taken = 0;

    bool operator==(result const&) const = default;
};

// In pieces of `step` bytes, each with what was left over before it, in memory of exactly that
// size.
result read(std::string_view bytes, std::size_t step, std::size_t bytes_max) {
    static http::settings const limits;
    static std::string const head =
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    http::parser parser(limits);
    http::request request;
    http::framing framing;
    want(parser.read_head(head, request, framing).state == state::complete);
    result made;
    for (std::size_t shown = 0; made.end == state::incomplete && shown < bytes.size();) {
        shown = std::min(shown + step, bytes.size());
        auto const piece = bytes.substr(made.taken, shown - made.taken);
        std::unique_ptr<char[]> const copy(new char[piece.size()]);
        std::copy(piece.begin(), piece.end(), copy.get());
        auto const part = parser.read_body({copy.get(), piece.size()}, made.content, bytes_max);
        want(part.consumed <= piece.size());
        made.taken += part.consumed;
        made.end = part.state;
        made.problem = part.problem;
        made.detail = part.detail;
    }
    // How much was taken before a refusal is nobody's business.
    if (made.end == state::refused) made.taken = 0;
    return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size < 3) return 0;
    std::size_t const bytes_max = data[0];
    std::string_view const bytes(reinterpret_cast<char const*>(data) + 2, size - 2);
    auto const whole = read(bytes, bytes.size(), bytes_max);
    for (std::size_t const step : {std::size_t{1}, std::size_t{2}, std::size_t{data[1]} + 1})
        want(read(bytes, step, bytes_max) == whole);

    auto const other = reference::read_chunks(bytes, bytes_max);
    want((other.state == reference::chunked_body::state::complete) ==
         (whole.end == state::complete));
    if (other.state == reference::chunked_body::state::refused) want(whole.end == state::refused);
    if (whole.end != state::complete) return 0;
    want(whole.content == other.content && whole.taken == other.consumed);
    return 0;
}
