// The program of a version that reads rows of the next schema, for the test of an upgrade.
#include "store/engine/layout.hpp"
#include "store/shared_log.hpp"

namespace latchkey::store {

std::uint32_t row_schema() {
    return schema_version + 1;
}

}  // namespace latchkey::store
