#include "server/process/server_identity.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "base/system/log.hpp"
#include "server/process/trace_settings.hpp"
#include "wire/tls/self_signed.hpp"

namespace latchkey::server {

base::result<std::shared_ptr<tls::identity const>> load_identity(config const& configuration) {
    auto const addresses = listen_addresses(configuration);
    bool const tls = std::any_of(addresses.begin(), addresses.end(),
                                 [](auto const& each) { return each.tls(); });
    if (!tls) return std::shared_ptr<tls::identity const>();
    if (!configuration.tls_certificate.empty())
        return tls::identity::load(configuration.tls_certificate, configuration.tls_key);
    auto const folder = configuration.data + "/tls";
    auto const certificate = folder + "/certificate.pem", key = folder + "/key.pem";
    struct stat file{};
    if (::stat(certificate.c_str(), &file) != 0) {
        ::mkdir(folder.c_str(), 0700);
        if (auto const status = tls::make_self_signed(certificate, key); !status)
            return status.error();
        base::log(
            "created a self-signed certificate for localhost, 127.0.0.1 and ::1: " + certificate +
            " (clients need it as their CA; configure tls.certificate and tls.key for a real "
            "one)");
    }
    return tls::identity::load(certificate, key);
}

base::result<loaded_files> load_files(config const& configuration,
                                      std::shared_ptr<auth::bearer_issuers const> const& former) {
    auto identity = load_identity(configuration);
    if (!identity) return identity.error();
    auto issuers = load_issuers(configuration.jwt, former, base::read_clocks().clock);
    if (!issuers) return issuers.error();
    return loaded_files{std::move(*identity), std::move(*issuers)};
}

std::vector<setting_error> find_file_errors(config const& configuration) {
    auto all = find_issuer_errors(configuration.jwt);
    if (auto const checked = check_trace_headers(configuration); !checked)
        all.push_back({"tracing.headers_file", checked.error().message});
    if (configuration.tls_certificate.empty()) return all;
    auto const loaded = tls::identity::load(configuration.tls_certificate, configuration.tls_key);
    if (!loaded) all.push_back({"tls.certificate", loaded.error().message});
    return all;
}

}  // namespace latchkey::server
