// The page of a group of operations: each with its parameters, body and answers, and beside it the
// request in several languages and the answer. Any thread.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "api/docs/reference.hpp"

namespace latchkey::api {

std::string group_content(reference const& reference, boost::json::object const& group);
// The requests that the service itself sends, as a part of the page of webhooks.
std::string sent_content(reference const& reference);

}  // namespace latchkey::api
