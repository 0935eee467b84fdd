// JSON Schemas of sessions of browsers.
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/sessions/session_routes.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

object session_schema() {
    return response_object({{"key_id", id()}, {"started_at", time()}, {"expires_at", time()}},
                           json::parse(R"({"key_id": 2, "started_at": "2026-01-02T03:04:05.678Z",
                     "expires_at": "2026-01-02T04:04:05.678Z"})"));
}

}  // namespace

object session_schemas() {
    return {{"Session", session_schema()}};
}

}  // namespace latchkey::api::schema
