// The frame of the pages for people (/docs, /problems/…): one style sheet inside the page, light
// and dark, no script, nothing loaded from anywhere. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace latchkey::api {

// What Content-Security-Policy says: nothing but that style sheet.
std::string_view page_policy();

// `title` is plain text. The page is complete after `end_page`.
void begin_page(std::string& to, std::string_view title);
void end_page(std::string& to);

// As text in HTML: `&`, `<`, `>` and `"` escaped.
void append_escaped(std::string& to, std::string_view text);
// The little of CommonMark that descriptions use: paragraphs, lists of `- `, and `code`.
void append_marked(std::string& to, std::string_view text);

}  // namespace latchkey::api
