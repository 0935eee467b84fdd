// Options become JSON in one pass, in the order of the members of the body; the service's own
// reader then judges the values. Only what JSON cannot carry is checked here: the form of
// NAME=LIMIT/SECONDS and of lifetimes, and flags that exclude each other.
#include "cli/keys/key_options.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "api/frame/json/json_writer.hpp"
#include "base/clock.hpp"
#include "base/limits.hpp"
#include "cli/frame/scope_list.hpp"
#include "cli/frame/time_option.hpp"
#include "cli/frame/whole_number.hpp"
#include "model/key.hpp"

namespace latchkey::cli {
namespace {

// "minute=600/60", or "minute=600/60/50" with a burst.
base::result<void> append_limit(std::string& output, std::string const& text) {
    base::error const wrong{
        "--limit must be NAME=LIMIT/SECONDS, such as minute=600/60, or "
        "NAME=LIMIT/SECONDS/BURST; '" +
        text + "' is not"};
    auto const equals = text.find('=');
    if (equals == text.npos) return wrong;
    output.append("{\"name\":");
    api::append_string(output, std::string_view(text).substr(0, equals));
    auto rest = std::string_view(text).substr(equals + 1);
    std::size_t count = 0;
    for (auto const* const member : {"limit", "window_seconds", "burst"}) {
        if (rest.empty()) break;
        auto const slash = std::min(rest.find('/'), rest.size());
        auto const number = parse_whole_number(rest.substr(0, slash));
        if (!number || *number > UINT32_MAX) return wrong;
        api::append_name(output, member);
        api::append_number(output, *number);
        rest.remove_prefix(std::min(slash + 1, rest.size()));
        ++count;
    }
    if (count < 2 || !rest.empty()) return wrong;
    output.push_back('}');
    return {};
}

base::result<void> append_limits(json_members& body, std::vector<std::string> const& limits) {
    auto& output = body.name("rate_limits");
    output.push_back('[');
    for (auto const& text : limits) {
        if (&text != limits.data()) output.push_back(',');
        if (auto const appended = append_limit(output, text); !appended) return appended;
    }
    output.push_back(']');
    return {};
}

base::result<void> append_metadata(json_members& body, std::vector<std::string> const& metadata,
                                   bool is_new) {
    auto& output = body.name("metadata");
    output.push_back('{');
    for (auto const& text : metadata) {
        auto const equals = text.find('=');
        if (equals == text.npos && is_new)
            return base::error{"--metadata must be NAME=VALUE; '" + text + "' has no '='"};
        if (&text != metadata.data()) output.push_back(',');
        api::append_string(output, std::string_view(text).substr(0, equals));
        output.push_back(':');
        if (equals == text.npos)
            output.append("null");
        else
            api::append_string(output, std::string_view(text).substr(equals + 1));
    }
    output.push_back('}');
    return {};
}

// The lifetime in seconds.
base::result<std::int64_t> lifetime_of(std::string const& text) {
    if (!text.empty() && text.find_first_not_of("0123456789") == text.npos)
        return base::error{"--expires-in " + text + " has no unit: write " + text + "d for days, " +
                           text + "h for hours, or m or s for minutes or seconds"};
    auto const seconds = base::parse_duration(text);
    if (!seconds || *seconds < base::limits::ttl_seconds_min ||
        *seconds > base::limits::ttl_seconds_max)
        return base::error{
            "--expires-in must be a number with a unit (s, m, h or d), from 60s to 1825d (5 "
            "years), such as 90d or 12h"};
    return *seconds;
}

// A time, or `none` for null.
base::result<void> append_time(json_members& body, std::string_view member,
                               std::string const& option, std::string const& text, bool is_new) {
    if (!is_new && text == "none") {
        body.name(member).append("null");
        return {};
    }
    if (!base::parse_timestamp(text))
        return base::error{option + " must be a time such as 2026-01-02T03:04:05Z" +
                           (is_new ? "" : ", or none")};
    body.text(member, text);
    return {};
}

}  // namespace

void key_options::add_to(CLI::App& command, bool is_new) {
    auto const add = [&](char const* flag, auto& value, std::string const& help) {
        return command.add_option(flag, value, help);
    };
    auto const add_many = [&](char const* flag, auto& values, std::string const& help) {
        return add(flag, values, help)
            ->expected(1)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    };
    std::string const none = is_new ? "" : "; none removes it";
    auto* const name_option = add("--name", name, "What the key is for");
    if (is_new) name_option->required();
    add_scopes(command, scopes,
               is_new ? "Scopes of the key, with commas between them (default: users:read and "
                        "posts:read; '*' allows everything)"
                      : "Scopes of the key, with commas between them, which replace those that it "
                        "has");
    add_many("--limit", limits,
             std::string("A rate limit, NAME=LIMIT/SECONDS or NAME=LIMIT/SECONDS/BURST; repeat for "
                         "more") +
                 (is_new ? " (default: minute=600/60 and hour=20000/3600)"
                         : ", which replace those that it has"));
    command.add_flag("--unlimited", unlimited, "No rate limits");
    add_many("--ip-allow", networks,
             std::string("A network or address from which the key works, such as 10.0.0.0/8; "
                         "repeat for more") +
                 (is_new ? " (default: anywhere)" : ", which replace those that it has"));
    if (!is_new) command.add_flag("--ip-anywhere", anywhere, "The key works from anywhere");
    add("--expires-in", expires_in,
        is_new ? "Lifetime, such as 90d or 12h (default: the key never expires)"
               : "Lifetime from now on, such as 90d or 12h");
    take_time(add("--expires-at", expires_at,
                  "Time from which the key is refused, such as 2026-01-02T03:04:05Z or 2026-01-02" +
                      none))
        ->excludes("--expires-in");
    take_time(add("--not-before", not_before,
                  "Time before which the key is refused, in the same form" + none));
    add_many(
        "--metadata", metadata,
        std::string("NAME=VALUE, kept with the key and shown by keys verify; repeat for more") +
            (is_new ? "" : "; NAME alone removes it"));
    add("--environment", environment,
        std::string("development, staging or production") +
            (is_new ? " (default: development)" : ""))
        ->type_name("{development,staging,production}");
}

base::result<void> key_options::append_to(json_members& body, bool is_new,
                                          base::wall_ms now) const {
    if (!name.empty() || is_new) body.text("name", name);
    if (!environment.empty()) body.text("environment", environment);
    if (!scopes.empty()) body.texts("scopes", scopes);
    if (unlimited && !limits.empty())
        return base::error{"--unlimited and --limit exclude each other"};
    if (unlimited || !limits.empty())
        if (auto const appended = append_limits(body, limits); !appended) return appended;
    if (anywhere && !networks.empty())
        return base::error{"--ip-anywhere and --ip-allow exclude each other"};
    if (anywhere || !networks.empty()) body.texts("ip_allowlist", networks);
    if (!metadata.empty())
        if (auto const appended = append_metadata(body, metadata, is_new); !appended)
            return appended;
    if (!not_before.empty())
        if (auto const appended =
                append_time(body, "not_before", "--not-before", not_before, is_new);
            !appended)
            return appended;
    if (!expires_at.empty())
        return append_time(body, "expires_at", "--expires-at", expires_at, is_new);
    if (expires_in.empty()) return {};
    auto const seconds = lifetime_of(expires_in);
    if (!seconds) return seconds.error();
    if (is_new)
        api::append_number(body.name("expires_in"), *seconds);
    else
        api::append_timestamp(body.name("expires_at"), now + *seconds * 1000);
    return {};
}

}  // namespace latchkey::cli
