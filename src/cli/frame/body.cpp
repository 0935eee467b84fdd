#include "cli/frame/body.hpp"

#include "api/frame/json/json_writer.hpp"
#include "base/bytes.hpp"

namespace latchkey::cli {

json_members::~json_members() {
    base::wipe(text_.data(), text_.size());
}

std::string& json_members::name(std::string_view name) {
    if (text_.size() > 1) text_.push_back(',');
    text_.append(1, '"').append(name).append("\":");
    return text_;
}

void json_members::text(std::string_view member, std::string_view value) {
    api::append_string(name(member), value);
}

void json_members::texts(std::string_view member, std::vector<std::string> const& values) {
    auto& output = name(member);
    api::append_array(output, values,
                      [&](std::string const& each) { api::append_string(output, each); });
}

std::string_view json_members::end() {
    text_.push_back('}');
    return text_;
}

std::string fault_text(std::vector<base::fault> const& faults) {
    std::string message;
    for (auto const& each : faults) {
        auto const place = each.location.substr(each.location.starts_with('/') ? 1 : 0);
        message += (message.empty() ? "" : "; ") + place + " " + each.detail;
    }
    return message;
}

std::string error_text(api::api_error const& error) {
    if (!error.detail.empty()) return error.detail;
    if (!error.faults.empty()) return fault_text(error.faults);
    return std::string(base::describe(error.problem).title);
}

}  // namespace latchkey::cli
