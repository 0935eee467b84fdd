// How a page of metrics is written (exposition.hpp). Private to the exposition.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace latchkey::server {

// Writes families: `# HELP`, `# TYPE`, then their samples.
class page {
  public:
    explicit page(std::string& output) : output_(output) {}

    page& family(std::string_view name, std::string_view type, std::string_view help) {
        name_ = name;
        output_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
        output_.append(name).append(" ").append(type).append("\n");
        return *this;
    }
    // `labels` as in the output, without braces; their values are our own text and need no
    // escaping.
    page& sample(auto value, std::string_view labels = {}, std::string_view suffix = {}) {
        output_.append(name_).append(suffix);
        if (!labels.empty()) output_.append("{").append(labels).append("}");
        char digits[32];
        output_.append(" ").append(digits,
                                   std::to_chars(digits, digits + sizeof digits, value).ptr);
        output_.append("\n");
        return *this;
    }

  private:
    std::string& output_;
    std::string_view name_;
};

inline std::string label(std::string_view name, std::string_view value) {
    return std::string(name) + "=\"" + std::string(value) + "\"";
}

}  // namespace latchkey::server
