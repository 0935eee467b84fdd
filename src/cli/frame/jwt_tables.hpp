// `[[jwt]]` of the configuration file: a list of tables, which no flag sets.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/process/jwt_settings.hpp"

namespace latchkey::cli {

struct toml_fault {
    std::string setting, message;
    std::uint32_t line;
    std::optional<std::size_t> table = {};
};

struct jwt_reading {
    std::vector<server::jwt_settings> tables;
    // The lines of "jwt.issuer" in these tables; that of the table where it has none.
    std::map<std::string_view, std::vector<std::uint32_t>> lines;
    std::vector<toml_fault> faults;
};

// `node` is the value of `jwt`. Types and names are checked; what the values may be is checked by
// server::find_errors.
jwt_reading read_jwt_tables(toml::node const& node);

}  // namespace latchkey::cli
