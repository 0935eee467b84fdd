// What the commands about keys share. They work on the store itself, beside a running server or
// without one: a write is one short transaction that never waits for input, and the server sees it
// with its next request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/command.hpp"
#include "cli/settings.hpp"
#include "store/writer.hpp"

namespace latchkey::cli {

void add_keys_create(CLI::App& keys, int& code);
void add_keys_list(CLI::App& keys, int& code);   // list, show
void add_keys_state(CLI::App& keys, int& code);  // rotate, deactivate, reactivate
void add_keys_import(CLI::App& keys, int& code);

// Says what is wrong, and the exit code for it.
int say_wrong(std::string const& sentence);
int say_failed(std::string const& sentence);

// A command's options that all have: which store, and whether for a program.
struct key_command {
    setting_flags settings;
    bool json = false;

    void add_to(CLI::App& command, std::vector<std::string> settings_too = {});
};

// The store that the options name; null, with `code` set and the reason said, when it cannot be
// opened. `configured` gets the configuration.
std::unique_ptr<store::environment> open_store(key_command const& options, int& code,
                                               bool read_only = false,
                                               server::config* configured = nullptr);

// One command, by the operator. The error is a sentence.
base::result<store::outcome> apply_one(store::environment& store, store::command::kind what);
std::string sentence_of(store::outcome const& refused);

// One record; `plain` is the key where it was just made, the only time that it is shown.
void print_key(store::outcome const& made, std::string_view plain, bool json);

// Columns wide enough for what is in them, the first row above as it is.
void print_table(std::vector<std::vector<std::string>> const& rows);
std::string shown_time(base::wall_ms time, char const* none);  // "2026-01-02 03:04:05Z"

}  // namespace latchkey::cli
