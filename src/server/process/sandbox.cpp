#include "server/process/sandbox.hpp"

#include <cerrno>
#include <cstring>

#include "base/system/file_access.hpp"
#include "base/system/log.hpp"
#include "server/process/confine_service.hpp"

namespace latchkey::server {

void file_sandbox::confine(config const& configuration, std::span<listen_sockets const> sockets) {
    base::file_grants grants;
    grants.write.push_back(configuration.data);
    auto const add = [](std::vector<std::string>& list, std::string const& path) {
        if (path.empty() || path == "-") return;
        for (auto& place : places_of(path)) list.push_back(std::move(place));
    };
    add(grants.write, access_log_path(configuration));
    for (auto const& path :
         {configuration.file, configuration.tls_certificate, configuration.tls_key,
          configuration.store_master_key_file, configuration.tracing_headers_file})
        add(grants.read, path);
    for (auto const& table : configuration.jwt) add(grants.read, table.jwks);
    for (auto const& socket : sockets)
        if (socket.address().scheme == listen_address::kind::unix_socket)
            add(grants.remove, socket.address().path);
    if (!configuration.clients_folder.empty()) grants.read.push_back(configuration.clients_folder);
    // It names the holder of the store's write lock (store/engine/write_lock).
    grants.read.push_back("/proc/locks");
    auto const result = base::restrict_files(grants);
    active_ = result && *result;
    if (!result)
        base::log(base::severity::warning,
                  result.error().message + ": the service can open what its user may");
}

base::error file_sandbox::explain(base::error failure) const {
    if (active_ && failure.message.ends_with(std::strerror(EACCES)))
        failure.message +=
            " (a confined service reaches the directories that it was started with; "
            "a restart lets it use others)";
    return failure;
}

void confine_system_calls() {
    hide_memory();
    if (auto const result = filter_system_calls(); !result)
        base::log(base::severity::warning, result.error().message +
                                               ": the service runs without it (confined = false "
                                               "does not try)");
}

}  // namespace latchkey::server
