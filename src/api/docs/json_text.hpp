// JSON for people: indented, short lists on one line. Any thread.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>

namespace latchkey::api {

// How a language writes what is the same in all of them but for these.
struct literal_words {
    std::string_view true_, false_, null;
};
inline constexpr literal_words json_words{"true", "false", "null"};
inline constexpr literal_words python_words{"True", "False", "None"};

// Lines after the first begin with `margin`; `step` is one more level.
std::string indented(boost::json::value const& value, std::string_view margin = "",
                     std::string_view step = "  ", literal_words const& words = json_words);

}  // namespace latchkey::api
