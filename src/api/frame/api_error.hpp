// An error of a handler or a check, before it is rendered as a problem document (problem.hpp).
// Values; any thread.
#pragma once

#include <boost/system/result.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/problem.hpp"

namespace latchkey::api {

struct api_error {
    base::problem problem = base::problem::internal_error;
    std::string detail;                 // a sentence for people, never a secret; empty: the advice
    std::vector<base::fault> faults{};  // `errors` of the document
    std::string_view scope{};           // with insufficient_scope: the scope that the key lacks
    std::int64_t oldest_change = 0;     // with changes_expired: the first sequence that is kept
};

// Either a value or an error.
template <class T>
using api_result = boost::system::result<T, api_error>;

[[noreturn]] void throw_exception_from_error(api_error const& error, boost::source_location const&);

inline api_error make_error(base::problem problem, std::string_view detail = {}) {
    return {.problem = problem, .detail = std::string(detail)};
}

// A fault in one place, of which the document shows code and detail.
inline api_error make_error(base::problem problem, std::string_view detail, base::fault fault) {
    return {.problem = problem, .detail = std::string(detail), .faults = {std::move(fault)}};
}

inline api_error missing_scope(std::string_view scope) {
    return {.problem = base::problem::insufficient_scope,
            .detail = "The key lacks the scope `" + std::string(scope) + "`.",
            .scope = scope};
}

// A query parameter that is not valid.
inline api_error bad_parameter(std::string_view name, base::field_code code,
                               std::string_view reason) {
    return make_error(
        base::problem::invalid_parameter, {},
        {base::fault::location_kind::parameter, std::string(name), code, std::string(reason)});
}

// `reason`: where and why, "at byte 5: syntax error".
inline api_error invalid_json(std::string_view subject, std::string_view reason) {
    auto error = make_error(base::problem::invalid_json, "The ");
    error.detail.append(subject).append(" cannot be read ").append(reason).append(".");
    return error;
}

// The body, or another document, is not a JSON object.
inline api_error not_an_object(std::string_view subject) {
    return make_error(base::problem::validation_failed,
                      "The " + std::string(subject) + " must be a JSON object.",
                      {base::fault::location_kind::pointer, "", base::field_code::invalid_type,
                       "must be an object"});
}

}  // namespace latchkey::api
