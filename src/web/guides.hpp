// The guides at /docs: Markdown of guides/ and of docs/operations, rendered when the service is
// built (guides.py, meson.build). Constants; any thread.
#pragma once

#include <span>
#include <string_view>

namespace latchkey::web {

struct guide_heading {
    std::string_view id, text;
    std::string_view plain;  // what stands below it, without markup
};

struct guide {
    std::string_view name;     // "first-request", the last part of its path
    std::string_view group;    // "Guides" or "Operations"; those of one group stand together
    std::string_view title;    // plain text, as all but `html`
    std::string_view summary;  // one sentence
    std::string_view html;     // without the title
    std::string_view plain;    // what stands before the first heading, without markup
    std::span<guide_heading const> headings;
};

// In the order in which they are read.
std::span<guide const> guides();

}  // namespace latchkey::web
