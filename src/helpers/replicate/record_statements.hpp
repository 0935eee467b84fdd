// Changes of latchkey_record as statements: one for many records that are put, one for each that is
// erased. A value; one thread.
//
//     record_statements statements;
//     statements.put(table, key, value);       // each (table, key) once
//     auto const list = statements.finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "helpers/replicate/postgres_connection.hpp"
#include "helpers/replicate/statement.hpp"

namespace latchkey::replicate {

class record_statements {
  public:
    void put(std::uint8_t table, std::string const& key, std::string const& value);
    void erase(std::uint8_t table, std::string const& key);
    batch finish();

  private:
    void end_puts();

    batch statements_, erasures_;
    statement values_{""};
    std::size_t puts_ = 0;
};

}  // namespace latchkey::replicate
