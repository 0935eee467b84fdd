#include "store/engine/lmdb_value.hpp"

#include <string>

namespace latchkey::store {

base::error lmdb_error(std::string_view failure, int code) {
    if (code == record_damaged)
        return base::error{std::string(failure) + ": a record of it is damaged"};
    return base::error{std::string(failure) + ": " + ::mdb_strerror(code)};
}

}  // namespace latchkey::store
