// Parser of the PROXY protocol header, version 2 (HAProxy, "The PROXY protocol", §2.2), with which
// a TCP proxy names the client at the start of a connection. A pure function over bytes; any
// thread.
//
//     auto const header = read_proxy_header(bytes);    // everything received so far
//     if (header.state == proxy_header::state::complete) bytes.remove_prefix(header.size);
//
// Binary form only; version 1, a line of text, is malformed. Malformed input is refused at its
// first wrong byte, and the result does not depend on how the input was split. Type-length-values
// after the addresses are skipped, ports are dropped. The caller decides whether the sender is
// trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/address.hpp"

namespace latchkey::server {

struct proxy_header {
    static constexpr std::size_t fixed_bytes = 16;
    // Of addresses and TLVs. The specification asks for 520 at least; a client's certificate may be
    // among them.
    static constexpr std::size_t variable_bytes_max = 4096 - fixed_bytes;
    static constexpr std::size_t bytes_max = fixed_bytes + variable_bytes_max;

    enum class progress : std::uint8_t { incomplete, complete, malformed };
    progress state = progress::incomplete;
    // Set if `complete`:
    std::size_t size = 0;
    bool relayed = false;  // false: LOCAL, the proxy's own connection; the peer is the client
    std::optional<model::address> client;  // if relayed; nullopt: unknown to the proxy
};

proxy_header read_proxy_header(std::string_view bytes);

}  // namespace latchkey::server
