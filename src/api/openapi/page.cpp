#include "api/openapi/page.hpp"

#include "auth/key_form.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view style = R"(
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--accent:light-dark(#0b57d0,#8ab4f8)}
body{font:16px/1.55 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:2rem 1.25rem}
h1{font-size:1.7rem}h2{margin-top:3rem;border-bottom:1px solid var(--line)}
h3{margin:2.5rem 0 .5rem;font-size:1.05rem;overflow-wrap:anywhere}
a{color:var(--accent)}code,pre{font:.9em ui-monospace,monospace}
code{background:var(--soft);padding:.1em .3em;border-radius:.25em}
pre{background:var(--soft);padding:.8rem;overflow:auto;border-radius:.4rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem .35rem 0;
border-bottom:1px solid var(--line)}
th{font-weight:600}td p,td ul{margin:0}
td,li,p{overflow-wrap:anywhere}td:first-child{white-space:nowrap}
nav ul{columns:18rem;list-style:none;padding:0}
.method{display:inline-block;min-width:4.2em;font-weight:700}.soft{opacity:.7}
@media(max-width:48rem){body{padding:1rem}table,tbody,tr,td{display:block}
td{border:0;padding:.1rem 0}td:first-child{white-space:normal}
tr{border-bottom:1px solid var(--line);padding:.35rem 0}}
)";

std::string base64(std::string_view bytes) {
    constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned group = 0;
        for (std::size_t j = 0; j < 3; ++j)
            group =
                group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
        for (std::size_t j = 0; j < 4; ++j)
            text.push_back(i + j <= bytes.size() ? digits[group >> (18 - 6 * j) & 63] : '=');
    }
    return text;
}

// Text with `code` in it.
void append_line(std::string& output, std::string_view text) {
    for (bool code = false; !text.empty(); code = !code) {
        auto const tick = text.find('`');
        if (code) output.append("<code>");
        append_escaped(output, text.substr(0, tick));
        if (code) output.append("</code>");
        text.remove_prefix(tick == text.npos ? text.size() : tick + 1);
    }
}

}  // namespace

std::string_view page_policy() {
    static auto const policy = [] {
        auto const digest = auth::digest_of(style);
        return "default-src 'none'; style-src 'sha256-" +
               base64({reinterpret_cast<char const*>(digest.data()), digest.size()}) +
               "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    }();
    return policy;
}

void begin_page(std::string& output, std::string_view title) {
    output.append(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    append_escaped(output, title);
    output.append("</title>\n<style>").append(style).append("</style>\n</head>\n<body>\n");
}

void end_page(std::string& output) {
    output.append("</body>\n</html>\n");
}

void append_escaped(std::string& output, std::string_view text) {
    for (char const c : text) switch (c) {
            case '&':
                output.append("&amp;");
                break;
            case '<':
                output.append("&lt;");
                break;
            case '>':
                output.append("&gt;");
                break;
            case '"':
                output.append("&quot;");
                break;
            default:
                output.push_back(c);
        }
}

void append_marked(std::string& output, std::string_view text) {
    bool listing = false;
    while (!text.empty()) {
        auto const end = text.find('\n');
        auto line = text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        bool const item = line.starts_with("- ");
        if (item != listing) output.append(item ? "<ul>" : "</ul>");
        listing = item;
        if (item) line.remove_prefix(2);
        if (line.empty()) continue;
        output.append(item ? "<li>" : "<p>");
        append_line(output, line);
        output.append(item ? "</li>" : "</p>");
    }
    if (listing) output.append("</ul>");
}

}  // namespace latchkey::api
