// An entry of the audit log as JSON, for HTTP and the command line. Any thread.
#pragma once

#include <string>

#include "domain/audit/audit.hpp"

namespace latchkey::api {

void append_audit_entry(std::string& output, domain::audit_entry const& entry);

}  // namespace latchkey::api
