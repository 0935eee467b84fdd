// Writes HTML into a string: markup as it is, text escaped. The string outlives the writer.
//
//     html(output).raw("<a href=\"").text(target).raw("\">").text(title).raw("</a>");
#pragma once

#include <string>
#include <string_view>

namespace latchkey::api {

class html {
  public:
    explicit html(std::string& output) : output_(output) {}

    html& raw(std::string_view markup) {
        output_.append(markup);
        return *this;
    }
    // `&`, `<`, `>` and `"` are escaped.
    html& text(std::string_view text);
    // <code>…</code>
    html& code(std::string_view text) { return raw("<code>").text(text).raw("</code>"); }
    html& link(std::string_view target, std::string_view title) {
        return raw("<a href=\"").text(target).raw("\">").text(title).raw("</a>");
    }
    // A heading that links to itself; `level` is "h2" or "h3".
    html& heading(std::string_view level, std::string_view id, std::string_view title);
    // The part of CommonMark that descriptions use: paragraphs, lists of `- `, and `code`.
    html& marked(std::string_view text);
    // The same without paragraphs, for a cell or the end of a line.
    html& line(std::string_view text);
    // A block of source text, with the language for the reader and the script.
    html& block(std::string_view language, std::string_view text);

  private:
    std::string& output_;
};

}  // namespace latchkey::api
