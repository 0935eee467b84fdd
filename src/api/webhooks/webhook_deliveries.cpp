// GET /webhooks/{id}/deliveries: what became of the changes that were sent (api.md §17).
#include <algorithm>
#include <utility>

#include "api/frame/json/json_writer.hpp"
#include "api/frame/resource.hpp"
#include "api/webhooks/webhook_json.hpp"
#include "api/webhooks/webhook_routes.hpp"
#include "base/limits.hpp"
#include "domain/webhooks/webhook_lists.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

api_result<domain::delivery_range> take_range(query& query) {
    domain::delivery_range range;
    if (auto const text = query.take("before")) {
        auto const sequence = parse_id(*text);
        if (!sequence) query.refuse("before", field_code::invalid_format, "must be a sequence");
        range.bound = sequence.value_or(range.bound);
    }
    if (auto const text = query.take("limit")) {
        auto const limit = parse_id(*text);
        if (!limit)
            query.refuse("limit", field_code::invalid_format, "must be a whole number from 1");
        range.limit = static_cast<std::uint32_t>(
            std::min<model::id>(limit.value_or(1), base::limits::page_limit_max));
    }
    if (auto const name = query.take("state")) {
        range.state = model::find_delivery_state(*name);
        if (!range.state)
            query.refuse("state", field_code::not_in_enum, "must be pending, delivered or failed");
    }
    if (auto error = query.refuse_rest()) return *error;
    return range;
}

}  // namespace

std::optional<api_error> list_deliveries(request_context const& context,
                                         domain::snapshot const& snapshot,
                                         http::response& response) {
    auto range = take_range(context.query);
    if (!range) return range.error();
    auto const entry = domain::find_webhook(snapshot, context.id);
    if (!entry || !sees_webhook(context, entry->webhook)) return no_such("webhook");
    auto& body = response.body;
    range->output = &body;
    range->output_bytes_max = context.page_bytes_max();
    range->cost_max = base::limits::page_cost_max;
    body.append("{\"data\":[");
    bool first = true;
    auto const page =
        domain::list_deliveries(snapshot, context.id, *range, [&](model::delivery const& delivery) {
            if (!std::exchange(first, false)) body.push_back(',');
            append_delivery(body, delivery, message_id_of(snapshot, delivery.sequence));
        });
    body.append("],\"pagination\":{\"next_before\":");
    append_id_or_null(body, page.has_more ? page.next_before : 0);
    body.append(",\"has_more\":").append(page.has_more ? "true}}" : "false}}");
    show_resource(response);
    response.is_partial = context.page_bytes_max() < base::limits::page_bytes_max &&
                          body.size() >= context.page_bytes_max();
    return std::nullopt;
}

}  // namespace latchkey::api
