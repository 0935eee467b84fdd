// JSON Schemas of the usage of keys.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/usage/usage_routes.hpp"
#include "base/limits.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

object points() {
    return list_of(
        response_object(
            {{"start", time()},
             {"requests", count()},
             {"by_status", count_by_status()},
             {"limited",
              with_description(count(), "Of the 4xx, those that the key's limits refused.")}},
            nullptr),
        base::limits::usage_points_max);
}

object usage_schema() {
    return response_object(
        {{"data", points()}},
        json::parse(R"({"data": [{"start": "2026-01-02T03:00:00.000Z", "requests": 12,
                     "by_status": {"2xx": 9, "3xx": 0, "4xx": 3, "5xx": 0}, "limited": 2}]})"));
}

object usage_of_keys_schema() {
    auto const one =
        response_object({{"key_id", id()}, {"requests", count()}, {"points", points()}}, nullptr);
    auto const total = response_object({{"requests", count()}, {"points", points()}}, nullptr);
    return response_object({{"data", list_of(one, base::limits::usage_keys_max)},
                            {"total", total},
                            {"complete", with_description(boolean(), "False: not all was read.")}},
                           json::parse(R"({"data": [{"key_id": 2, "requests": 12, "points": [
            {"start": "2026-01-02T03:00:00.000Z", "requests": 12,
             "by_status": {"2xx": 9, "3xx": 0, "4xx": 3, "5xx": 0}, "limited": 2}]}],
            "total": {"requests": 12, "points": [
            {"start": "2026-01-02T03:00:00.000Z", "requests": 12,
             "by_status": {"2xx": 9, "3xx": 0, "4xx": 3, "5xx": 0}, "limited": 2}]},
            "complete": true})"));
}

object key_ids() {
    return matching("^[1-9][0-9]{0,15}(,[1-9][0-9]{0,15}){0,99}$");
}
object top_count() {
    return with_default(integer(1, static_cast<std::int64_t>(base::limits::usage_keys_max)), 10);
}
object granularity() {
    return with_default(one_of({"minute", "hour", "day"}), "hour");
}

}  // namespace

object usage_schemas() {
    return {{"Usage", usage_schema()}, {"UsageOfKeys", usage_of_keys_schema()}};
}

std::span<parameter const> usage_parameters() {
    static constexpr parameter rows[] = {
        {"from", "query", time, "The default is 24 hours before `to`."},
        {"to", "query", time, "The default is now."},
        {"granularity", "query", granularity, "The length of a point."},
        {"key_id", "query", key_ids, "Ids of 1 to 100 keys, separated by commas."},
        {"top", "query", top_count, "How many of the busiest keys."},
    };
    return rows;
}

}  // namespace latchkey::api::schema
