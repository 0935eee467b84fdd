// latchkey changes --url: page by page; to follow, it asks once a second.
#include <algorithm>
#include <cstdio>

#include "base/visible.hpp"
#include "cli/changes.hpp"
#include "cli/followed_output.hpp"
#include "cli/json.hpp"

namespace latchkey::cli {
namespace {

constexpr int ask_every_ms = 1000;
constexpr std::uint64_t page_max = 1000;

// As the lines of the store of this machine.
std::string line_of(json_object const& change) {
    auto type = text_of(change, "type");
    auto const& record = object_of(change, "data");
    auto subject = type.substr(0, type.find('.')) + ' ' + text_of(record, "id");
    if (type.starts_with("event_secret.")) subject = "source " + text_of(record, "source");
    type.resize(std::max<std::size_t>(type.size(), 20), ' ');
    auto const key = text_of(change, "key_id");
    return text_of(change, "sequence") + "  " + time_of(change, "occurred_at") + "  " +
           base::visible(type) + "  " + base::visible(subject) +
           (key.empty() ? "" : "  by key " + key) + "\n";
}

}  // namespace

int print_changes_elsewhere(changes_options const& options) {
    auto const connection = service::connect(options.elsewhere);
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
        std::string text;
        for (auto const change : elements_of(*page, "data")) {
            text +=
                options.json ? std::string(change) + "\n" : line_of(parse_object(change).value());
            --left;
        }
        if (!write_followed(text)) return end_of_output();
        auto const document = parse_object(*page);
        if (!document) return report({document.error().message, failed});
        auto const& pagination = object_of(*document, "pagination");
        position = text_of(pagination, "next_after", position);
        if (is_true(pagination, "has_more")) continue;
        if (!options.follow || left == 0) return done;
        if (!wait_for_more(ask_every_ms)) return done;
        if (is_interrupted()) return interrupted;
    }
    return done;
}

}  // namespace latchkey::cli
