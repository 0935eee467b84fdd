// The part of a request's log entry and metrics that a session knows; the rest is the exchange's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/problem.hpp"

namespace latchkey::session {

enum class protocol : std::uint8_t { http1_0, http1_1, http2, count_ };
std::string_view name_of(protocol version);  // "HTTP/1.1"

struct log_entry {
    static constexpr std::size_t method_bytes_max = 32;
    static constexpr std::size_t path_bytes_max = 1024;
    static constexpr std::size_t agent_bytes_max = 256;

    std::string_view method, path, user_agent;
    std::string request_id;  // only of a request that the parser refused
    bool refused_unparsed = false;
    session::protocol protocol = session::protocol::http1_1;
    base::instant began;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint16_t status = 0;
    base::problem code = base::problem::none;

    // Takes views, cut to the bounds above; the texts must stay where they are until `keep`.
    void begin(std::string_view verb, std::string_view raw_path, std::string_view agent,
               base::instant now);
    // Copies the texts, for a request that is answered after its bytes are gone. Idempotent.
    void keep();

  private:
    std::string copies_;
};

}  // namespace latchkey::session
