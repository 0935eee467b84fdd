// Chunked bodies. The first two bytes select the content limit and the split, the rest follows the
// head. Every split must give the same content and consume the same bytes as the reference parser
// (reference.hpp), or be refused for the same reason, and never where the reference accepts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reference.hpp"
#include "wire/http/parser.hpp"

namespace {

using namespace latchkey;
using progress = http::step::progress;

void require(bool holds) {
    if (!holds) __builtin_trap();
}

struct result {
    progress end = progress::incomplete;
    base::problem problem = base::problem::none;
    std::string_view detail;
    std::string content;
    std::size_t consumed = 0;

    bool operator==(result const&) const = default;
};

// Reads in pieces of `step` bytes, each after what was left over, in memory of exactly that size.
result read(std::string_view bytes, std::size_t step, std::size_t bytes_max) {
    static http::size_limits const limits;
    static std::string const head =
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    http::parser parser(limits);
    http::request request;
    http::framing framing;
    require(parser.read_head(head, request, framing).state == progress::complete);
    result output;
    for (std::size_t fed = 0; output.end == progress::incomplete && fed < bytes.size();) {
        fed = std::min(fed + step, bytes.size());
        auto const piece = bytes.substr(output.consumed, fed - output.consumed);
        std::unique_ptr<char[]> const copy(new char[piece.size()]);
        std::copy(piece.begin(), piece.end(), copy.get());
        auto const part = parser.read_body({copy.get(), piece.size()}, output.content, bytes_max);
        require(part.consumed <= piece.size());
        output.consumed += part.consumed;
        output.end = part.state;
        output.problem = part.problem;
        output.detail = part.detail;
    }
    // How much was consumed before a refusal is unspecified.
    if (output.end == progress::refused) output.consumed = 0;
    return output;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size < 3) return 0;
    std::size_t const bytes_max = data[0];
    std::string_view const bytes(reinterpret_cast<char const*>(data) + 2, size - 2);
    auto const whole = read(bytes, bytes.size(), bytes_max);
    for (std::size_t const step : {std::size_t{1}, std::size_t{2}, std::size_t{data[1]} + 1})
        require(read(bytes, step, bytes_max) == whole);

    auto const other = reference::read_chunks(bytes, bytes_max);
    require((other.state == reference::chunked_body::state::complete) ==
            (whole.end == progress::complete));
    if (other.state == reference::chunked_body::state::refused)
        require(whole.end == progress::refused);
    if (whole.end != progress::complete) return 0;
    require(whole.content == other.content && whole.consumed == other.consumed);
    return 0;
}
