#include "domain/frame/rejection.hpp"

#include "base/limits.hpp"

namespace latchkey::domain {
namespace {

void add_read_only(std::vector<base::fault>& faults, std::string_view pointer,
                   std::string_view detail =
                       "is assigned by the service: leave it out, or send it "
                       "back unchanged") {
    faults.push_back({.location = std::string(pointer),
                      .code = base::field_code::read_only_field,
                      .detail = std::string(detail)});
}

// Null is stored as a time of zero.
bool differs(std::optional<std::optional<base::wall_ms>> const& expected, base::wall_ms actual) {
    return expected && expected->value_or(0) != actual;
}

}  // namespace

outcome reject(base::problem problem, std::string detail) {
    outcome result;
    result.problem = problem;
    result.detail = std::move(detail);
    return result;
}

outcome reject_invalid(std::vector<base::fault> faults) {
    if (faults.size() > base::limits::faults_max) faults.resize(base::limits::faults_max);
    outcome result;
    result.problem = base::problem::validation_failed;
    result.faults = std::move(faults);
    return result;
}

outcome reject_missing(command const& command, std::string detail) {
    if (!command.faults.empty()) return reject_invalid(command.faults);
    return reject(base::problem::not_found, std::move(detail));
}

std::optional<base::problem> check_capacity(transaction& txn, bool growing) {
    auto const& space = txn.capacity();
    if (growing ? !space.grow : !space.write) return base::problem::storage_full;
    if (growing) txn.allow_growth();
    return std::nullopt;
}

std::optional<outcome> check_conditions(
    command const& command, base::function_ref<std::optional<model::entity_tag>()> current) {
    using enum base::problem;
    auto const& conditions = command.conditions;
    if (!conditions.match && conditions.required) return reject(precondition_required);
    if (!conditions.match && !conditions.none_match) return std::nullopt;
    auto const tag = current();
    if (conditions.match && !conditions.match->has(tag)) return reject(precondition_failed);
    if (conditions.none_match && conditions.none_match->has(tag))
        return reject(precondition_failed, "The resource is what If-None-Match says.");
    return std::nullopt;
}

std::optional<outcome> check_conditions(command const& command) {
    return check_conditions(command, [] { return std::optional<model::entity_tag>(); });
}

void compare(expected_members const& expected, read_only_members const& record,
             std::vector<base::fault>& faults) {
    if (expected.id && *expected.id != record.id) add_read_only(faults, "/id");
    if (expected.user_id && record.user_id && *expected.user_id != *record.user_id)
        add_read_only(faults, "/user_id",
                      "cannot change, a post stays with its user: leave it out, or send it back "
                      "unchanged");
    if (differs(expected.created_at, record.created_at)) add_read_only(faults, "/created_at");
    if (differs(expected.updated_at, record.updated_at)) add_read_only(faults, "/updated_at");
    if (record.published_at && differs(expected.published_at, *record.published_at))
        add_read_only(faults, "/published_at");
}

}  // namespace latchkey::domain
