// JSON Schemas of the usage of keys, of the whole service, and of sessions of browsers.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/frame/schema.hpp"
#include "base/limits.hpp"

namespace latchkey::api {
namespace {

namespace json = boost::json;
using namespace schema;

object count() {
    return {{"type", "integer"}, {"minimum", 0}};
}
object by_status() {
    return response_object({{"2xx", count()}, {"3xx", count()}, {"4xx", count()}, {"5xx", count()}},
                           nullptr);
}
object points() {
    return list_of(
        response_object(
            {{"start", time()},
             {"requests", count()},
             {"by_status", by_status()},
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

object service_report_schema() {
    object const seconds{{"type", "number"}, {"minimum", 0}};
    auto const bucket = response_object({{"le", nullable(seconds)}, {"count", count()}}, nullptr);
    auto const latency = response_object(
        {{"count", count()}, {"sum_seconds", seconds}, {"buckets", list_of(bucket, 64)}}, nullptr);
    auto const node = response_object({{"name", object{{"type", "string"}}},
                                       {"is_self", boolean()},
                                       {"is_alive", boolean()},
                                       {"lag_rows", count()},
                                       {"version", object{{"type", "string"}}}},
                                      nullptr);
    return response_object(
        {{"version", object{{"type", "string"}}},
         {"started_at", time()},
         {"requests", by_status()},
         {"limited", with_description(count(), "Refused by limits of keys.")},
         {"failed_authentications", count()},
         {"connections", with_description(count(), "Open now.")},
         {"streams", with_description(count(), "Of changes, open now.")},
         {"latency", latency},
         {"nodes", with_description(list_of(node, 1024), "Empty without a cluster.")}},
        json::parse(R"({"version": "0.1.0", "started_at": "2026-01-02T03:04:05.678Z",
            "requests": {"2xx": 9, "3xx": 0, "4xx": 3, "5xx": 0}, "limited": 2,
            "failed_authentications": 1, "connections": 4, "streams": 0,
            "latency": {"count": 12, "sum_seconds": 0.0012, "buckets": [
            {"le": 0.0001, "count": 9}, {"le": null, "count": 12}]}, "nodes": []})"));
}

object session_schema() {
    return response_object({{"key_id", id()}, {"started_at", time()}, {"expires_at", time()}},
                           json::parse(R"({"key_id": 2, "started_at": "2026-01-02T03:04:05.678Z",
                     "expires_at": "2026-01-02T04:04:05.678Z"})"));
}

}  // namespace

boost::json::object usage_schemas() {
    return {{"Usage", usage_schema()},
            {"UsageOfKeys", usage_of_keys_schema()},
            {"ServiceReport", service_report_schema()},
            {"Session", session_schema()}};
}

}  // namespace latchkey::api
