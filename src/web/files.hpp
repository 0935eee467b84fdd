// The files that browsers load: scripts, style sheets, the icon and the page of the console. They
// are bundled and compressed when the service is built (embed.py, meson.build). Constants; any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace latchkey::web {

enum class media : std::uint8_t { html, javascript, style_sheet, svg };

struct file {
    std::string_view name;  // "console.js"
    // "/assets/console-0123456789abcdef.js": it changes with the content, so a browser may keep the
    // file for ever.
    std::string_view path;
    std::string_view hash;  // the first 16 digits of the SHA-256 of the content
    web::media media;
    std::string_view plain, gzip, brotli;
};

std::span<file const> files();
// Ends the process when there is none of that name.
file const& find_file(std::string_view name);

}  // namespace latchkey::web
