// What a handler found wrong, before it is a problem document (problem.hpp). A value, any thread.
#pragma once

#include <boost/system/result.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.hpp"

namespace latchkey::api {

struct trouble {
    base::problem problem = base::problem::internal_error;
    std::string detail;               // a sentence for people; never a secret
    std::vector<base::fault> faults;  // `errors` of the document
    std::string_view scope;           // that the key lacks, with insufficient_scope
};

// Either a value or what is wrong.
template <class T>
using or_trouble = boost::system::result<T, trouble>;

[[noreturn]] void throw_exception_from_error(trouble const& of, boost::source_location const&);

// A query parameter that is not valid.
inline trouble bad_parameter(std::string_view name, base::field_code code, std::string_view why) {
    return {base::problem::invalid_parameter,
            std::string(name) + ": " + std::string(why),
            {{base::fault::place::parameter, std::string(name), code, std::string(why)}}};
}

}  // namespace latchkey::api
