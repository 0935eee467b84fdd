// Cases of conformance to HTTP/2 (RFC 9113), its header compression (RFC 7541) and its priorities
// (RFC 9218): what a client sends, and what may come back. The tables are in
// http2_conformance_*.cpp, by section; http2_conformance_test.cpp runs them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "http2_script.hpp"
#include "session/session_context.hpp"

namespace latchkey::session::conformance {

// What has happened before the script begins.
enum class opening : std::uint8_t {
    complete,  // preface, SETTINGS, and the ACK of the server's
    none,
    draining,  // as `complete`, and the server has announced that it goes
};

struct circumstances {
    conformance::opening opening = opening::complete;
    std::optional<std::string> contents;       // how much of them came, http2_reader::contents()
    std::optional<std::uint32_t> last_stream;  // of GOAWAY
    std::uint32_t next_stream = 99;  // asks for a user when the script is over; 0: nothing does
    http2_options settings{};
    bool grants_bodies = true;
    bool holds_commits = false;
};

struct http2_case {
    char const* section;
    std::string name;
    std::string script;
    // As http2_reader::events() tells them; more than one where the RFC leaves the choice. A
    // connection that ends without GOAWAY is told as "closed".
    std::vector<std::string> outcomes;
    circumstances conditions{};
};

using table = std::vector<http2_case>;
using table_maker = table (*)(script::client const& one);

table preface_cases(script::client const& one);
table framing_cases(script::client const& one);
table block_cases(script::client const& one);
table idle_stream_cases(script::client const& one);
table half_closed_stream_cases(script::client const& one);
table closed_stream_cases(script::client const& one);
table stream_number_cases(script::client const& one);
table concurrency_cases(script::client const& one);
table error_cases(script::client const& one);
table extension_cases(script::client const& one);
table data_cases(script::client const& one);
table headers_cases(script::client const& one);
table priority_cases(script::client const& one);
table priority_update_cases(script::client const& one);
table reset_cases(script::client const& one);
table settings_cases(script::client const& one);
table setting_value_cases(script::client const& one);
table push_and_ping_cases(script::client const& one);
table goaway_cases(script::client const& one);
table window_cases(script::client const& one);
table initial_window_cases(script::client const& one);
table continuation_cases(script::client const& one);
table message_cases(script::client const& one);
table length_cases(script::client const& one);
table field_name_cases(script::client const& one);
table field_value_cases(script::client const& one);
table connection_field_cases(script::client const& one);
table pseudo_header_cases(script::client const& one);
table target_cases(script::client const& one);
table trailer_cases(script::client const& one);
table early_answer_cases(script::client const& one);
table header_table_cases(script::client const& one);
table representation_cases(script::client const& one);
table integer_and_string_cases(script::client const& one);
table update_cases(script::client const& one);

}  // namespace latchkey::session::conformance
