// The commands about keys, and the subcommands of `latchkey keys`.
#pragma once

#include "cli/frame/cli11_names.hpp"
#include "cli/frame/command_line.hpp"

namespace latchkey::cli {

void add_keys(CLI::App& program, int& code);
void add_usage(CLI::App& program, int& code);
void add_audit(CLI::App& program, int& code);

void add_keys_create(CLI::App& keys, int& code);
void add_keys_list(CLI::App& keys, int& code);   // list, show
void add_keys_state(CLI::App& keys, int& code);  // rotate, deactivate, reactivate
void add_keys_update(CLI::App& keys, int& code);
void add_keys_usage(CLI::App& keys, int& code);
void add_keys_verify(CLI::App& keys, int& code);
void add_keys_import(CLI::App& keys, int& code);

}  // namespace latchkey::cli
