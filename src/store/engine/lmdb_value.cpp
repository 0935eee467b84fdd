#include "store/engine/lmdb_value.hpp"

#include <string>

namespace latchkey::store {
namespace {

std::string reason_of(int code) {
    switch (code) {
        case record_damaged:
            return "a record of it is damaged";
        case row_lost:
            return "other nodes of the cluster were always faster";
        case row_unknown:
            return "it is not known yet whether a change has reached the cluster's log";
        case log_away:
            return "the log of the cluster cannot be reached";
        case row_unapplied:
        case rows_blocked:
            return "the disk or the store's map is full (store.map_mib), so changes of the cluster "
                   "wait to be applied here";
        case row_newer:
            return "a newer latchkey writes to the cluster: bring this node up to its version";
        case log_missing:
            return "it is a node of a cluster, so changes need the cluster's log";
        default:
            return ::mdb_strerror(code);
    }
}

}  // namespace

base::error lmdb_error(std::string_view failure, int code) {
    return base::error{std::string(failure) + ": " + reason_of(code)};
}

}  // namespace latchkey::store
