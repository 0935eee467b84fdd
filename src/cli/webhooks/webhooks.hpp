// The command `latchkey webhooks`, its subcommands, and what they share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/problem.hpp"
#include "cli/frame/api_command.hpp"
#include "cli/frame/body.hpp"
#include "cli/frame/cli11_names.hpp"
#include "domain/command.hpp"
#include "model/cidr.hpp"

namespace latchkey::cli {

void add_webhooks(CLI::App& program, int& code);
void add_webhooks_settings(CLI::App& webhooks, int& code);  // create, update
void add_webhooks_list(CLI::App& webhooks, int& code);      // list, show, deliveries
void add_webhooks_state(CLI::App& webhooks, int& code);  // delete, enable, disable, rotate-secret
void add_webhooks_send(CLI::App& webhooks, int& code);   // test, replay

// A command about one webhook, or about all.
struct webhook_command : api_command {
    model::id id = 0;

    void add_id(CLI::App& command);
};

// The document of a webhook; its secret, if it was just made, is shown this one time.
void print_webhook(std::string document, bool json);
// That of an outcome.
std::string webhook_document(domain::outcome const& outcome);
// "/webhooks/3/test"
std::string webhook_path(model::id id, std::string_view action = {});

}  // namespace latchkey::cli
