// A failed transfer in a few words for the people who own the webhook. Pure; any thread.
#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>

namespace latchkey::deliver {

struct failure {
    CURLcode code = CURLE_OK;
    int system_error = 0;     // errno of the connection, or 0
    std::string_view detail;  // libcurl's own words
};

// "connection refused": visible ASCII, at most deliver::protocol::error_bytes_max.
std::string error_text(failure const& failure);

}  // namespace latchkey::deliver
