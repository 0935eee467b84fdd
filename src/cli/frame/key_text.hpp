// A key's document (api.md §4) as text for people. Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "cli/frame/json.hpp"

namespace latchkey::cli {

// What the help says of an id of a key, by which completions know that it is one.
inline constexpr char const* key_id_help = "The key's id";

// The credential of the record: a key, by its ends, or tokens of an issuer for a subject.
std::string credential_of(json_object const& key);
// Rows of a name and a value: all that the document has.
std::vector<std::vector<std::string>> key_rows(json_object const& key);
// Lines about the environment, the expiry, the limits, the addresses and the metadata of a key.
std::vector<std::string> settings_of(json_object const& key);
// "minute 600 in 60 s, burst 50"
std::string limit_text(json_object const& limit);

}  // namespace latchkey::cli
