#include "wire/http/response.hpp"

#include "base/check.hpp"
#include "wire/http/byte_class.hpp"

namespace latchkey::http {

std::string_view media_type_of(content kind) {
    switch (kind) {
        case content::json:
            return "application/json; charset=utf-8";
        case content::problem:
            return "application/problem+json";
        case content::html:
            return "text/html; charset=utf-8";
        case content::javascript:
            return "text/javascript; charset=utf-8";
        case content::style_sheet:
            return "text/css; charset=utf-8";
        case content::svg:
            return "image/svg+xml";
        case content::text:
            return "text/plain; charset=utf-8";
        case content::gzip:
            return "application/gzip";
        case content::zip:
            return "application/zip";
        case content::event_stream:
            return "text/event-stream; charset=utf-8";
        case content::none:
            break;
    }
    return {};
}

std::string_view response::find(std::string_view name) const {
    auto rest = field_lines();
    while (!rest.empty()) {
        auto const end = rest.find("\r\n");
        auto const line = rest.substr(0, end);
        if (line.starts_with(name) && line.substr(name.size()).starts_with(": "))
            return line.substr(name.size() + 2);
        rest.remove_prefix(end + 2);
    }
    return {};
}

// Against response splitting. A failure is a bug of the caller, which must validate a client's
// bytes.
void response::check_value(std::string_view text) {
    for (char const *position = text.data(), *const end = position + text.size();;) {
        position = skip_text(position, end);
        if (position == end) break;
        base::check(*position != '\r' && *position != '\n' && *position != '\0',
                    "a field value of a response holds CR, LF or NUL");
        ++position;
    }
}

}  // namespace latchkey::http
