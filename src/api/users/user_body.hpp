// The members of a user that a client sets, validated by the rules of api.md §5: for bodies of
// requests and for the lines of `latchkey import`. Values; any thread.
//
//     members body(*object, faults);
//     auto const fields = take_user(body, true);  // invalid members are added to `faults`
//     body.refuse_rest();
#pragma once

#include "api/frame/checks/import_line.hpp"
#include "model/user.hpp"

namespace latchkey::api {

// `required`: for POST and PUT. `blank`: the name may be white space alone.
struct user_body {
    std::optional<std::string> name, email;
};
user_body take_user(members& body, bool required, bool blank = false);

// `now`: the latest valid time.
line_result<model::user> read_user_line(std::string_view line, base::wall_ms now);

}  // namespace latchkey::api
