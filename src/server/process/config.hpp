// The configuration: one flat structure of values (`config`), one table of their names
// (`setting_table`). The file, the flags, `--help` and `latchkey config show` are all made from
// that table; `[[jwt]]` alone stands beside it. Immutable once the service runs; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/frame/settings.hpp"
#include "base/result.hpp"
#include "base/system/log.hpp"
#include "server/process/jwt_settings.hpp"
#include "server/process/listen_address.hpp"
#include "session/session_context.hpp"
#include "store/environment_options.hpp"
#include "wire/http/parser.hpp"

namespace latchkey::server {

struct config {
    std::string file;  // where it was read from; empty: no file. Not a setting
    std::string data;  // the command line sets the default: $XDG_STATE_HOME/latchkey
    std::vector<std::string> listen = {"https://127.0.0.1:8443"};
    std::uint64_t workers = 0;  // 0: one per core
    std::string management;     // HOST:PORT, "off", or empty: management_default if it is free
    std::string access_log;     // empty: access.log in the data directory
    std::string log_format = "text";
    std::string log_level = "info";
    std::string base_url;
    std::string clients_folder = "/usr/share/latchkey/clients";  // empty: none
    std::vector<std::string> trusted_proxies;
    std::vector<std::string> deprecated;
    std::uint64_t connections = 8192;
    bool confined = true;
    bool http2 = true;

    std::string tls_certificate;
    std::string tls_key;

    bool auth_allow_query = true;
    bool auth_allow_body = true;
    std::uint64_t auth_failures_per_minute = 30;

    std::string keys_prefix = "lkey";
    std::string keys_default_ttl;  // empty: none
    std::string keys_first_key_file;

    std::uint64_t events_retention_days = 30;

    bool console = true;
    bool changes_enabled = true;
    std::uint64_t changes_retention_days = 7;
    std::uint64_t changes_max = 10'000'000;
    std::uint64_t changes_max_mib = 0;  // 0: a quarter of store_map_mib
    std::uint64_t changes_streams = base::limits::streams_max;
    std::vector<std::uint64_t> changes_expiring_days = {14, 3, 1};
    std::uint64_t changes_unused_days = 90;  // 0: never
    std::vector<std::string> webhooks_allow_private;

    std::uint64_t http_request_line_bytes = base::limits::request_line_bytes_max;
    std::uint64_t http_header_bytes = base::limits::header_bytes_max;
    std::uint64_t http_body_bytes = base::limits::body_bytes_max;
    std::uint64_t http_header_seconds = 10;
    std::uint64_t http_body_seconds = 30;
    std::uint64_t http_idle_seconds = 75;
    std::uint64_t http_handshake_seconds = 10;
    std::uint64_t http_send_seconds = 30;

    std::uint64_t http_connections_per_address = 0;
    std::uint64_t http_streams = base::limits::http2_streams_max;
    std::uint64_t http_window_bytes = base::limits::http2_window_bytes;
    std::uint64_t http_header_table_bytes = base::limits::http2_header_table_bytes;

    std::uint64_t overload_requests_in_flight = base::limits::requests_in_flight_max;
    std::uint64_t overload_queued_mib = base::limits::queued_bytes_max / base::limits::mib;

    std::uint64_t store_map_mib = 65'536;
    std::string store_master_key_file;  // empty: master.key in the data directory
    bool store_require_if_match = false;

    std::string cluster_postgres;  // empty: no cluster
    std::string cluster_name;      // empty: the host's name
    std::string cluster_password_file;
    std::uint64_t cluster_lease_seconds = 30;

    std::string tracing_endpoint;  // empty: no spans are exported
    double tracing_sample_ratio = 0.01;
    std::string tracing_service_name = "latchkey";
    std::string tracing_headers_file;

    std::uint64_t stop_drain_delay_seconds = 0;
    std::uint64_t stop_grace_seconds = 30;

    std::vector<jwt_settings> jwt;  // [[jwt]], which no flag sets
};

struct setting {
    std::string_view name;  // as in the file: "auth.allow_query"
    std::variant<std::string config::*, bool config::*, std::uint64_t config::*, double config::*,
                 std::vector<std::string> config::*, std::vector<std::uint64_t> config::*>
        member;
    std::string_view help;
    std::uint64_t least = 0;  // range of a whole number, or of each in a list
    std::uint64_t most = UINT64_MAX;
    bool restart = false;  // changing it takes a restart
    // A file that the service manager may pass as a credential (`credential_of`).
    bool credential = false;
};
// Every setting of the configuration file, in the order in which they are printed.
std::span<setting const> setting_table();

// The value as TOML: `"text"`, `true`, `10`, `0.5`, `["a", "b"]`, `[1, 2]`.
std::string to_toml(config const& configuration, setting const& entry);

// `LATCHKEY_STORE_MAP_MIB` for `store.map_mib`: the environment variable of a setting.
std::string variable_of(setting const& entry);
// `store.master_key` for `store.master_key_file`: the credential of a setting that is one
// (systemd.exec(5), LoadCredential=).
std::string_view credential_of(setting const& entry);

// Checks everything that needs no file or socket: ranges, addresses, plain HTTP where it is not
// allowed. All that is wrong, each bad element of a list by itself, in the order of the settings as
// far as they depend on no other.
std::vector<setting_error> find_errors(config const& configuration);
// The same as one error.
base::result<void> validate(config const& configuration);

// Refuses a listener that would receive keys in clear text over a network: plain HTTP is for
// loopback, Unix sockets and behind a trusted proxy.
base::result<void> validate_plain(listen_address const& address, config const& configuration);

// The options of the lower layers, made from a configuration that has passed `validate`. Those of
// the interface have the client libraries of the folder (client_folder.hpp).
api::settings interface_settings(config const& configuration);
http::size_limits parser_limits(config const& configuration);
session::http2_options http2_options(config const& configuration);
store::key_time_rules key_time_rules(config const& configuration);
// How the service opens its store.
store::environment_options store_options(config const& configuration);
std::vector<listen_address> listen_addresses(config const& configuration);
unsigned worker_count(config const& configuration);
inline constexpr std::string_view management_default = "127.0.0.1:9464";
std::optional<listen_address> management_address(config const& configuration);  // nullopt: off
base::log_style log_style_of(config const& configuration);
std::string access_log_path(config const& configuration);  // "-" standard output, "" off

}  // namespace latchkey::server
