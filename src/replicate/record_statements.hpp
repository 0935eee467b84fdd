// Changes of latchkey_record gathered into statements of many records each. A value; one thread.
//
//     record_statements statements;
//     statements.put(table, key, value);       // each (table, key) once
//     auto const list = statements.finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "replicate/connection.hpp"
#include "replicate/statement.hpp"

namespace latchkey::replicate {

class record_statements {
  public:
    void put(std::uint8_t table, std::string const& key, std::string const& value);
    void erase(std::uint8_t table, std::string const& key);
    batch finish();

  private:
    void end_puts();
    void end_erasures();

    batch statements_;
    statement values_{""}, keys_{""};
    std::size_t puts_ = 0, erasures_ = 0;
    std::uint8_t erased_table_ = 0;  // of all erasures in `keys_`
};

}  // namespace latchkey::replicate
