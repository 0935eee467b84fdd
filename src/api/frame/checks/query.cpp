#include "api/frame/checks/query.hpp"

#include <algorithm>
#include <span>

#include "api/frame/refusal_detail.hpp"
#include "base/visible.hpp"
#include "wire/http/target.hpp"

namespace latchkey::api {

using base::field_code;

void query::parse(std::string_view raw) {
    count_ = 0;
    names_.clear();
    text_.clear();
    faults_.clear();
    if (raw.empty()) return;
    text_.reserve(raw.size());  // decoding never grows a text, so views of it stay valid
    http::query_cursor cursor(raw);
    while (auto const next = cursor.next()) {
        bool valid = true;
        auto const name = decoded(next->name, valid), value = decoded(next->value, valid);
        if (!valid) {
            refuse(name.empty() ? "query" : name, field_code::invalid_format,
                   "is not percent-encoded UTF-8 without NUL");
            continue;
        }
        if (name == credential_parameter) continue;
        auto const earlier_parameters = std::span(parameters_).first(count_);
        if (std::ranges::find(earlier_parameters, name, &parameter::name) !=
            earlier_parameters.end()) {
            refuse(name, field_code::invalid_format, "is repeated");
            continue;
        }
        if (count_ == base::limits::query_parameters_max)
            return refuse(name, field_code::unknown_field, "is one parameter too many");
        parameters_[count_++] = {name, value, false};
    }
}

std::string_view query::decoded(std::string_view raw, bool& valid) {
    if (raw.find_first_of("%+") == raw.npos) return raw;
    auto const text = http::percent_decode(raw, true);
    if (!text || !base::is_utf8(*text)) {
        valid = false;
        return {};
    }
    auto const begin = text_.size();
    text_.append(*text);
    return std::string_view(text_).substr(begin);
}

std::optional<std::string_view> query::take(std::string_view name) {
    if (count_ != 0) names_.push_back(name);
    for (std::size_t i = 0; i < count_; ++i) {
        if (parameters_[i].name != name) continue;
        parameters_[i].is_taken = true;
        return parameters_[i].value;
    }
    return std::nullopt;
}

std::optional<base::wall_ms> query::read_time(std::string_view name, std::string_view text) {
    auto const time = base::parse_timestamp(text);
    // A plus sign that is not encoded is a space in a query.
    constexpr std::size_t offset_bytes = std::string_view(" 02:00").size();
    bool const has_raw_plus = text.size() > offset_bytes && text[text.size() - offset_bytes] == ' ';
    if (!time)
        refuse(name, field_code::invalid_format,
               has_raw_plus ? "must have the + of its offset written as %2B, such as "
                              "2026-01-02T03:04:05%2B02:00"
                            : "must be an RFC 3339 time such as 2026-01-02T03:04:05Z");
    return time;
}

void query::refuse(std::string_view name, field_code code, std::string_view reason) {
    name = shown_name(name);
    bool const is_noted = std::ranges::find(faults_, name, &base::fault::location) != faults_.end();
    if (is_noted || faults_.size() == base::limits::faults_max) return;
    faults_.push_back(
        {base::fault::location_kind::parameter, std::string(name), code, std::string(reason)});
}

std::optional<api_error> query::refuse_rest() const {
    auto faults = faults_;
    std::size_t count = 0;
    for (std::size_t i = 0; i < count_ && faults.size() < base::limits::faults_max; ++i)
        if (!parameters_[i].is_taken && std::ranges::find(faults, shown_name(parameters_[i].name),
                                                          &base::fault::location) == faults.end()) {
            auto const name = parameters_[i].name;
            auto const hint = count++ < suggestions_max ? suggestion(name, names_) : "";
            faults.push_back({base::fault::location_kind::parameter, std::string(shown_name(name)),
                              field_code::unknown_field, "is not a parameter of this path" + hint});
        }
    if (faults.empty()) return std::nullopt;
    return api_error{.problem = base::problem::invalid_parameter, .faults = std::move(faults)};
}

}  // namespace latchkey::api
