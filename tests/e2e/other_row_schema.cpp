// The program of a version that reads rows up to another schema, for tests of upgrades: OTHER_ROW_SCHEMA.
#include "store/layout.hpp"
#include "store/shared_log.hpp"

namespace latchkey::store {

std::uint32_t row_schema() {
    return OTHER_ROW_SCHEMA;
}

}  // namespace latchkey::store
