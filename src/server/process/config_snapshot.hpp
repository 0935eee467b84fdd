// The configuration as a worker uses it: a reload exchanges it whole. Immutable and shared; a
// request keeps the snapshot that it began with, the next one on its connection takes the current
// one.
#pragma once

#include <memory>

#include "server/process/config.hpp"
#include "session/session_context.hpp"
#include "wire/tls/tls_context.hpp"

namespace latchkey::server {

struct config_snapshot {
    // `values` has passed `validate`.
    explicit config_snapshot(config values)
        : configuration(std::move(values)),
          interface(interface_settings(configuration)),
          sessions{.parsing = parser_limits(configuration),
                   .header_seconds = configuration.http_header_seconds,
                   .body_seconds = configuration.http_body_seconds,
                   .idle_seconds = configuration.http_idle_seconds,
                   .send_seconds = configuration.http_send_seconds,
                   .http2 = http2_options(configuration)} {}

    config const configuration;
    api::settings const interface;
    session::options const sessions;
};

// The contents of the files that a configuration names.
struct loaded_files {
    std::shared_ptr<tls::identity const> identity;        // null: no listener speaks TLS
    std::shared_ptr<auth::bearer_issuers const> issuers;  // null: no JWT is accepted
};

// The configuration as a worker gets it at its start and again by each reload.
struct worker_config {
    std::shared_ptr<config_snapshot const> rules;
    std::shared_ptr<tls::identity const> identity;  // null: no listener speaks TLS
    std::shared_ptr<tls::ticket_keys const> tickets;
    std::shared_ptr<auth::bearer_issuers const> issuers = {};  // null: no JWT is accepted

    void take(loaded_files const& files) {
        identity = files.identity;
        issuers = files.issuers;
    }
};

}  // namespace latchkey::server
