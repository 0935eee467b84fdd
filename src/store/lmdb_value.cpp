#include "store/lmdb_value.hpp"

#include <string>

namespace latchkey::store {

base::error lmdb_error(std::string_view failure, int code) {
    auto const* const reason =
        code == record_damaged ? "a record of it is damaged" : ::mdb_strerror(code);
    return base::error{std::string(failure) + ": " + reason};
}

}  // namespace latchkey::store
