#include "api/frame/route.hpp"

#include "base/limits.hpp"

namespace latchkey::api {

// Actions make nothing that lasts, so that a repeat of one does no harm.
bool takes_idempotency_key(route const& route) {
    return std::holds_alternative<write>(route.run) &&
           (route.method == http::method::post || route.method == http::method::patch);
}

std::optional<domain::resource> match::record() const {
    auto const* const reading = route == nullptr ? nullptr : std::get_if<read>(&route->run);
    return reading == nullptr ? std::nullopt : reading->record;
}

std::optional<model::id> parse_id(std::string_view text) {
    if (text.empty() || text.size() > 16 || text.front() == '0') return std::nullopt;
    model::id value = 0;
    for (char const digit : text) {
        if (digit < '0' || digit > '9') return std::nullopt;
        value = value * 10 + (digit - '0');
    }
    if (value > base::limits::id_max) return std::nullopt;
    return value;
}

}  // namespace latchkey::api
