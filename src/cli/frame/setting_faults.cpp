#include "cli/frame/setting_faults.hpp"

#include <algorithm>
#include <utility>

#include "api/frame/json/json_writer.hpp"
#include "base/nearest.hpp"

namespace latchkey::cli {

void sort_by_place(setting_faults& faults) {
    std::ranges::stable_sort(faults, {}, [](setting_fault const& each) {
        return std::pair(each.place.file.empty(), each.place.line);
    });
}

std::string sentence_of(setting_fault const& fault) {
    auto const& place = fault.place;
    auto const& begin = place.file.empty() ? place.source : place.file;
    return begin + (begin.empty() ? "" : ": ") + fault.message +
           (place.line == 0 ? "" : " (line " + std::to_string(place.line) + ")");
}

std::string sentence_of(setting_faults const& faults) {
    std::string text;
    for (auto const& each : faults) text.append(text.empty() ? "" : "; ").append(sentence_of(each));
    return text;
}

std::string json_of(setting_faults const& faults) {
    std::string text = "[";
    auto const append_value = [&](std::string const& value) {
        if (value.empty())
            text += "null";
        else
            api::append_string(text, value);
    };
    auto const append = [&](std::string_view name, std::string const& value) {
        api::append_name(text, name);
        append_value(value);
    };
    for (auto const& each : faults) {
        if (text.size() > 1) text += ",";
        text += "{\"file\":";
        append_value(each.place.file);
        api::append_name(text, "line");
        text += each.place.line == 0 ? "null" : std::to_string(each.place.line);
        append("source", each.place.source);
        append("setting", each.setting);
        append("message", each.message);
        text += "}";
    }
    return text + "]";
}

std::string hint_of(std::string_view name, std::vector<std::string_view> const& names) {
    auto const near = base::nearest(name, names);
    return near ? "; did you mean " + std::string(*near) + "?" : "";
}

}  // namespace latchkey::cli
