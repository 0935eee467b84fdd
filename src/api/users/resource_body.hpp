// The members of users and posts that a client sets, validated by the rules of api.md §5 and §6:
// for bodies of requests and for the lines of `latchkey import`. Values; any thread.
//
//     members body(*object, faults);
//     auto const fields = take_user(body, true);  // invalid members are added to `faults`
//     body.refuse_rest();
#pragma once

#include "api/frame/api_error.hpp"
#include "api/frame/checks/validate.hpp"
#include "model/post.hpp"
#include "model/user.hpp"

namespace latchkey::api {

// `required`: for POST and PUT. `blank`: the name may be white space alone.
struct user_body {
    std::optional<std::string> name, email;
};
user_body take_user(members& body, bool required, bool blank = false);

// The members that a client may set on every write.
struct post_body {
    std::optional<std::string> title, body;
    std::optional<model::post_status> status;
};
post_body take_post(members& body, bool title_required, bool rest_required, bool blank = false);

struct line_error {
    std::vector<base::fault> faults;  // empty: the line is not a JSON object
    std::string detail;
    model::id id = 0;  // of the record, if it could be read
};
template <class Record>
using line_result = boost::system::result<Record, line_error>;
[[noreturn]] void throw_exception_from_error(line_error const& error,
                                             boost::source_location const&);

// A line of `latchkey import`: a user or a post as the API shows it. A missing `id` or time is 0.
// Names and titles may be blank, as in stores of earlier versions. `now`: the latest valid time.
line_result<model::user> read_user_line(std::string_view line, base::wall_ms now);
line_result<model::post> read_post_line(std::string_view line, base::wall_ms now);

}  // namespace latchkey::api
