// keys create.
#include <algorithm>

#include "api/key_json.hpp"
#include "auth/key_form.hpp"
#include "base/log.hpp"
#include "cli/keys.hpp"

namespace latchkey::cli {
namespace {

struct create_options : key_command {
    std::string name;
    std::string project = "default";
    std::string environment = "development";
    std::vector<std::string> scopes;
    std::vector<std::string> limits;
    std::string expires_in;
    bool unlimited = false;
};

// "minute=600/60"
std::optional<model::rate_limit> parse_limit(std::string const& text) {
    auto const equals = text.find('='), slash = text.find('/');
    if (equals == text.npos || slash == text.npos || slash < equals) return std::nullopt;
    model::rate_limit made;
    made.name = text.substr(0, equals);
    auto const number = [](std::string_view digits, std::uint32_t most) -> std::uint32_t {
        auto const value = base::parse_duration(digits).value_or(0);
        return value > 0 && value <= most && digits.find_first_not_of("0123456789") == digits.npos
                   ? static_cast<std::uint32_t>(value)
                   : 0;
    };
    made.limit = number(std::string_view(text).substr(equals + 1, slash - equals - 1),
                        model::rate_limit_max);
    made.window_seconds =
        number(std::string_view(text).substr(slash + 1), model::rate_window_seconds_max);
    if (!model::is_limit_name(made.name) || made.limit == 0 || made.window_seconds == 0)
        return std::nullopt;
    return made;
}

// The record that the options describe; a sentence when they do not describe one.
base::result<model::key> describe(create_options const& options, base::wall_ms now) {
    model::key record;
    record.name = options.name;
    record.project = options.project;
    auto const points = model::points_of(options.name);
    if (points == 0 || points > model::key_name_points_max ||
        model::has_control_character(options.name))
        return base::error{"--name must be 1 to 100 characters without control characters"};
    if (!model::is_project(options.project))
        return base::error{"--project must be 1 to 64 of a-z, 0-9 and -"};
    auto const environment = model::find_environment(options.environment);
    if (!environment)
        return base::error{"--environment must be development, staging or production"};
    record.environment = *environment;
    for (auto const& scope : options.scopes)
        if (!record.scopes.add(scope))
            return base::error{"there is no scope '" + scope +
                               "'; write users:read, posts:*, *:read, * or the like"};
    if (options.scopes.empty()) record.scopes.add("users:read"), record.scopes.add("posts:read");
    if (options.unlimited && !options.limits.empty())
        return base::error{"--unlimited and --limit contradict each other"};
    if (options.unlimited || !options.limits.empty()) record.rate_limits.clear();
    for (auto const& text : options.limits) {
        auto const limit = parse_limit(text);
        if (!limit) return base::error{"--limit must be NAME=LIMIT/SECONDS, such as minute=600/60"};
        record.rate_limits.push_back(*limit);
    }
    if (record.rate_limits.size() > model::rate_limits_max)
        return base::error{"a key has 8 limits at most"};
    for (auto const& each : record.rate_limits)
        if (std::count_if(record.rate_limits.begin(), record.rate_limits.end(),
                          [&](auto const& other) { return other.name == each.name; }) != 1)
            return base::error{"two limits are called '" + each.name + "'"};
    if (!options.expires_in.empty()) {
        auto const seconds = base::parse_duration(options.expires_in);
        if (!seconds || *seconds < 60 || *seconds > 157'680'000)
            return base::error{"--expires-in must be 60 seconds to 5 years, such as 90d or 12h"};
        record.expires_at = now + *seconds * 1000;
    }
    return record;
}

int create(create_options const& options) {
    auto record = describe(options, base::read_clocks().wall);
    if (!record) return say_wrong(record.error().message);
    int code = done;
    server::config configured;
    auto const store = open_store(options, code, false, &configured);
    if (store == nullptr) return code;
    auth::fresh_key const key(configured.keys_prefix);
    record->digest = auth::digest_of(key.text());
    record->start = key.text().substr(0, api::key_start_bytes);
    record->last4 = key.text().substr(key.text().size() - 4);
    bool const eternal = record->expires_at == 0;
    auto const made = apply_one(*store, store::create_key{std::move(*record)});
    if (!made) return say_failed("the key was not created: " + made.error().message);
    print_key(*made, key.text(), options.json);
    if (eternal) base::say("this key never expires; --expires-in 30d to 90d is recommended");
    return done;
}

}  // namespace

void add_keys_create(CLI::App& keys, int& code) {
    auto* const made = keys.add_subcommand("create", "Make a key and show it, once");
    auto const options = std::make_shared<create_options>();
    options->add_to(*made, {"keys.prefix"});
    made->add_option("--name", options->name, "What the key is for")->required();
    made->add_option("--scope", options->scopes,
                     "What it may do, may be repeated (users:read and posts:read unless given; '*' "
                     "is everything)")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    made->add_option(
            "--limit", options->limits,
            "NAME=LIMIT/SECONDS, may be repeated (minute=600/60 and hour=20000/3600 unless given)")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    made->add_flag("--unlimited", options->unlimited, "No rate limits");
    made->add_option("--expires-in", options->expires_in,
                     "Lifetime, such as 90d or 12h (for ever unless given)");
    made->add_option("--project", options->project, "Project that the key belongs to")
        ->capture_default_str();
    made->add_option("--environment", options->environment, "development, staging or production")
        ->capture_default_str();
    made->footer(
        "Example: latchkey keys create --name ci --scope 'users:*' --scope posts:read --expires-in "
        "90d");
    made->callback([options, &code] { code = create(*options); });
}

}  // namespace latchkey::cli
