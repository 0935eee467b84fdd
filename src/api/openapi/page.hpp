// The frame of the HTML pages (/docs, /problems/…): one embedded style sheet, light and dark, no
// script, nothing loaded from elsewhere. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace latchkey::api {

// The value of Content-Security-Policy: that style sheet and nothing else.
std::string_view page_policy();

// `title` is plain text. The page is complete after `end_page`.
void begin_page(std::string& output, std::string_view title);
void end_page(std::string& output);

// Text in HTML: `&`, `<`, `>` and `"` are escaped.
void append_escaped(std::string& output, std::string_view text);
// The part of CommonMark that descriptions use: paragraphs, lists of `- `, and `code`.
void append_marked(std::string& output, std::string_view text);

}  // namespace latchkey::api
