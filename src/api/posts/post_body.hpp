// The members of a post that a client sets, validated by the rules of api.md §6: for bodies of
// requests and for the lines of `latchkey import`. Values; any thread.
#pragma once

#include "api/frame/checks/import_line.hpp"
#include "model/post.hpp"

namespace latchkey::api {

// The members that a client may set on every write.
struct post_body {
    std::optional<std::string> title, body;
    std::optional<model::post_status> status;
};
post_body take_post(members& body, bool title_required, bool rest_required, bool blank = false);

// `now`: the latest valid time.
line_result<model::post> read_post_line(std::string_view line, base::wall_ms now);

}  // namespace latchkey::api
