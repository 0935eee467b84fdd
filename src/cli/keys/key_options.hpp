// The options that describe a key, of `keys create` and `keys update`, as the members of the body
// of POST /keys and PATCH /keys/{id}.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cli/frame/body.hpp"
#include "cli/frame/cli11_names.hpp"
#include "cli/frame/command_line.hpp"

namespace latchkey::cli {

struct key_options {
    std::string name, environment, expires_in, expires_at, not_before;
    std::vector<std::string> scopes, limits, networks, metadata;
    bool unlimited = false, anywhere = false;

    // `is_new`: the texts of the help are those of a key that is created.
    void add_to(CLI::App& command, bool is_new);
    // The error is a sentence. For a key that exists, `expires_in` counts from `now`, and `none`
    // removes a time, a name without `=` a member of the metadata.
    base::result<void> append_to(json_members& body, bool is_new, base::wall_ms now) const;
};

}  // namespace latchkey::cli
