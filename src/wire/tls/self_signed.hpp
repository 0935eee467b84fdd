// A certificate for a server that has none of a certification authority.
#pragma once

#include <string>

#include "base/result.hpp"

namespace latchkey::tls {

// Writes a self-signed P-256 certificate (names localhost, 127.0.0.1, ::1; ten years; without
// basicConstraints, so that clients accept it both as a server certificate and as their --cacert)
// and its key. Both files have mode 0600 and appear complete or not at all (written to a temporary
// file, synced, renamed; the key first); existing files are replaced. The folders must exist.
base::result<void> make_self_signed(std::string const& certificate_file,
                                    std::string const& key_file);

}  // namespace latchkey::tls
