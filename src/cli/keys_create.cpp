// keys create.
#include <algorithm>

#include "api/resources/key_json.hpp"
#include "auth/key_form.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "cli/keys.hpp"
#include "cli/print.hpp"
#include "cli/store_command.hpp"
#include "model/utf8.hpp"

namespace latchkey::cli {
namespace {

struct create_options : store_command {
    std::string name;
    std::string project = "default";
    std::string environment = "development";
    std::vector<std::string> scopes;
    std::vector<std::string> limits;
    std::string expires_in;
    std::string issuer, subject;  // of the tokens; empty: a key is created
    bool unlimited = false;
};

// "minute=600/60"
std::optional<model::rate_limit> parse_limit(std::string const& text) {
    auto const equals = text.find('='), slash = text.find('/');
    if (equals == text.npos || slash == text.npos || slash < equals) return std::nullopt;
    model::rate_limit result;
    result.name = text.substr(0, equals);
    auto const number = [](std::string_view digits, std::uint32_t maximum) -> std::uint32_t {
        auto const value = base::parse_duration(digits).value_or(0);
        return value > 0 && value <= maximum &&
                       digits.find_first_not_of("0123456789") == digits.npos
                   ? static_cast<std::uint32_t>(value)
                   : 0;
    };
    result.limit = number(std::string_view(text).substr(equals + 1, slash - equals - 1),
                          model::rate_limit_max);
    result.window_seconds =
        number(std::string_view(text).substr(slash + 1), model::rate_window_seconds_max);
    if (!model::is_limit_name(result.name) || result.limit == 0 || result.window_seconds == 0)
        return std::nullopt;
    return result;
}

// The record that the options describe; the error is a sentence. `expires_at` holds the lifetime
// until the store's time is known.
base::result<model::key> describe(create_options const& options) {
    model::key record;
    record.name = options.name;
    record.project = options.project;
    auto const points = model::code_point_count(options.name);
    if (points == 0 || points > model::key_name_points_max ||
        model::has_control_character(options.name) || model::is_blank(options.name))
        return base::error{
            "--name must be 1 to 100 characters, without control characters and not only white "
            "space"};
    if (!model::is_project(options.project))
        return base::error{"--project must be 1 to 64 of a-z, 0-9 and -"};
    auto const environment = model::find_environment(options.environment);
    if (!environment)
        return base::error{"--environment must be development, staging or production"};
    record.environment = *environment;
    for (auto const& scope : options.scopes)
        if (!record.scopes.add(scope))
            return base::error{"there is no scope '" + scope +
                               "': use a scope such as users:read, posts:*, *:read or *"};
    if (options.scopes.empty()) {
        record.scopes.add("users:read");
        record.scopes.add("posts:read");
    }
    if (options.issuer.empty() != options.subject.empty())
        return base::error{"--jwt-issuer and --jwt-subject belong together"};
    if (!options.issuer.empty()) {
        if (!model::is_claim_text(options.issuer, model::issuer_bytes_max) ||
            !model::is_claim_text(options.subject, model::subject_bytes_max))
            return base::error{
                "--jwt-issuer has at most 512 bytes, --jwt-subject at most 255, without control "
                "characters"};
        record.kind = model::key_kind::jwt;
        record.issuer = options.issuer;
        record.subject = options.subject;
        record.digest = auth::digest_of(model::bearer_identity(record.issuer, record.subject));
    }
    if (options.unlimited && !options.limits.empty())
        return base::error{"--unlimited and --limit exclude each other"};
    if (options.unlimited || !options.limits.empty()) record.rate_limits.clear();
    for (auto const& text : options.limits) {
        auto const limit = parse_limit(text);
        if (!limit) return base::error{"--limit must be NAME=LIMIT/SECONDS, such as minute=600/60"};
        record.rate_limits.push_back(*limit);
    }
    if (record.rate_limits.size() > model::rate_limits_max)
        return base::error{"a key can have at most 8 limits"};
    for (auto const& each : record.rate_limits)
        if (std::count_if(record.rate_limits.begin(), record.rate_limits.end(),
                          [&](auto const& other) { return other.name == each.name; }) != 1)
            return base::error{"two limits have the name '" + each.name + "'"};
    if (!options.expires_in.empty()) {
        auto const seconds = base::parse_duration(options.expires_in);
        if (!seconds || *seconds < base::limits::ttl_seconds_min ||
            *seconds > base::limits::ttl_seconds_max)
            return base::error{"--expires-in must be 60 seconds to 5 years, such as 90d or 12h"};
        record.expires_at = *seconds * 1000;
    }
    return record;
}

int create(create_options const& options) {
    auto record = describe(options);
    if (!record) return report_usage_error(record.error().message);
    int code = done;
    server::config configuration;
    auto const store = open_store(options, code, store_access::writes, &configuration);
    if (store == nullptr) return code;
    bool const has_secret = record->kind == model::key_kind::secret;
    auth::fresh_key const key(configuration.keys_prefix);
    if (has_secret) {
        record->digest = auth::digest_of(key.text());
        record->start = key.text().substr(0, api::key_start_bytes);
        record->last4 = key.text().substr(key.text().size() - 4);
    }
    bool const unlimited_lifetime = record->expires_at == 0;
    if (!unlimited_lifetime) record->expires_at += store->time();
    auto const outcome = apply_one(*store, store::create_key{std::move(*record)});
    if (!outcome) return report_failure("the key was not created: " + outcome.error().message);
    print_key(*outcome, has_secret ? key.text() : "", options.json);
    if (unlimited_lifetime && has_secret)
        base::log(
            "this key never expires; a lifetime of 30 to 90 days is recommended (--expires-in "
            "90d)");
    return done;
}

}  // namespace

void add_keys_create(CLI::App& keys, int& code) {
    auto* const command = keys.add_subcommand("create", "Create a key and show it once");
    auto const options = std::make_shared<create_options>();
    options->add_to(*command, {"keys.prefix"});
    command->add_option("--name", options->name, "What the key is for")->required();
    command
        ->add_option("--scope", options->scopes,
                     "A scope of the key; repeat for more (default: users:read and posts:read; '*' "
                     "allows everything)")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command
        ->add_option(
            "--limit", options->limits,
            "NAME=LIMIT/SECONDS; repeat for more (default: minute=600/60 and hour=20000/3600)")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command->add_flag("--unlimited", options->unlimited, "No rate limits");
    command->add_option("--expires-in", options->expires_in,
                        "Lifetime, such as 90d or 12h (default: the key never expires)");
    command->add_option("--jwt-issuer", options->issuer,
                        "A record without a secret, for tokens of this issuer (claim iss)");
    command->add_option("--jwt-subject", options->subject,
                        "Whom these tokens are for (claim sub, or as jwt.subject says)");
    command->add_option("--project", options->project, "Project that the key belongs to")
        ->capture_default_str();
    command->add_option("--environment", options->environment, "development, staging or production")
        ->capture_default_str();
    command->footer(
        "Store the key now: it cannot be shown again. To replace it later: latchkey keys rotate.\n"
        "Example: latchkey keys create --name ci --scope 'users:*' --expires-in 90d");
    command->callback([options, &code] { code = create(*options); });
}

}  // namespace latchkey::cli
