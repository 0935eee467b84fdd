// The state that the sessions of one worker share: its services, and memory that a request uses
// between two suspensions only. Belongs to the worker's thread; outlives its sessions.
#pragma once

#include <cstdint>
#include <memory>

#include "api/exchange/exchange.hpp"
#include "base/limits.hpp"
#include "session/stream.hpp"
#include "wire/http/parser.hpp"
#include "wire/http/section_cache.hpp"
#include "wire/http/write.hpp"
#include "wire/http2/hpack_decoder.hpp"

namespace latchkey::session {

struct http2_options {
    bool enabled = true;  // to clients without TLS
    std::uint32_t streams_max = base::limits::http2_streams_max;
    std::uint32_t header_table_bytes = base::limits::http2_header_table_bytes;
    std::uint32_t window_bytes = base::limits::http2_window_bytes;
};

// Immutable; a reload exchanges it whole.
struct options {
    http::size_limits parsing;
    std::uint64_t header_seconds = 10;  // from the first byte of a head to its last
    std::uint64_t body_seconds = 30;
    std::uint64_t idle_seconds = 60;  // between two requests
    std::uint64_t send_seconds = 30;  // without progress while a client has to take a response
    http2_options http2;
};

struct context {
    // Both are exchanged by a reload; a session changes over with its next request.
    std::shared_ptr<options const> configuration;
    api::request_services* services = nullptr;

    http::section_cache sections;
    http::date_line date;
    http::request request;
    http::response response;
    stream_pool streams;
    http2::header_text header_text{base::limits::header_bytes_max};
    http2::table_mask mask;    // random
    std::string header_block;  // of the response that is written
    std::string events;        // that are written
};

}  // namespace latchkey::session
