#include "delivery/attempt_rendering.hpp"

#include "api/frame/change_json.hpp"
#include "auth/webhook_signature.hpp"
#include "domain/webhooks/webhook_lists.hpp"
#include "model/message_id.hpp"

namespace latchkey::delivery {
namespace {

std::optional<domain::change_view> find_change(domain::snapshot const& snapshot,
                                               model::id sequence) {
    std::optional<domain::change_view> match;
    snapshot.changes_after(sequence - 1, [&](domain::change_view const& change) {
        if (change.sequence == sequence) match = change;
        return false;
    });
    return match;
}

}  // namespace

std::variant<deliver::protocol::attempt, unsendable> render(domain::snapshot const& snapshot,
                                                            delivery::attempt const& attempt,
                                                            base::instant const& now) {
    auto const change = find_change(snapshot, attempt.sequence);
    if (!change) {
        bool const damaged = snapshot.damaged();
        snapshot.clear_damage();
        return unsendable{damaged ? "the change cannot be read" : ""};
    }
    auto const webhook = domain::find_signing_webhook(snapshot, attempt.webhook, now.wall);
    if (!webhook) {
        snapshot.clear_damage();
        return unsendable{"the webhook cannot be read"};
    }
    deliver::protocol::attempt request{
        .number = attempt.number,
        .url = webhook->webhook.url,
        .fields = {},
        .body = {},
        .allow = {},
        .line = attempt.is_ordered ? std::uint64_t(attempt.webhook) : 0,
        .predecessor = attempt.is_ordered ? attempt.predecessor : 0};
    api::append_change(request.body, *change);
    auto const id = model::message_id(attempt.sequence, change->occurred_at);
    auto const timestamp = now.clock / 1000;
    request.fields = {
        {"content-type", "application/json"},
        {"user-agent", "latchkey"},
        {"webhook-id", id},
        {"webhook-timestamp", std::to_string(timestamp)},
        {"webhook-signature", auth::sign_webhook(*webhook, id, timestamp, request.body)}};
    for (auto const& [name, value] : webhook->webhook.headers)
        request.fields.push_back({name, value});
    return request;
}

}  // namespace latchkey::delivery
