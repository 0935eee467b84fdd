// The subcommands of `latchkey webhooks`, and what they share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/problem.hpp"
#include "cli/store_command.hpp"
#include "model/cidr.hpp"
#include "store/command.hpp"

namespace latchkey::cli {

void add_webhooks_settings(CLI::App& webhooks, int& code);  // create, update
void add_webhooks_list(CLI::App& webhooks, int& code);      // list, show, deliveries
void add_webhooks_state(CLI::App& webhooks, int& code);  // delete, enable, disable, rotate-secret
void add_webhooks_send(CLI::App& webhooks, int& code);   // test, replay

// A command about one webhook, or about all.
struct webhook_command : store_command {
    model::id id = 0;

    void add_id(CLI::App& command);
};

// The webhook of an outcome; its secret, if it was just made, is shown this one time.
void print_webhook(store::outcome const& outcome, bool json);
// Says what is wrong with the values of options, by the names of the members of the API.
int report_faults(std::vector<base::fault> const& faults);

// The members of a body, from options: `{"url":"…","ordered":true}`. Its bytes are wiped.
class json_members {
  public:
    ~json_members();
    json_members() = default;
    json_members(json_members const&) = delete;
    json_members& operator=(json_members const&) = delete;

    // Begins a member; its value is appended to what is returned.
    std::string& name(std::string_view name);
    void text(std::string_view member, std::string_view value);
    void texts(std::string_view member, std::vector<std::string> const& values);
    std::string_view end();  // the whole object

  private:
    std::string text_ = "{";
};

}  // namespace latchkey::cli
