// A certificate's summary for the operator. Private to the layer.
#pragma once

#include <openssl/base.h>

#include <string>

#include "base/clock.hpp"

namespace latchkey::tls {

base::wall_ms wall_of(ASN1_TIME const* time);

// "CN=localhost (localhost, 127.0.0.1, ::1), ECDSA P-256, valid until 2036-01-02T03:04:05.000Z",
// with a warning after it when `now` is outside the validity.
std::string summarize(X509* leaf, EVP_PKEY* key, base::wall_ms now);

}  // namespace latchkey::tls
