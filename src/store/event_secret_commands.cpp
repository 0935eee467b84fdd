// Setting and removing the secret of a source of events.
#include "store/audit_log.hpp"
#include "store/event_secret_record.hpp"
#include "store/sealed.hpp"

namespace latchkey::store {
namespace {

using base::problem;

}  // namespace

outcome run(transaction& in, put_event_secret const& what, command const& whole) {
    if (!whole.faults.empty()) return invalid(whole.faults);
    if (!model::is_event_source(what.source) || what.secret.empty())
        return refused(problem::internal_error);
    if (auto no = unmet(whole)) return std::move(*no);
    if (auto const full = no_room(in, true)) return refused(*full);

    // One that cannot be read is replaced like one that is not there.
    auto const at = event_secret_key(what.source);
    auto const bytes = in.get(table::index, at);
    auto before = bytes ? decode_event_secrets(*bytes) : std::nullopt;
    if (before && !unseal(in.store(), before->front().sealed, what.source)) before.reset();
    std::vector<std::string> fields;
    if (!before || before->front().format != what.format) fields.emplace_back("format");
    fields.emplace_back("secret");
    std::vector<sealed_secret> all{
        {what.format, in.now(), 0, seal(in.store(), what.secret, what.source)}};
    if (before && what.overlap_ms > 0) {
        all.push_back(std::move(before->front()));
        all.back().ends_at = in.now() + what.overlap_ms;
    }
    encode(all, in.scratch);
    in.put(table::index, at, in.scratch);
    note(in, whole, audit_action::secret_put, what.source, std::move(fields));
    return {.record =
                kept_secret{what.source, what.format, what.shown ? what.secret : base::secret()}};
}

outcome run(transaction& in, delete_event_secret const& what, command const& whole) {
    auto const at = event_secret_key(what.source);
    if (!model::is_event_source(what.source) || !in.has(table::index, at))
        return missing(whole, "The source " + what.source + " has no secret.");
    if (!whole.faults.empty()) return invalid(whole.faults);
    if (auto no = unmet(whole)) return std::move(*no);
    if (auto const full = no_room(in, false)) return refused(*full);
    in.erase(table::index, at);
    note(in, whole, audit_action::secret_delete, what.source, {});
    return {};
}

}  // namespace latchkey::store
