// An entry of the audit log as JSON, for the HTTP interface and the command line alike.
#pragma once

#include <string>

#include "store/audit.hpp"

namespace latchkey::api {

void append_audit_entry(std::string& to, store::audit_entry const& entry);

}  // namespace latchkey::api
