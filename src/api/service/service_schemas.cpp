// JSON Schemas of the process as a whole.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/service/service_routes.hpp"
#include "base/version.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

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
         {"requests", count_by_status()},
         {"limited", with_description(count(), "Refused by limits of keys.")},
         {"failed_authentications", count()},
         {"connections", with_description(count(), "Open now.")},
         {"streams", with_description(count(), "Of changes, open now.")},
         {"latency", latency},
         {"nodes", with_description(list_of(node, 1024), "Empty without a cluster.")}},
        json::parse(R"({"version": ")" LATCHKEY_VERSION
                    R"(", "started_at": "2026-01-02T03:04:05.678Z",
            "requests": {"2xx": 9, "3xx": 0, "4xx": 3, "5xx": 0}, "limited": 2,
            "failed_authentications": 1, "connections": 4, "streams": 0,
            "latency": {"count": 12, "sum_seconds": 0.0012, "buckets": [
            {"le": 0.0001, "count": 9}, {"le": null, "count": 12}]}, "nodes": []})"));
}

}  // namespace

object service_schemas() {
    return {{"ServiceReport", service_report_schema()}};
}

}  // namespace latchkey::api::schema
