// Fuzzes the start of a connection: the result does not depend on how the bytes are split, it is
// decided within the size limit, and nothing beyond the split is read (AddressSanitizer).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "server/net/proxy_header.hpp"

using latchkey::server::proxy_header;
using progress = proxy_header::progress;

namespace {

void require(bool holds) {
    if (!holds) __builtin_trap();
}

// Reads from a heap block of exactly that size.
proxy_header read_copy(std::string_view bytes) {
    std::vector<char> const copy(bytes.begin(), bytes.end());
    return latchkey::server::read_proxy_header({copy.data(), copy.size()});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const bytes(reinterpret_cast<char const*>(data), size);
    auto const whole = read_copy(bytes);
    require(whole.state != progress::incomplete || size < proxy_header::bytes_max);
    if (whole.state == progress::complete) {
        require(whole.size >= proxy_header::fixed_bytes && whole.size <= proxy_header::bytes_max);
        require(whole.size <= size && whole.relayed == (bytes[12] == 0x21));
        require(!whole.client || whole.relayed);
    }
    bool decided = false;
    for (std::size_t cut = 0; cut <= std::min(size, proxy_header::bytes_max + 1); ++cut) {
        auto const part = read_copy(bytes.substr(0, cut));
        if (part.state == progress::incomplete) {
            require(!decided);
            continue;
        }
        decided = true;
        require(part.state == whole.state && part.size == whole.size);
        require(part.relayed == whole.relayed && part.client == whole.client);
        if (whole.state == progress::complete) require(cut >= whole.size);
    }
    require(decided == (whole.state != progress::incomplete));
    return 0;
}
