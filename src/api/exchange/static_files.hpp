// Answers with files that browsers load (web/files.hpp), in the coding that the client accepts.
// Any thread.
#pragma once

#include <string_view>

#include "wire/http/request.hpp"
#include "wire/http/response.hpp"

namespace latchkey::api {

// A file or a page, plain and compressed. Empty where it was not compressed.
struct encoded_content {
    std::string_view plain, gzip, brotli;
};
// Adds the content, Vary, Content-Encoding and an ETag made of `hash`, which differs by coding; no
// ETag if that is empty.
void show_encoded(http::request const& request, encoded_content const& content,
                  std::string_view hash, http::content type, http::response& response);

}  // namespace latchkey::api
