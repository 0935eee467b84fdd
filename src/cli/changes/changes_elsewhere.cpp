// latchkey changes --url: page by page; to follow, it asks once a second.
#include <algorithm>
#include <boost/json/object.hpp>
#include <utility>

#include "cli/changes/changes_command.hpp"
#include "cli/frame/followed_output.hpp"
#include "cli/frame/json.hpp"

namespace latchkey::cli {
namespace {

constexpr int ask_every_ms = 1000;
constexpr std::uint64_t page_max = 1000;

}  // namespace

int print_changes_elsewhere(changes_options const& options) {
    auto const connection = remote_api::connect(options.elsewhere);
    if (!connection) return report(connection.error());
    std::string types;
    for (auto const& each : options.types) types += (types.empty() ? "" : ",") + each;
    auto position = options.start;
    for (auto left = options.limit == 0 ? UINT64_MAX : options.limit; left != 0;) {
        query_text query;
        query.add("after", position).add("type", types);
        query.add("limit", std::to_string(std::min(left, page_max)));
        auto const page = (*connection)->call("GET", "/changes" + query.text());
        if (is_interrupted()) return interrupted;
        if (!page) return report(page.error());
        auto const changes = page_elements(*page);
        if (!changes) return report(changes.error());
        std::string text;
        for (auto const change : *changes)
            text += options.json ? std::string(change) + "\n"
                                 : change_line(parse_object(change).value());
        left -= std::min<std::uint64_t>(left, changes->size());
        if (!write_followed(text)) return end_of_output();
        auto const document = parse_object(*page).value();
        auto const& pagination = object_of(document, "pagination");
        auto const last_position =
            std::exchange(position, text_of(pagination, "next_after", position));
        if (is_true(pagination, "has_more") && last_position == position)
            return report({"a page leads to itself", failed});
        if (is_true(pagination, "has_more")) continue;
        if (!options.follow || left == 0) return done;
        if (!wait_for_more(ask_every_ms)) return end_of_output();
        if (is_interrupted()) return interrupted;
    }
    return done;
}

}  // namespace latchkey::cli
