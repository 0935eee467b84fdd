// One request as a span of a trace: what a worker notes of it, in a fixed size, and what the helper
// `latchkey-trace` makes OTLP of. Values; any thread. Sources: W3C Trace Context level 1,
// OpenTelemetry's semantic conventions for HTTP (server spans).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace latchkey::trace::protocol {

struct span {
    static constexpr std::size_t request_id_bytes_max = 64;

    std::array<std::uint8_t, 16> trace_id{};
    std::array<std::uint8_t, 8> span_id{};
    std::array<std::uint8_t, 8> parent_id{};  // zeros: the root of its trace
    std::uint64_t start_ns = 0, end_ns = 0;   // since 1970, without leap seconds
    std::uint64_t key_id = 0;                 // 0: none
    // Texts that outlive the span: of tables, or of the message that it was decoded from.
    std::string_view method, route, protocol_version;
    std::array<char, request_id_bytes_max> request_id_text{};
    std::uint8_t request_id_size = 0;
    bool tls = false;
    std::uint16_t status = 0;

    std::string_view request_id() const { return {request_id_text.data(), request_id_size}; }
    void set_request_id(std::string_view id) {
        request_id_size = static_cast<std::uint8_t>(
            std::copy_n(id.begin(), std::min(id.size(), request_id_bytes_max),
                        request_id_text.begin()) -
            request_id_text.begin());
    }
    bool operator==(span const&) const = default;
};

}  // namespace latchkey::trace::protocol
