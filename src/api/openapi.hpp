// The parts that the description of the interface (documents.hpp) is put together from.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "api/settings.hpp"

namespace latchkey::api {

// OpenAPI 3.1.0, made of the route table.
boost::json::object describe_interface(settings const& rules);

// The page made of it: HTML without script.
std::string docs_page(boost::json::object const& document);

// What operations name. It is an error of the program when there is none of that name.
boost::json::object parameter_part(std::string_view name);
boost::json::object header_part(std::string_view name);
// The headings that operations stand under.
boost::json::array group_parts();

}  // namespace latchkey::api
