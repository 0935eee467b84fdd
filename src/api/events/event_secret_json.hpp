// Secrets of event sources as JSON (api.md §12), for HTTP and the command line. Any thread.
#pragma once

#include <string>

#include "domain/changes/change_record.hpp"
#include "domain/command.hpp"
#include "domain/events/event_secret.hpp"

namespace latchkey::api {

// A secret that was set: shown if it was made here, null if it was supplied. Reserves first, since
// a string that grows leaves a copy of the secret behind.
void append_kept_secret(std::string& output, domain::secret_result const& secret);
// The secrets of a source, without their texts.
void append_event_secrets(std::string& output, std::string_view source,
                          domain::event_secrets const& secrets);
void append_event_source(std::string& output, domain::event_source const& source);
// Appends the data of the change that a secret was set or removed; false: it cannot be decoded, and
// nothing was appended.
bool append_secret_change(std::string& output, domain::change_view const& change);

}  // namespace latchkey::api
