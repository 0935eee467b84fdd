// The sweeps of all kinds of records: each step collects the keys of late records behind the last
// one, rewrites these and commits, so it may end anywhere and begin again. A dry run does the same
// and aborts. The time of the last write comes last, because the store is refused as long as that
// lies ahead.
#include "domain/admin/time_reset.hpp"

#include "base/limits.hpp"
#include "domain/audit/audit.hpp"
#include "domain/kind_list.hpp"
#include "store/transaction.hpp"

namespace latchkey::domain {
namespace {

using base::wall_ms;

// Bounds of one transaction, which needs no more space reserved than a group of commands.
constexpr std::size_t records_per_step = 256;
constexpr std::size_t bytes_per_step = 2 * base::limits::mib;

class reset {
  public:
    reset(environment_state& store, bool dry_run) : store_(store), dry_run_(dry_run) {}

    base::result<time_reset> run();

  private:
    base::result<void> count_audit_entries();
    base::result<void> set_last_write();

    base::result<void> sweep(time_sweep const& rules, std::uint64_t& count);

    environment_state& store_;
    bool dry_run_;
    wall_ms now_ = 0;
    time_reset report_;
};

base::error write_error(commit_result const& result) {
    return failure_error("the store cannot be mended", result);
}

// In steps of one transaction each, which continues after the last record of the step before.
base::result<void> reset::sweep(time_sweep const& rules, std::uint64_t& count) {
    std::string const prefix(rules.tag ? 1 : 0, static_cast<char>(rules.tag.value_or(tag{})));
    std::string begin = prefix;
    for (bool more = true; more;) {
        transaction transaction(store_);
        std::vector<std::string> late_keys;
        std::size_t bytes = 0;
        auto const collect = [&](std::string_view key, std::string_view value) {
            if (!key.starts_with(prefix)) return false;
            auto const suffix = key.substr(prefix.size());
            if (!rules.is_late(suffix, value, now_)) return true;
            late_keys.emplace_back(suffix);
            bytes += key.size() + value.size();
            return late_keys.size() < records_per_step && bytes < bytes_per_step;
        };
        transaction.scan(rules.table, begin, collect);
        more = late_keys.size() == records_per_step || bytes >= bytes_per_step;
        if (!transaction.ok()) return write_error(transaction.failure());
        if (late_keys.empty()) return {};
        begin = prefix + late_keys.back() + '\0';
        if (!dry_run_ && !transaction.capacity().grow)
            return base::error{
                "there is no room on the disk (or below store.map_mib) to mend the store; with "
                "more room the same command continues where this one ends"};
        transaction.allow_growth();
        for (auto const& key : late_keys) count += rules.rewrite(transaction, key, now_) ? 1 : 0;
        auto const result = dry_run_ ? transaction.failure() : transaction.commit();
        if (!result.ok()) return write_error(result);
    }
    return {};
}

base::result<void> reset::count_audit_entries() {
    transaction transaction(store_);
    transaction.scan(table::audit, {}, [&](std::string_view key, std::string_view value) {
        auto const id = read_id(key);
        auto const entry = id ? decode_audit(*id, value) : std::nullopt;
        if (entry && entry->time > now_) ++report_.audit_entries;
        return true;
    });
    if (!transaction.ok()) return write_error(transaction.failure());
    return {};
}

base::result<void> reset::set_last_write() {
    if (dry_run_) return {};
    transaction transaction(store_);
    transaction.set_time(now_);
    transaction.force_commit();
    if (!transaction.capacity().write)
        return base::error{"there is no room on the disk to mend the store"};
    if (auto const result = transaction.commit(); !result.ok()) return write_error(result);
    return {};
}

base::result<time_reset> reset::run() {
    for (auto const* const kind : kind_list)
        for (auto const& each : kind->sweeps)
            if (each.is_counted()) report_.counts.push_back({each.name});
    {
        transaction transaction(store_);
        if (!transaction.ok()) return write_error(transaction.failure());
        report_.last_write = report_.now = transaction.counters().written_at;
    }
    now_ = store_.clocks().clock;
    if (report_.last_write <= now_) return report_;
    report_.now = now_;
    std::uint64_t uncounted = 0;
    auto count = report_.counts.begin();
    for (auto const* const kind : kind_list)
        for (auto const& each : kind->sweeps)
            if (auto const outcome = sweep(each, each.is_counted() ? count++->number : uncounted);
                !outcome)
                return outcome.error();
    for (auto const step : {&reset::count_audit_entries, &reset::set_last_write})
        if (auto const outcome = (this->*step)(); !outcome) return outcome.error();
    return report_;
}

}  // namespace

base::result<time_reset> reset_time(environment& store, bool dry_run) {
    if (store.native().cluster)
        return base::error{
            "the store is a node of a cluster, whose other nodes have the same time: stop all of "
            "them, take this one out of the cluster, mend it, and begin the cluster with it again"};
    return reset(store.native(), dry_run).run();
}

}  // namespace latchkey::domain
