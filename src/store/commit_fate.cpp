#include "store/commit_fate.hpp"

#include <string>

#include "store/lmdb_value.hpp"

namespace latchkey::store {
namespace {

std::string_view reason_of(commit_fate fate) {
    using enum commit_fate;
    switch (fate) {
        case committed:
        case failed:
            break;
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
    }
    return {};
}

}  // namespace

bool is_of_cluster(commit_fate fate) {
    return !reason_of(fate).empty();
}

base::error failure_error(std::string_view failure, commit_result const& result) {
    if (!is_of_cluster(result.fate)) return lmdb_error(failure, result.code);
    return base::error{std::string(failure) + ": " + std::string(reason_of(result.fate))};
}

}  // namespace latchkey::store
