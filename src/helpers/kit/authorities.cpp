#include "helpers/kit/authorities.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace latchkey::kit {
namespace {

constexpr std::array bundles{"/etc/ssl/certs/ca-certificates.crt",  // Debian, Arch
                             "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora
                             "/etc/ssl/ca-bundle.pem",              // openSUSE
                             "/etc/ssl/cert.pem"};                  // Alpine

}  // namespace

std::string authorities_file() {
    if (char const* const file = ::getenv("SSL_CERT_FILE"); file != nullptr && *file != '\0')
        return file;
    auto const bundle =
        std::ranges::find_if(bundles, [](char const* path) { return ::access(path, R_OK) == 0; });
    return bundle != bundles.end() ? *bundle : bundles.front();
}

}  // namespace latchkey::kit
