// Documents of the API as the command line reads them: those that the store's own records make, and
// those of a service elsewhere. So one function prints both. Values; any thread.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace latchkey::cli {

using json_object = boost::json::object;

// The error is a sentence.
base::result<json_object> parse_object(std::string_view text);

// The members of a document: text as it is, numbers and truths as JSON writes them; `none` for null
// and what is absent.
std::string text_of(json_object const& document, std::string_view name,
                    std::string const& none = {});
// "2026-01-02T03:04:05.678Z" as "2026-01-02 03:04:05Z".
std::string time_of(json_object const& document, std::string_view name,
                    std::string const& none = "-");
// Words of a list, with a space between them.
std::string words_of(json_object const& document, std::string_view name);
std::int64_t number_of(json_object const& document, std::string_view name);  // 0: none
bool is_true(json_object const& document, std::string_view name);
// An empty one where there is none.
json_object const& object_of(json_object const& document, std::string_view name);
boost::json::array const& list_of(json_object const& document, std::string_view name);
// The elements of that list that are objects.
std::vector<json_object const*> objects_of(json_object const& document, std::string_view name);
// Is it there, and is each of its elements an object?
bool is_list_of_objects(json_object const& document, std::string_view name);

// The elements of the list `name` of a document, each as the text that it has there, byte for byte;
// none if that is absent or no list. `document` is valid JSON.
std::vector<std::string_view> elements_of(std::string_view document, std::string_view name);

}  // namespace latchkey::cli
