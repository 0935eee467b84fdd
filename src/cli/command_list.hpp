// The list of all commands, in the order of `latchkey --help`. A new one adds itself here, and
// nowhere else in cli: the folders whose headers are included are those that are built. Constants;
// any thread.
#pragma once

#include "cli/changes/events.hpp"
#include "cli/data/data.hpp"
#include "cli/keys/keys.hpp"
#include "cli/serve/serve.hpp"
#include "cli/webhooks/webhooks.hpp"
#include "cli/words/command_texts.hpp"

namespace latchkey::cli {

// Each adds itself to the command line, and sets `code` after it has run.
inline constexpr void (*command_list[])(CLI::App& program, int& code) = {
    add_serve,      add_keys,   add_usage,  add_audit,      add_events,  add_changes, add_webhooks,
    add_import,     add_export, add_seed,   add_backup,     add_restore, add_check,   add_cluster,
    add_reset_time, add_health, add_config, add_completion, add_man};

}  // namespace latchkey::cli
