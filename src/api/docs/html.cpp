#include "api/docs/html.hpp"

namespace latchkey::api {

html& html::text(std::string_view text) {
    for (char const c : text) switch (c) {
            case '&':
                output_.append("&amp;");
                break;
            case '<':
                output_.append("&lt;");
                break;
            case '>':
                output_.append("&gt;");
                break;
            case '"':
                output_.append("&quot;");
                break;
            default:
                output_.push_back(c);
        }
    return *this;
}

html& html::heading(std::string_view level, std::string_view id, std::string_view title) {
    raw("<").raw(level).raw(" id=\"").text(id).raw("\"><a href=\"#").text(id).raw("\">");
    return text(title).raw("</a></").raw(level).raw(">\n");
}

html& html::marked(std::string_view text) {
    bool listing = false;
    while (!text.empty()) {
        auto const end = text.find('\n');
        auto one = text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        bool const item = one.starts_with("- ");
        if (item != listing) raw(item ? "<ul>" : "</ul>");
        listing = item;
        if (item) one.remove_prefix(2);
        if (one.empty()) continue;
        raw(item ? "<li>" : "<p>").line(one).raw(item ? "</li>" : "</p>\n");
    }
    return listing ? raw("</ul>\n") : *this;
}

html& html::line(std::string_view text) {
    for (bool is_code = false; !text.empty(); is_code = !is_code) {
        auto const tick = text.find('`');
        if (is_code)
            code(text.substr(0, tick));
        else
            this->text(text.substr(0, tick));
        text.remove_prefix(tick == text.npos ? text.size() : tick + 1);
    }
    return *this;
}

html& html::block(std::string_view language, std::string_view text) {
    raw("<pre tabindex=\"0\"><code class=\"language-").text(language).raw("\">");
    return this->text(text).raw("</code></pre>\n");
}

}  // namespace latchkey::api
