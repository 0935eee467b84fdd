// The file of the certificates that receivers are verified against: the one that SSL_CERT_FILE
// names, which takes the place of the system's, or the first of those that systems have. A file and
// no folder: libcurl keeps what it has read of a file for later connections.
#pragma once

#include <string>

namespace latchkey::kit {

// Reads the environment; before there are threads.
std::string authorities_file();

}  // namespace latchkey::kit
