// Changes: readable, in the order of their times, without a gap between the oldest and the last.
#include "domain/changes/change_record.hpp"
#include "domain/frame/consistency_check.hpp"

namespace latchkey::domain {

void check_changes(consistency_check& check) {
    model::id expected = 0;  // 0: the oldest may be any
    base::wall_ms previous = 0;
    check.walk(table::changes, {}, [&](std::string_view key, std::string_view content) {
        auto const id = read_id(key);
        if (!id || *id < 1) return check.report("a change has a key that is no id");
        if (expected != 0 && *id != expected)
            check.report(name("change", *id) + " follows a gap in the sequence");
        expected = *id + 1;
        auto const change = decode_change(*id, content);
        if (!change) return check.report(name("change", *id) + " cannot be read");
        if (change->occurred_at < previous)
            check.report(name("change", *id) + " is older than the one before it");
        check.check_time(change->occurred_at, name("change", *id));
        previous = change->occurred_at;
    });
}

}  // namespace latchkey::domain
