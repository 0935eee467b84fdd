// The settings of the helper `latchkey-trace`, from the configuration and the file with header
// fields of the endpoint. Main thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "helpers/trace/protocol/trace_messages.hpp"
#include "server/process/config.hpp"
#include "server/process/listener.hpp"

namespace latchkey::server {

// One field in each line, `Authorization: Bearer …`; empty lines and those that begin with # are
// skipped. The error names the line, and has nothing of its text: it may be a secret.
base::result<std::vector<trace::protocol::field>> parse_header_fields(std::string_view text);

// Reads tracing.headers_file. The spans' server.address and server.port are those of base_url, else
// of the first listener with and without TLS.
base::result<trace::protocol::settings> read_trace_settings(
    config const& configuration, std::span<listen_sockets const> sockets);
// Checks that the file can be taken. The error is that of `read_trace_settings`.
base::result<void> check_trace_headers(config const& configuration);

}  // namespace latchkey::server
