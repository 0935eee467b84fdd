#include "server/config.hpp"

#include <algorithm>

#include "api/documents.hpp"
#include "auth/key_form.hpp"
#include "limit/failures.hpp"
#include "server/cores.hpp"

namespace latchkey::server {
namespace {

// A reload leaves it as it is.
constexpr setting at_start(setting which) {
    which.restart = true;
    return which;
}

constexpr setting table[] = {
    at_start({"data", &config::data,
              "directory of the store, the keys and the self-signed certificate"}),
    at_start(
        {"listen", &config::listen,
         "where to listen: https://HOST:PORT, http://HOST:PORT (loopback or behind a trusted proxy "
         "only), unix:PATH, fd:NAME for sockets that systemd hands in; with ?proxy=v2 behind it, "
         "connections from trusted_proxies (or to the Unix "
         "socket) begin with a PROXY protocol v2 header, and all others are closed"}),
    at_start({"workers", &config::workers, "worker threads; 0 is one per core", 0, 1024}),
    at_start({"management", &config::management,
              "HOST:PORT where /livez, /readyz and /metrics are served, over plain HTTP and to "
              "anyone who "
              "reaches it; off for none; empty is 127.0.0.1:9464, if that is free"}),
    {"access_log", &config::access_log,
     "file of the access log, - for standard output, off for none; empty is access.log in the data "
     "directory"},
    {"base_url", &config::base_url,
     "origin for links and problem types, such as https://api.example.com; empty makes them "
     "relative"},
    {"trusted_proxies", &config::trusted_proxies,
     "networks (CIDR) whose X-Forwarded-For, X-Forwarded-Proto and PROXY header are believed"},
    {"deprecated", &config::deprecated,
     "routes that are to go, each as \"GET /api/v1/users since=2026-12-01T00:00:00Z "
     "sunset=2027-06-01T00:00:00Z link=https://example.com/why\"; their answers carry Deprecation, "
     "Sunset and Link"},
    at_start({"connections", &config::connections, "open connections of one worker at most", 1,
              1'000'000}),
    at_start({"confined", &config::confined,
              "end the process at any system call that the service does not make, and let nobody "
              "but root look into its memory; false is for debugging it"}),
    {"tls.certificate", &config::tls_certificate,
     "PEM file with the certificate chain; empty makes a self-signed one"},
    {"tls.key", &config::tls_key, "PEM file with the private key"},
    {"auth.allow_query", &config::auth_allow_query,
     "accept the key as the query parameter api_key"},
    {"auth.allow_body", &config::auth_allow_body,
     "accept the key as the member api_key of a POST's JSON body"},
    {"auth.failures_per_minute", &config::auth_failures_per_minute,
     "unknown keys that an address (IPv6: a /64) may try in a minute before it is refused for 60 "
     "seconds, and longer each time; 0 is any number",
     0, limit::failures::per_minute_max},
    {"keys.prefix", &config::keys_prefix, "the four characters that new keys begin with"},
    {"keys.default_ttl", &config::keys_default_ttl,
     "lifetime of keys that are made over HTTP without an expiry, such as 90d; empty: none"},
    at_start({"events.retention_days", &config::events_retention_days,
              "how many days events from outside are kept", 1, 36'500}),
    {"http.request_line_bytes", &config::http_request_line_bytes,
     "length of a request line at most", 256, 32 * 1024},
    {"http.header_bytes", &config::http_header_bytes, "size of a header section at most", 1024,
     32 * 1024 - 1},
    {"http.body_bytes", &config::http_body_bytes, "size of a body at most", 1024, 64 * 1024 * 1024},
    {"http.header_seconds", &config::http_header_seconds, "time for a header section to arrive", 1,
     3600},
    {"http.body_seconds", &config::http_body_seconds, "time for a body to arrive", 1, 3600},
    {"http.idle_seconds", &config::http_idle_seconds,
     "time a connection may be idle between requests", 1, 86'400},
    {"http.handshake_seconds", &config::http_handshake_seconds, "time for a TLS handshake", 1,
     3600},
    {"http.send_seconds", &config::http_send_seconds,
     "time for the client to read 64 KiB of an answer", 1, 3600},
    at_start(
        {"http.connections_per_address", &config::http_connections_per_address,
         "open connections of one client address (IPv6: a /64) at most, over all workers; more are "
         "closed at once; trusted proxies have no limit; 0 is any number",
         0, 1'000'000}),
    {"overload.requests_in_flight", &config::overload_requests_in_flight,
     "requests of one worker that wait for their body or their commit; while there are more, new "
     "ones are answered 503",
     1, 1'000'000},
    {"overload.queued_mib", &config::overload_queued_mib,
     "what the connections of one worker may keep in memory, in MiB: requests not read yet, bodies "
     "and unsent answers; while it is more, new requests are answered 503",
     1, 1024 * 1024},
    at_start({"store.map_mib", &config::store_map_mib,
              "address space of the store in MiB, the most that it can grow to", 16,
              16 * 1024 * 1024}),
    {"store.require_if_match", &config::store_require_if_match,
     "refuse PUT, PATCH and DELETE without If-Match (428), so that no change is lost unseen"},
    {"stop.drain_delay_seconds", &config::stop_drain_delay_seconds,
     "how long to go on accepting after SIGTERM, for load balancers to notice", 0, 3600},
    {"stop.grace_seconds", &config::stop_grace_seconds,
     "how long requests in flight may take after that", 1, 3600},
};

std::string quoted(std::string const& text) {
    std::string to = "\"";
    for (char const byte : text) {
        if (byte == '"' || byte == '\\') to += '\\';
        to += byte;
    }
    return to + "\"";
}

base::result<void> validate_number(config const& of, setting const& which) {
    auto const* const member = std::get_if<std::uint64_t config::*>(&which.member);
    if (member == nullptr) return {};
    auto const value = of.**member;
    if (value >= which.least && value <= which.most) return {};
    return base::error{std::string(which.name) + " must be from " + std::to_string(which.least) +
                       " to " + std::to_string(which.most)};
}

base::result<void> validate_listeners(config const& of) {
    if (of.listen.empty()) return base::error{"listen names no address"};
    for (auto const& text : of.listen) {
        auto const where = parse_listen_address(text);
        if (!where) return base::error{"listen: " + where.error().message};
        if (auto const safe = validate_plain(*where, of); !safe) return safe;
        if (where->proxy && where->scheme != listen_address::kind::unix_socket &&
            of.trusted_proxies.empty())
            return base::error{"listen: " + text +
                               " would believe nobody's PROXY header and close every connection; "
                               "name the proxy in trusted_proxies"};
    }
    return {};
}

base::result<void> validate_management(config const& of) {
    if (of.management.empty() || of.management == "off") return {};
    auto const where = parse_listen_address("http://" + of.management);
    if (where && !where->proxy) return {};
    return base::error{"management: '" + of.management +
                       "' is not HOST:PORT, such as 127.0.0.1:9464, nor off"};
}

}  // namespace

std::span<setting const> settings() {
    return table;
}

std::string shown(config const& of, setting const& which) {
    return std::visit(
        [&](auto member) -> std::string {
            auto const& value = of.*member;
            using value_type = std::remove_cvref_t<decltype(value)>;
            if constexpr (std::same_as<value_type, std::string>) return quoted(value);
            if constexpr (std::same_as<value_type, bool>) return value ? "true" : "false";
            if constexpr (std::same_as<value_type, std::uint64_t>) return std::to_string(value);
            if constexpr (std::same_as<value_type, std::vector<std::string>>) {
                std::string list;
                for (auto const& element : value)
                    list += (list.empty() ? "" : ", ") + quoted(element);
                return "[" + list + "]";
            }
        },
        which.member);
}

base::result<void> validate(config const& of) {
    for (auto const& which : table)
        if (auto const number = validate_number(of, which); !number) return number;
    for (auto const& text : of.trusted_proxies)
        if (!model::cidr::parse(text))
            return base::error{"trusted_proxies: '" + text +
                               "' is not a network such as 10.0.0.0/8 or ::1"};
    for (auto const& text : of.deprecated)
        if (auto const route = api::parse_deprecation(text); !route)
            return base::error{"deprecated: " + route.error().message};
    if (of.tls_certificate.empty() != of.tls_key.empty())
        return base::error{"tls.certificate and tls.key belong together; only one of them is set"};
    auto const ttl = base::parse_duration(of.keys_default_ttl).value_or(0);
    if (!of.keys_default_ttl.empty() && (ttl < 60 || ttl > 157'680'000))
        return base::error{"keys.default_ttl must be 60 seconds to 5 years, such as 90d"};
    if (!auth::is_key_prefix(of.keys_prefix))
        return base::error{"keys.prefix must be 4 characters of 0-9, A-Z, a-z"};
    if (!of.base_url.empty() && !of.base_url.starts_with("https://") &&
        !of.base_url.starts_with("http://"))
        return base::error{"base_url must begin with https:// (or http://)"};
    if (of.base_url.ends_with('/') || of.base_url.find_first_of(" \r\n\t<>\"") != std::string::npos)
        return base::error{
            "base_url must be an origin without a slash at its end, such as "
            "https://api.example.com"};
    if (auto const management = validate_management(of); !management) return management;
    return validate_listeners(of);
}

api::settings interface_settings(config const& of) {
    api::settings rules;
    rules.base_url = of.base_url;
    rules.allow_query = of.auth_allow_query;
    rules.allow_body = of.auth_allow_body;
    rules.failures_per_minute = static_cast<std::uint32_t>(of.auth_failures_per_minute);
    for (auto const& text : of.trusted_proxies)
        rules.trusted_proxies.push_back(*model::cidr::parse(text));
    for (auto const& text : of.deprecated)
        rules.deprecations.push_back(api::parse_deprecation(text).value());
    rules.key_prefix = of.keys_prefix;
    rules.key_ttl_seconds = base::parse_duration(of.keys_default_ttl).value_or(0);
    rules.strict_transport_security = !of.tls_certificate.empty();
    rules.require_if_match = of.store_require_if_match;
    rules.body_bytes_max = of.http_body_bytes;
    rules.documents = api::make_documents(rules);
    return rules;
}

http::settings parser_settings(config const& of) {
    return {.request_line_bytes_max = of.http_request_line_bytes,
            .header_bytes_max = of.http_header_bytes,
            .body_bytes_max = of.http_body_bytes};
}

std::vector<listen_address> listen_addresses(config const& of) {
    std::vector<listen_address> all;
    for (auto const& text : of.listen) all.push_back(parse_listen_address(text).value());
    return all;
}

base::result<void> validate_plain(listen_address const& where, config const& of) {
    if (where.scheme != listen_address::kind::http || where.host.is_loopback() ||
        !of.trusted_proxies.empty())
        return {};
    return base::error{
        "listen: " + where.url() +
        " would take API keys without TLS; use https://, a loopback address, or name in "
        "trusted_proxies the proxy in front that speaks TLS"};
}

std::optional<listen_address> management_address(config const& of) {
    if (of.management == "off") return std::nullopt;
    auto const text = of.management.empty() ? std::string(management_default) : of.management;
    return parse_listen_address("http://" + text).value();
}

unsigned worker_count(config const& of) {
    return of.workers != 0 ? static_cast<unsigned>(of.workers) : usable_cores();
}

std::string access_log_path(config const& of) {
    if (of.access_log == "off") return "";
    return of.access_log.empty() ? of.data + "/access.log" : of.access_log;
}

}  // namespace latchkey::server
