// The header of PROXY protocol version 2 (HAProxy's specification of it, "The PROXY protocol",
// §2.2): what a proxy that passes bytes on says about the connection, before anything else. A
// function over bytes; no state, any thread.
//
//     auto const seen = read_proxy_header(bytes);      // all that has come so far
//     if (seen.state == proxy_header::state::complete) bytes.remove_prefix(seen.size);
//
// Only the binary form; version 1, a line of text, is malformed here. What is wrong is refused as
// soon as its bytes are there, and nothing depends on how they were cut. Type-length-values behind
// the addresses are skipped, ports are not kept. Whether the sender may be believed at all is the
// caller's to know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/cidr.hpp"

namespace latchkey::server {

struct proxy_header {
    static constexpr std::size_t fixed_bytes = 16;
    static constexpr std::size_t variable_bytes_max = 512;  // addresses and values
    static constexpr std::size_t bytes_max = fixed_bytes + variable_bytes_max;

    enum class state : std::uint8_t { incomplete, complete, malformed };
    enum state state = state::incomplete;
    // The rest is set by `complete`.
    std::size_t size = 0;
    bool relayed = false;  // false: the proxy's own connection (LOCAL), the peer is the client
    std::optional<model::address> client;  // of a relayed one; nullopt: the proxy does not know
};

proxy_header read_proxy_header(std::string_view bytes);

}  // namespace latchkey::server
