#include "api/checks/query.hpp"

#include "http/target.hpp"

namespace latchkey::api {

using base::field_code;

std::optional<api_error> query::parse(std::string_view raw) {
    count_ = 0;
    text_.clear();
    if (raw.empty()) return std::nullopt;
    text_.reserve(raw.size());  // decoding never grows a text, so views of it stay valid
    http::query_cursor cursor(raw);
    while (auto const next = cursor.next()) {
        bool valid = true;
        auto const name = decoded(next->name, valid), value = decoded(next->value, valid);
        if (!valid)
            return bad_parameter(name.empty() ? "query" : name, field_code::invalid_format,
                                 "is not percent-encoded text");
        if (name == credential_parameter) continue;
        for (std::size_t i = 0; i < count_; ++i)
            if (parameters_[i].name == name)
                return bad_parameter(name, field_code::invalid_format, "is repeated");
        if (count_ == base::limits::query_parameters_max)
            return bad_parameter(name, field_code::unknown_field, "is one parameter too many");
        parameters_[count_++] = {name, value, false};
    }
    return std::nullopt;
}

std::string_view query::decoded(std::string_view raw, bool& valid) {
    if (raw.find_first_of("%+") == raw.npos) return raw;
    auto const text = http::percent_decode(raw, true);
    if (!text) {
        valid = false;
        return {};
    }
    auto const begin = text_.size();
    text_.append(*text);
    return std::string_view(text_).substr(begin);
}

std::optional<std::string_view> query::take(std::string_view name) {
    for (std::size_t i = 0; i < count_; ++i) {
        if (parameters_[i].name != name) continue;
        parameters_[i].is_taken = true;
        return parameters_[i].value;
    }
    return std::nullopt;
}

std::optional<api_error> query::refuse_rest() const {
    for (std::size_t i = 0; i < count_; ++i)
        if (!parameters_[i].is_taken)
            return bad_parameter(parameters_[i].name, field_code::unknown_field,
                                 "is not a parameter of this path");
    return std::nullopt;
}

}  // namespace latchkey::api
