// Any bytes as the beginning of a connection: however they are cut, the header comes out the same,
// it is decided within its bound, and nothing beyond the cut is looked at (AddressSanitizer).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "server/proxy_header.hpp"

using latchkey::server::proxy_header;
using state = enum proxy_header::state;

namespace {

void want(bool holds) {
    if (!holds) __builtin_trap();
}

// In memory of exactly that size.
proxy_header read_copy(std::string_view bytes) {
    std::vector<char> const copy(bytes.begin(), bytes.end());
    return latchkey::server::read_proxy_header({copy.data(), copy.size()});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const bytes(reinterpret_cast<char const*>(data), size);
    auto const whole = read_copy(bytes);
    want(whole.state != state::incomplete || size < proxy_header::bytes_max);
    if (whole.state == state::complete) {
        want(whole.size >= proxy_header::fixed_bytes && whole.size <= proxy_header::bytes_max);
        want(whole.size <= size && whole.relayed == (bytes[12] == 0x21));
        want(!whole.client || whole.relayed);
    }
    bool decided = false;
    for (std::size_t cut = 0; cut <= std::min(size, proxy_header::bytes_max + 1); ++cut) {
        auto const part = read_copy(bytes.substr(0, cut));
        if (part.state == state::incomplete) {
            want(!decided);
            continue;
        }
        decided = true;
        want(part.state == whole.state && part.size == whole.size);
        want(part.relayed == whole.relayed && part.client == whole.client);
        if (whole.state == state::complete) want(cut >= whole.size);
    }
    want(decided == (whole.state != state::incomplete));
    return 0;
}
