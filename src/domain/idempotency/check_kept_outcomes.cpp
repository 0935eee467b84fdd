// Outcomes under Idempotency-Keys with the times at which they expire.
#include "domain/frame/consistency_check.hpp"
#include "domain/idempotency/kept_outcome.hpp"

namespace latchkey::domain {
namespace {

void check_outcomes(consistency_check& check) {
    auto const visit = [&](std::string_view key, std::string_view content) {
        base::reader input(key);
        auto const lineage = input.integer<model::id>();
        auto const outcome = decode_kept_outcome(content);
        if (!outcome)
            return check.report("an outcome under an Idempotency-Key of " + name("key", lineage) +
                                " cannot be read");
        if (input.rest().size() != sizeof(model::digest) ||
            !check.has(table::index, key_key(lineage)))
            check.report("an outcome under an Idempotency-Key is of no key");
        if (!check.has(table::index, kept_until_key(outcome->expires_at, key)))
            check.report("an outcome under an Idempotency-Key of " + name("key", lineage) +
                         " would be kept for ever");
    };
    check.walk(table::index, key_bytes{tag::kept_outcome}, visit);
}

void check_outcome_expiries(consistency_check& check) {
    std::uint64_t expiries = 0;
    check.walk(table::index, key_bytes{tag::kept_until}, [&](std::string_view key, auto) {
        ++expiries;
        base::reader input(key);
        auto const expiry = input.integer<base::wall_ms>();
        auto const bytes = check.get(table::index, key_bytes{tag::kept_outcome}.add(input.rest()));
        auto const outcome = bytes ? decode_kept_outcome(*bytes) : std::nullopt;
        if (!outcome || outcome->expires_at != expiry)
            check.report("the end of an outcome under an Idempotency-Key is of none that is there");
    });
    check.compare("outcomes under Idempotency-Keys", expiries, check.count(tag::kept_outcome));
}

}  // namespace

void check_kept_outcomes(consistency_check& check) {
    check_outcomes(check);
    check_outcome_expiries(check);
}

}  // namespace latchkey::domain
