// The members of users and posts that a client sets, by the rules of API §5 and §6: for the bodies
// of requests and for the lines of `latchkey import`. What is wrong is noted in the body's faults;
// values, any thread.
//
//     members body(*object, faults);
//     auto const made = take_user(body, true);
//     body.refuse_rest();
#pragma once

#include "api/trouble.hpp"
#include "api/validate.hpp"
#include "model/post.hpp"
#include "model/user.hpp"

namespace latchkey::api {

// The members of a user in a body; `required` for POST and PUT.
struct user_body {
    std::optional<std::string> name, email;
};
user_body take_user(members& body, bool required);

// The members of a post in a body that a client may set on every write.
struct post_body {
    std::optional<std::string> title, body;
    std::optional<model::post_status> status;
};
post_body take_post(members& from, bool title_required, bool rest_required);

// A line of `latchkey import`, which has what the API shows of a user or a post; `id` and the times
// may be missing and are 0 then. `now`: the latest time that one may have. `id` of the trouble is
// the record's where it could be read all the same.
struct line_trouble {
    std::vector<base::fault> faults;  // without any: it is not a JSON object
    std::string detail;
    model::id id = 0;
};
template <class Record>
using or_line_trouble = boost::system::result<Record, line_trouble>;
[[noreturn]] void throw_exception_from_error(line_trouble const& of, boost::source_location const&);

or_line_trouble<model::user> read_user_line(std::string_view line, base::wall_ms now);
or_line_trouble<model::post> read_post_line(std::string_view line, base::wall_ms now);

}  // namespace latchkey::api
