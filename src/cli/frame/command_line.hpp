// The commands of `latchkey`. Each adds itself to the command line. Output for programs goes to
// standard output, messages for people to standard error.
#pragma once

#include "cli/frame/cli11_names.hpp"

namespace latchkey::cli {

// `unconfirmed`: a question was answered with no, or there was no terminal to ask at. `refused`:
// what was asked about, such as a key, would be refused. `undecided`: what was to be compared did
// not stand still.
enum exit_code : int {
    done = 0,
    failed = 1,
    usage_error = 2,
    unconfirmed = 3,
    refused = 4,
    undecided = 5,
    configuration_error = 78
};

// Each command sets `code` after it has run.
void add_serve(CLI::App& program, int& code);
void add_config(CLI::App& program, int& code);
void add_completion(CLI::App& program, int& code);
void add_man(CLI::App& program, int& code);
void add_keys(CLI::App& program, int& code);
void add_usage(CLI::App& program, int& code);
void add_audit(CLI::App& program, int& code);
void add_events(CLI::App& program, int& code);
void add_changes(CLI::App& program, int& code);
void add_webhooks(CLI::App& program, int& code);
void add_import(CLI::App& program, int& code);
void add_export(CLI::App& program, int& code);
void add_seed(CLI::App& program, int& code);
void add_backup(CLI::App& program, int& code);
void add_restore(CLI::App& program, int& code);
void add_check(CLI::App& program, int& code);
void add_cluster(CLI::App& program, int& code);
void add_health(CLI::App& program, int& code);
void add_reset_time(CLI::App& program, int& code);

}  // namespace latchkey::cli
