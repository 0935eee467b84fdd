// The configuration as a worker uses it: what a reload exchanges, whole. Immutable and shared; a
// connection keeps the one that its request began with, and goes over to the worker's before the
// next.
#pragma once

#include <memory>

#include "server/config.hpp"
#include "tls/context.hpp"

namespace latchkey::server {

struct rulebook {
    // `of` has passed `validate`.
    explicit rulebook(config of)
        : configuration(std::move(of)),
          interface(interface_settings(configuration)),
          parsing(parser_settings(configuration)) {}

    config const configuration;
    api::settings const interface;
    http::settings const parsing;
};

// All that a worker is given anew while it runs.
struct supplies {
    std::shared_ptr<rulebook const> rules;
    std::shared_ptr<tls::identity const> identity;  // null: no listener speaks TLS
    std::shared_ptr<tls::ticket_keys const> tickets;
};

}  // namespace latchkey::server
