// The certificate and key of the service: those of the configuration, or self-signed ones that are
// created below the data directory at the first start. Main thread: reads files.
#pragma once

#include <memory>
#include <vector>

#include "base/result.hpp"
#include "server/process/config_snapshot.hpp"
#include "wire/tls/tls_context.hpp"

namespace latchkey::server {

// null: no listener of the configuration speaks TLS.
base::result<std::shared_ptr<tls::identity const>> load_identity(config const& configuration);

// The identity, and the issuers of tokens with their keys; `former` as load_issuers has it.
base::result<loaded_files> load_files(config const& configuration,
                                      std::shared_ptr<auth::bearer_issuers const> const& former);

// What cannot be loaded of the certificate, the key, the keys of issuers and the header fields for
// traces that a configuration names.
std::vector<setting_error> find_file_errors(config const& configuration);

}  // namespace latchkey::server
