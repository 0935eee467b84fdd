// Requests as programs: the same one for curl, TypeScript, Python and Go. They read the origin of
// the service and the key from the environment, so they run as they are. Any thread.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace latchkey::api {

struct sample_request {
    std::string_view method;  // "POST"
    std::string path;         // without variables
    bool has_key = true;
    std::optional<boost::json::value> body;
    bool answers_json = true;
};

struct sample_language {
    std::string_view name, title;  // "typescript", "TypeScript"
    std::string (*write)(sample_request const&);
};

std::string curl_sample(sample_request const& request);
std::string typescript_sample(sample_request const& request);
std::string python_sample(sample_request const& request);
std::string go_sample(sample_request const& request);

inline constexpr sample_language sample_languages[] = {
    {"sh", "curl", curl_sample},
    {"typescript", "TypeScript", typescript_sample},
    {"python", "Python", python_sample},
    {"go", "Go", go_sample},
};

}  // namespace latchkey::api
