#include "api/docs/json_text.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace latchkey::api {
namespace {

namespace json = boost::json;

class printer {
  public:
    printer(std::string_view step, literal_words const& words) : step_(step), words_(words) {}

    void append(json::value const& value, std::string const& margin) {
        if (value.is_object())
            append_members(value.get_object(), margin);
        else if (value.is_array())
            append_elements(value.get_array(), margin);
        else if (value.is_bool())
            output_.append(value.get_bool() ? words_.true_ : words_.false_);
        else if (value.is_null())
            output_.append(words_.null);
        else
            output_.append(json::serialize(value));
    }
    std::string take() { return std::move(output_); }

  private:
    void append_members(json::object const& object, std::string const& margin) {
        auto const inner = margin + step_;
        output_.push_back('{');
        for (bool first = true; auto const& [name, member] : object) {
            output_.append(std::exchange(first, false) ? "\n" : ",\n").append(inner);
            output_.append(json::serialize(json::value(name))).append(": ");
            append(member, inner);
        }
        if (!object.empty()) output_.append("\n").append(margin);
        output_.push_back('}');
    }
    void append_elements(json::array const& array, std::string const& margin) {
        bool const is_flat = std::ranges::none_of(
            array, [](json::value const& each) { return each.is_structured(); });
        auto const inner = margin + step_;
        output_.push_back('[');
        for (bool first = true; auto const& each : array) {
            output_.append(std::exchange(first, false) ? "" : is_flat ? ", " : ",");
            if (!is_flat) output_.append("\n").append(inner);
            append(each, inner);
        }
        if (!is_flat) output_.append("\n").append(margin);
        output_.push_back(']');
    }

    std::string step_;
    literal_words words_;
    std::string output_;
};

}  // namespace

std::string indented(json::value const& value, std::string_view margin, std::string_view step,
                     literal_words const& words) {
    printer output(step, words);
    output.append(value, std::string(margin));
    return output.take();
}

}  // namespace latchkey::api
