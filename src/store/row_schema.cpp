// In a library of its own, so that the tests can link a program of the next schema.
#include "store/layout.hpp"
#include "store/shared_log.hpp"

namespace latchkey::store {

std::uint32_t row_schema() {
    return schema_version;
}

}  // namespace latchkey::store
