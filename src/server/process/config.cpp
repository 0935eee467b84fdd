// The table holds pointers to members of `config`, so one visitor prints, checks or sets any of
// them. Numbers are checked by the bounds of the table; what concerns form, or several settings,
// has a function each. All faults are collected, each with the setting that it belongs to. The
// functions at the end turn settings into the options of the layers below.
#include "server/process/config.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "api/docs/documents.hpp"
#include "api/exchange/deprecation.hpp"
#include "api/exchange/protected_resource.hpp"
#include "auth/key_form.hpp"
#include "base/ascii.hpp"
#include "base/limits.hpp"
#include "limit/auth_failure_limiter.hpp"
#include "server/client_folder.hpp"
#include "server/process/cluster_checks.hpp"
#include "server/process/cores.hpp"
#include "server/process/trace_checks.hpp"

namespace latchkey::server {
namespace {

// Marks a setting that only a restart changes.
constexpr setting at_start(setting entry) {
    entry.restart = true;
    return entry;
}

// Marks a file that may come as a credential of the service manager.
constexpr setting from_credential(setting entry) {
    entry.credential = true;
    return entry;
}

constexpr setting table[] = {
    at_start({"data", &config::data,
              "directory of the store, the keys and the self-signed certificate"}),
    at_start(
        {"listen", &config::listen,
         "where to listen: https://HOST:PORT, http://HOST:PORT (loopback or behind a trusted proxy "
         "only), unix:PATH, fd:NAME for sockets that systemd passes in; with ?proxy=v2 appended, "
         "connections from trusted_proxies (or to the Unix "
         "socket) begin with a PROXY protocol v2 header, and all others are closed"}),
    at_start({"workers", &config::workers, "worker threads; 0 is one per core", 0, 1024}),
    at_start(
        {"management", &config::management,
         "HOST:PORT where /livez, /readyz and /metrics are served, over plain HTTP and without "
         "authentication; off for none; empty is 127.0.0.1:9464, if that is free"}),
    {"access_log", &config::access_log,
     "file of the access log, - for standard output, off for none; empty is access.log in the data "
     "directory"},
    {"log.format", &config::log_format,
     "form of the service's own messages on standard error: text, or json for one object per line "
     "with ts, level and message"},
    {"log.level", &config::log_level,
     "the least level of these messages that is written: info, warning or error"},
    {"base_url", &config::base_url,
     "origin for links and problem types, such as https://api.example.com; empty makes them "
     "relative"},
    at_start({"clients_folder", &config::clients_folder,
              "folder with the client libraries that /docs/clients hands out; empty: none"}),
    {"trusted_proxies", &config::trusted_proxies,
     "networks (CIDR) whose X-Forwarded-For, X-Forwarded-Proto and PROXY header are trusted"},
    {"console", &config::console,
     "serve the console at /console, where a key is exchanged for a session of the browser"},
    {"deprecated", &config::deprecated,
     "deprecated routes, each as \"GET /api/v1/users since=2026-12-01T00:00:00Z "
     "sunset=2027-06-01T00:00:00Z link=https://example.com/why\"; their responses carry "
     "Deprecation, Sunset and Link"},
    at_start({"connections", &config::connections, "maximum of open connections per worker", 1,
              1'000'000}),
    at_start(
        {"confined", &config::confined,
         "end the process at any system call that the service does not make (seccomp), restrict it "
         "to its own files (Landlock) and hide its memory from all but root; false is for "
         "debugging"}),
    {"http2", &config::http2,
     "speak HTTP/2: over TLS by ALPN, without TLS to clients with prior knowledge; false offers "
     "HTTP/1.1 alone"},
    from_credential({"tls.certificate", &config::tls_certificate,
                     "PEM file with the certificate chain; empty: a self-signed one is created"}),
    from_credential({"tls.key", &config::tls_key, "PEM file with the private key"}),
    {"auth.allow_query", &config::auth_allow_query,
     "accept the key as the query parameter api_key"},
    {"auth.allow_body", &config::auth_allow_body,
     "accept the key as the member api_key of a POST's JSON body"},
    {"auth.failures_per_minute", &config::auth_failures_per_minute,
     "failed authentications with unknown keys that an address (IPv6: a /64) has in a minute "
     "before "
     "it is refused for 60 seconds, and longer each time; 0 is no limit",
     0, limit::auth_failure_limiter::per_minute_max},
    {"keys.prefix", &config::keys_prefix, "the four characters at the start of new keys"},
    {"keys.default_ttl", &config::keys_default_ttl,
     "lifetime of keys that are created over HTTP without an expiry, such as 90d; empty: none"},
    from_credential(at_start(
        {"keys.first_key_file", &config::keys_first_key_file,
         "file whose text becomes the first key, with all scopes, of a store without keys; where "
         "the file is not there, a new key is made and written to it; empty: keys create makes the "
         "first key"})),
    at_start({"events.retention_days", &config::events_retention_days,
              "days that received webhook events are kept", 1, 36'500}),
    at_start({"changes.enabled", &config::changes_enabled,
              "record what happens, for GET /api/v1/changes and webhooks; changes = false is short "
              "for it"}),
    at_start({"changes.retention_days", &config::changes_retention_days,
              "days that changes are kept", 1, 36'500}),
    at_start({"changes.max", &config::changes_max, "how many changes are kept at most", 1'000,
              10'000'000'000}),
    at_start(
        {"changes.max_mib", &config::changes_max_mib,
         "how much of the store changes take at most, a quarter of that while it is full; 0: a "
         "quarter of store.map_mib",
         0, 16ull << 20}),
    {"changes.streams", &config::changes_streams,
     "maximum of open streams of changes; beyond, they are refused with 503", 0, 1'000'000},
    at_start({"changes.expiring_days", &config::changes_expiring_days,
              "days before the expiry of a key on which key.expiring tells of it", 1, 3650}),
    at_start({"changes.unused_days", &config::changes_unused_days,
              "days without a use of a key after which key.unused tells of it; 0 is never", 0,
              3650}),
    at_start({"webhooks.allow_private", &config::webhooks_allow_private,
              "networks (CIDR) that webhooks may reach although they are not public"}),
    {"http.request_line_bytes", &config::http_request_line_bytes,
     "maximum length of a request line", 256, 32 * 1024},
    {"http.header_bytes", &config::http_header_bytes, "maximum size of a header section", 1024,
     32 * 1024 - 1},
    {"http.body_bytes", &config::http_body_bytes, "maximum size of a body", 1024, 64 * 1024 * 1024},
    {"http.header_seconds", &config::http_header_seconds,
     "time for a header section to arrive; the first one's starts with the connection", 1, 3600},
    {"http.body_seconds", &config::http_body_seconds, "time for a body to arrive", 1, 3600},
    {"http.idle_seconds", &config::http_idle_seconds,
     "time of idleness between requests; more than a balancer in front allows", 1, 86'400},
    {"http.handshake_seconds", &config::http_handshake_seconds, "time for a TLS handshake", 1,
     3600},
    {"http.send_seconds", &config::http_send_seconds,
     "time for the client to read 1/64 of what waits for it", 1, 3600},
    at_start(
        {"http.connections_per_address", &config::http_connections_per_address,
         "maximum of open connections per client address (IPv6: a /64), over all workers; further "
         "ones are closed at once; trusted proxies have no limit; 0 is no limit",
         0, 1'000'000}),
    {"http.streams", &config::http_streams,
     "maximum of requests in progress on one HTTP/2 connection", 1, 1024},
    {"http.window_bytes", &config::http_window_bytes,
     "flow-control window of an HTTP/2 stream: bytes of a body that a client may send without "
     "waiting",
     64 * 1024, 16 * 1024 * 1024},
    {"http.header_table_bytes", &config::http_header_table_bytes,
     "size of the table in which an HTTP/2 client may keep header fields (HPACK)", 0, 64 * 1024},
    {"overload.requests_in_flight", &config::overload_requests_in_flight,
     "authenticated requests of one worker that wait for their body or their commit; beyond, new "
     "ones are answered 503",
     1, 1'000'000},
    {"overload.queued_mib", &config::overload_queued_mib,
     "memory for the connections of one worker, in MiB: unread requests, bodies, commits and "
     "unsent "
     "responses; from half of it on, slow readers are reset, responses of over 4 KiB need a key, "
     "and who holds as much as is left is answered 503; beyond it the largest holders are reset, "
     "and it is never exceeded by more than a quarter",
     1, 1024 * 1024},
    at_start({"store.map_mib", &config::store_map_mib,
              "address space of the store in MiB, the maximum that it can grow to", 16,
              16 * 1024 * 1024}),
    from_credential(
        at_start({"store.master_key_file", &config::store_master_key_file,
                  "file with the master key of the store, 32 bytes; every command that opens the "
                  "store needs it too; empty: master.key in the data directory, made at the first "
                  "start"})),
    {"store.require_if_match", &config::store_require_if_match,
     "refuse PUT, PATCH and DELETE without If-Match (428), so that no update is lost"},
    at_start({"cluster.postgres", &config::cluster_postgres,
              "PostgreSQL that holds the log of a cluster, as a URL "
              "(postgresql://user@host1,host2/database) or keywords, without a password: that "
              "comes from cluster.password_file, passfile=FILE, ~/.pgpass or PGPASSWORD; empty: "
              "this store is alone"}),
    at_start({"cluster.name", &config::cluster_name,
              "name of this node, unique in its cluster; empty: the name of the host"}),
    from_credential(at_start({"cluster.password_file", &config::cluster_password_file,
                              "file with the password of the role in PostgreSQL"})),
    at_start({"cluster.lease_seconds", &config::cluster_lease_seconds,
              "how long this node answers requests without hearing from PostgreSQL; whoever turns "
              "a key off waits that long for a node that does not answer",
              3, 600}),
    at_start({"tracing.endpoint", &config::tracing_endpoint,
              "URL to which spans of requests are sent by OTLP over HTTP, such as "
              "http://127.0.0.1:4318/v1/traces; empty: none are"}),
    {"tracing.sample_ratio", &config::tracing_sample_ratio,
     "part of the requests without a traceparent of which a span is sent, 0 to 1; with one, its "
     "flag \"sampled\" decides"},
    {"tracing.service_name", &config::tracing_service_name, "service.name of the spans"},
    from_credential({"tracing.headers_file", &config::tracing_headers_file,
                     "file with header fields for the endpoint, one in each line, such as "
                     "Authorization: Bearer abc"}),
    {"stop.drain_delay_seconds", &config::stop_drain_delay_seconds,
     "how long to continue accepting after SIGTERM, for load balancers to notice", 0, 3600},
    {"stop.grace_seconds", &config::stop_grace_seconds,
     "time for requests in flight to finish after that", 1, 3600},
};

constexpr std::size_t expiring_days_max = 16;

// The shortest text that is read as the same number, with a point, as TOML has it.
std::string fraction_text(double value) {
    char digits[32];
    auto const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    std::string text(digits, end);
    return text.find_first_of(".en") == text.npos ? text + ".0" : text;
}

using setting_errors = std::vector<setting_error>;

void check_numbers(config const& configuration, setting const& entry, setting_errors& all) {
    auto const is_in_range = [&](std::uint64_t each) {
        return each >= entry.least && each <= entry.most;
    };
    auto const message = std::string(entry.name) + " must be from " + std::to_string(entry.least) +
                         " to " + std::to_string(entry.most);
    if (auto const* const member = std::get_if<std::uint64_t config::*>(&entry.member))
        if (!is_in_range(configuration.**member)) all.push_back({entry.name, message});
    if (auto const* const list = std::get_if<std::vector<std::uint64_t> config::*>(&entry.member))
        for (std::size_t i = 0; auto const each : configuration.**list) {
            if (!is_in_range(each))
                all.push_back({entry.name, message + ", not " + std::to_string(each), i});
            ++i;
        }
}

// `check` judges each element of a list.
template <class Check>
void check_elements(std::string_view setting, std::vector<std::string> const& texts,
                    setting_errors& all, Check check) {
    for (std::size_t i = 0; i < texts.size(); ++i)
        if (base::result<void> const outcome = check(texts[i]); !outcome)
            all.push_back({setting, outcome.error().message, i});
}

base::result<void> validate_listener(std::string const& text, config const& configuration) {
    auto const address = parse_listen_address(text);
    if (!address) return base::error{"listen: " + address.error().message};
    if (auto const safe = validate_plain(*address, configuration); !safe) return safe;
    if (address->proxy && address->scheme != listen_address::kind::unix_socket &&
        configuration.trusted_proxies.empty())
        return base::error{"listen: " + text +
                           " would trust no PROXY header and close every connection; name the "
                           "proxy in trusted_proxies"};
    return {};
}

base::result<void> validate_management(config const& configuration) {
    if (configuration.management.empty() || configuration.management == "off") return {};
    auto const address = parse_listen_address("http://" + configuration.management);
    if (address && !address->proxy) return {};
    return base::error{"management: '" + configuration.management +
                       "' is not HOST:PORT, such as 127.0.0.1:9464, nor off"};
}

void check_networks(std::string_view setting, std::vector<std::string> const& texts,
                    setting_errors& all) {
    check_elements(setting, texts, all, [&](std::string const& text) -> base::result<void> {
        if (model::cidr::parse(text)) return {};
        return base::error{std::string(setting) + ": '" + text +
                           "' is not a network such as 10.0.0.0/8 or ::1"};
    });
}

base::result<void> validate_expiring_days(config const& configuration) {
    if (configuration.changes_expiring_days.size() <= expiring_days_max) return {};
    return base::error{"changes.expiring_days must be at most " +
                       std::to_string(expiring_days_max) + " numbers"};
}

base::result<void> validate_deprecation(std::string const& text) {
    auto const route = api::parse_deprecation(text);
    if (!route) return base::error{"deprecated: " + route.error().message};
    return {};
}

base::result<void> validate_ttl(std::string const& text) {
    auto const ttl = base::parse_duration(text).value_or(0);
    if (!text.empty() && text.find_first_not_of("0123456789") == text.npos)
        return base::error{"keys.default_ttl " + text + " has no unit: write " + text +
                           "d for days, or h, m or s for hours, minutes or seconds"};
    if (text.empty() ||
        (ttl >= base::limits::ttl_seconds_min && ttl <= base::limits::ttl_seconds_max))
        return {};
    return base::error{"keys.default_ttl must be 60 seconds to 5 years, such as 90d"};
}

base::result<void> validate_base_url(std::string const& url) {
    if (!url.empty() && !base::begins_ignoring_case(url, "https://") &&
        !base::begins_ignoring_case(url, "http://"))
        return base::error{"base_url must begin with https:// (or http://)"};
    if (!url.ends_with('/') && url.find_first_of(" \r\n\t<>\"") == std::string::npos) return {};
    return base::error{
        "base_url must be an origin without a slash at its end, such as https://api.example.com"};
}

}  // namespace

std::span<setting const> setting_table() {
    return table;
}

std::string to_toml(config const& configuration, setting const& entry) {
    return std::visit(
        [&](auto member) -> std::string {
            auto const& value = configuration.*member;
            using value_type = std::remove_cvref_t<decltype(value)>;
            if constexpr (std::same_as<value_type, std::string>) return toml_string(value);
            if constexpr (std::same_as<value_type, bool>) return value ? "true" : "false";
            if constexpr (std::same_as<value_type, std::uint64_t>) return std::to_string(value);
            if constexpr (std::same_as<value_type, double>) return fraction_text(value);
            std::string list;
            if constexpr (std::same_as<value_type, std::vector<std::string>>)
                for (auto const& element : value)
                    list += (list.empty() ? "" : ", ") + toml_string(element);
            if constexpr (std::same_as<value_type, std::vector<std::uint64_t>>)
                for (auto const element : value)
                    list += (list.empty() ? "" : ", ") + std::to_string(element);
            return "[" + list + "]";
        },
        entry.member);
}

std::string variable_of(setting const& entry) {
    std::string name = "LATCHKEY_";
    for (char const each : entry.name)
        name +=
            each == '.' ? '_' : static_cast<char>(each >= 'a' && each <= 'z' ? each - 32 : each);
    return name;
}

std::string_view credential_of(setting const& entry) {
    constexpr std::string_view suffix = "_file";
    auto name = entry.name;
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
    return name;
}

std::vector<setting_error> find_errors(config const& configuration) {
    setting_errors all;
    auto const check = [&](std::string_view setting, base::result<void> const& outcome) {
        if (!outcome) all.push_back({setting, outcome.error().message});
    };
    for (auto const& entry : table) check_numbers(configuration, entry, all);
    check("changes.expiring_days", validate_expiring_days(configuration));
    check_networks("trusted_proxies", configuration.trusted_proxies, all);
    check_networks("webhooks.allow_private", configuration.webhooks_allow_private, all);
    check_elements("deprecated", configuration.deprecated, all, validate_deprecation);
    if (configuration.tls_certificate.empty() != configuration.tls_key.empty())
        check(configuration.tls_key.empty() ? "tls.certificate" : "tls.key",
              base::error{"tls.certificate and tls.key belong together; only one of them is set"});
    if (configuration.log_format != "text" && configuration.log_format != "json")
        check("log.format", base::error{"log.format must be text or json"});
    if (!base::find_severity(configuration.log_level))
        check("log.level", base::error{"log.level must be info, warning or error"});
    check("keys.default_ttl", validate_ttl(configuration.keys_default_ttl));
    if (!auth::is_key_prefix(configuration.keys_prefix))
        check("keys.prefix", base::error{"keys.prefix must be 4 characters of 0-9, A-Z, a-z"});
    check("base_url", validate_base_url(configuration.base_url));
    check("management", validate_management(configuration));
    std::ranges::move(find_errors(configuration.jwt), std::back_inserter(all));
    check("cluster.postgres", validate_postgres(configuration.cluster_postgres));
    check("cluster.name", validate_node_name(configuration.cluster_name));
    check("tracing.endpoint", validate_trace_endpoint(configuration.tracing_endpoint));
    check("tracing.sample_ratio", validate_sample_ratio(configuration.tracing_sample_ratio));
    check("tracing.service_name", validate_service_name(configuration.tracing_service_name));
    if (configuration.listen.empty()) check("listen", base::error{"listen names no address"});
    check_elements("listen", configuration.listen, all,
                   [&](std::string const& text) { return validate_listener(text, configuration); });
    return all;
}

base::result<void> validate(config const& configuration) {
    std::string text;
    for (auto const& each : find_errors(configuration))
        text.append(text.empty() ? "" : "; ").append(each.message);
    if (text.empty()) return {};
    return base::error{std::move(text)};
}

api::settings interface_settings(config const& configuration) {
    api::settings result;
    result.base_url = configuration.base_url;
    result.allow_query = configuration.auth_allow_query;
    result.allow_body = configuration.auth_allow_body;
    for (auto const& text : configuration.trusted_proxies)
        result.trusted_proxies.push_back(*model::cidr::parse(text));
    for (auto const& text : configuration.webhooks_allow_private)
        result.webhook_networks.push_back(*model::cidr::parse(text));
    for (auto const& text : configuration.deprecated)
        result.deprecations.push_back(api::parse_deprecation(text).value());
    result.console = configuration.console;
    result.records_changes = configuration.changes_enabled;
    result.streams_max = configuration.changes_streams;
    result.key_prefix = configuration.keys_prefix;
    result.key_ttl_seconds = base::parse_duration(configuration.keys_default_ttl).value_or(0);
    result.strict_transport_security = !configuration.tls_certificate.empty();
    result.in_cluster = !configuration.cluster_postgres.empty();
    result.require_if_match = configuration.store_require_if_match;
    result.body_bytes_max = configuration.http_body_bytes;
    result.request_line_bytes_max = configuration.http_request_line_bytes;
    result.header_bytes_max = configuration.http_header_bytes;
    std::vector<std::string> issuers;
    for (auto const& each : configuration.jwt) issuers.push_back(each.issuer);
    api::describe_protected_resource(issuers, result);
    result.documents =
        api::make_documents(result, read_client_folder(configuration.clients_folder));
    return result;
}

http::size_limits parser_limits(config const& configuration) {
    return {.request_line_bytes_max = configuration.http_request_line_bytes,
            .header_bytes_max = configuration.http_header_bytes,
            .body_bytes_max = configuration.http_body_bytes};
}

session::http2_options http2_options(config const& configuration) {
    return {.enabled = configuration.http2,
            .streams_max = static_cast<std::uint32_t>(configuration.http_streams),
            .header_table_bytes = static_cast<std::uint32_t>(configuration.http_header_table_bytes),
            .window_bytes = static_cast<std::uint32_t>(configuration.http_window_bytes)};
}

store::key_time_rules key_time_rules(config const& configuration) {
    auto const length_of = [](std::uint64_t days) {
        return static_cast<std::int64_t>(days) * store::key_time_rules::day_ms;
    };
    store::key_time_rules rules{.expiring_ms = {},
                                .unused_ms = length_of(configuration.changes_unused_days)};
    for (auto const days : configuration.changes_expiring_days)
        rules.expiring_ms.push_back(length_of(days));
    return rules;
}

store::environment_options store_options(config const& configuration) {
    auto const milliseconds = [](std::uint64_t days) {
        return static_cast<std::int64_t>(days) * store::key_time_rules::day_ms;
    };
    return {.directory = configuration.data,
            .master_key_file = configuration.store_master_key_file,
            .map_bytes = configuration.store_map_mib << 20,
            .for_server = true,
            .event_retention_ms = milliseconds(configuration.events_retention_days),
            .records_changes = configuration.changes_enabled,
            .change_retention_ms = milliseconds(configuration.changes_retention_days),
            .changes_max = configuration.changes_max,
            .changes_bytes_max = configuration.changes_max_mib << 20,
            .key_times = key_time_rules(configuration)};
}

std::vector<listen_address> listen_addresses(config const& configuration) {
    std::vector<listen_address> all;
    for (auto const& text : configuration.listen) all.push_back(parse_listen_address(text).value());
    leave_v4_to_others(all);
    return all;
}

base::result<void> validate_plain(listen_address const& address, config const& configuration) {
    if (address.scheme != listen_address::kind::http || address.host.is_loopback() ||
        !configuration.trusted_proxies.empty())
        return {};
    return base::error{
        "listen: " + address.url() +
        " would take API keys without TLS; use https://, a loopback address, or name in "
        "trusted_proxies the proxy in front that speaks TLS"};
}

std::optional<listen_address> management_address(config const& configuration) {
    if (configuration.management == "off") return std::nullopt;
    std::string address = configuration.management;
    if (address.empty()) address = management_default;
    return parse_listen_address("http://" + address).value();
}

unsigned worker_count(config const& configuration) {
    return configuration.workers != 0 ? static_cast<unsigned>(configuration.workers)
                                      : usable_cores();
}

base::log_style log_style_of(config const& configuration) {
    return {.json = configuration.log_format == "json",
            .least = base::find_severity(configuration.log_level).value_or(base::severity::info)};
}

std::string access_log_path(config const& configuration) {
    if (configuration.access_log == "off") return "";
    return configuration.access_log.empty() ? configuration.data + "/access.log"
                                            : configuration.access_log;
}

}  // namespace latchkey::server
