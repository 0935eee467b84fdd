#include "store/environment_time.hpp"

#include <unistd.h>

#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "store/checksum.hpp"
#include "store/files/claim.hpp"
#include "store/lmdb_value.hpp"
#include "store/pages/read_version.hpp"

namespace latchkey::store {
namespace {

std::string format_span(base::wall_ms span) {
    constexpr base::wall_ms hour = 3'600'000, day = 24 * hour;
    return std::to_string(span / day) + " days and " + std::to_string(span % day / hour) + " hours";
}

std::string format_time(base::wall_ms time) {
    char text[base::timestamp_bytes];
    base::format_timestamp(time, text);
    return {text, sizeof text};
}

// Does a running server write so rarely that the clock must be wrong? A server writes when it
// starts and every few minutes, so one that has just started gets a second.
bool is_behind_server(environment_state const& store, base::wall_ms& write_time) {
    for (int attempt = 0; attempt < 20; ++attempt) {
        write_time = last_write(store);
        if (store.clocks().clock - write_time <= base::limits::clock_step_ms_max ||
            !is_claimed(store.directory))
            return false;
        ::usleep(50'000);
    }
    return true;
}

}  // namespace

base::wall_ms last_write(environment_state const& store) {
    MDB_txn* txn = nullptr;
    if (begin_read(store.env, &txn) != 0) return 0;
    auto const name = key_bytes{tag::counters};
    auto key = val_of(name);
    MDB_val value;
    bool const exists = ::mdb_get(txn, store.dbi(table::index), &key, &value) == 0;
    auto const content = exists ? content_of(table::index, name, view_of(value)) : std::nullopt;
    auto const counters = content ? decode_counters(*content) : std::nullopt;
    ::mdb_txn_abort(txn);
    return counters ? counters->written_at : 0;
}

base::result<void> begin_time(environment_state& store, environment_options const& options) {
    store.aged_at = store.uptime();
    auto const now = store.clocks();
    store.time.begin(now, now.clock);
    auto write_time = last_write(store);
    if (auto const error = time_ahead_error(store, write_time, now.clock);
        error && !options.any_time)
        return *error;
    if (write_time == 0 || now.clock - write_time <= base::limits::clock_step_ms_max) return {};
    auto const gap = "the last write to the store in " + store.directory + " was at " +
                     format_time(write_time) + ", " + format_span(now.clock - write_time) +
                     " before this machine's clock, " + format_time(now.clock) + ": ";
    if (options.for_server) {
        base::log(
            gap +
            "if the clock is wrong, stop the server and set it; only records that had expired at "
            "the last write are removed at once, others gradually");
    } else if (is_behind_server(store, write_time)) {
        store.time.begin(now, write_time);
        if (!options.any_time)
            base::log(base::severity::warning,
                      gap +
                          "a server is running and would have written since, so the clock is "
                          "ignored and the time of the last write is used");
    }
    return {};
}

std::optional<base::error> time_ahead_error(environment_state const& store,
                                            base::wall_ms last_write, base::wall_ms clock) {
    if (last_write - clock <= base::limits::clock_step_ms_max) return std::nullopt;
    return base::error{"the store in " + store.directory + " was last written at " +
                       format_time(last_write) + ", " + format_span(last_write - clock) +
                       " ahead of this machine's clock, " + format_time(clock) +
                       ": set the clock if it is wrong; if it is right, it was not when the store "
                       "was written, and latchkey reset-time brings the store back"};
}

}  // namespace latchkey::store
