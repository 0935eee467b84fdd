// Priorities (RFC 9218 §4) out of any bytes: no value is out of its range, and a member that is
// put behind a valid one decides.
#include <cstddef>
#include <cstdint>
#include <string>

#include "wire/http2/frame.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string const text(reinterpret_cast<char const*>(data), size);
    auto const read = latchkey::http2::parse_priority(text);
    if (!read) return 0;
    if (read->urgency > 7) __builtin_trap();
    auto const last = latchkey::http2::parse_priority(
        text + (text.find_first_not_of(' ') == text.npos ? "u=1" : ", u=1"));
    if (!last || last->urgency != 1 || last->incremental != read->incremental) __builtin_trap();
    return 0;
}
