// The body of a request, made of a command's options: the same for the store of this machine and a
// service elsewhere, so that both check it alike. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/frame/api_error.hpp"
#include "base/problem.hpp"

namespace latchkey::cli {

// `{"url":"…","ordered":true}`. Its bytes are wiped.
class json_members {
  public:
    ~json_members();
    json_members() = default;
    json_members(json_members const&) = delete;
    json_members& operator=(json_members const&) = delete;

    // Begins a member; its value is appended to what is returned.
    std::string& name(std::string_view name);
    void text(std::string_view member, std::string_view value);
    void texts(std::string_view member, std::vector<std::string> const& values);
    bool empty() const { return text_.size() == 1; }
    std::string_view end();  // the whole object

  private:
    std::string text_ = "{";
};

// Says what is wrong with the values of options, by the names of the members of the API.
std::string fault_text(std::vector<base::fault> const& faults);
// The error of a handler, as a sentence.
std::string error_text(api::api_error const& error);

}  // namespace latchkey::cli
