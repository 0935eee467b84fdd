// Parameters of what a gateway asks.
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/gateway/gateway_routes.hpp"

namespace latchkey::api::schema {
namespace {

object scope() {
    return ref("Scope");
}
object limit_status() {
    return with_default(one_of({"429", "403"}), "429");
}

}  // namespace

std::span<parameter const> gateway_parameters() {
    static constexpr parameter rows[] = {
        {"scope", "query", scope, "A scope that the key must cover."},
        {"limit_status", "query", limit_status,
         "With 403, a request beyond its limits is answered 403 with `X-Auth-Status: 429`."},
    };
    return rows;
}

}  // namespace latchkey::api::schema
