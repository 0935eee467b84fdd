// The frame of the pages for people: head, header, navigation. Everything they load comes from this
// service (web/files.hpp), and all but search, tabs and trying out works without JavaScript.
#pragma once

#include <string>
#include <string_view>

#include "api/docs/reference.hpp"

namespace latchkey::api {

// The value of Content-Security-Policy: scripts and style sheets of this origin, no others.
inline constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

// Any thread. The reference outlives it.
class frame {
  public:
    frame(reference const& reference, bool has_console)
        : reference_(reference), has_console_(has_console) {}

    // A whole page. `path` is its own, "/docs/users"; `title` is plain text, `content` HTML.
    std::string page(std::string_view path, std::string_view title, std::string_view content) const;

  private:
    std::string navigation(std::string_view path) const;

    reference const& reference_;
    bool has_console_;
};

}  // namespace latchkey::api
