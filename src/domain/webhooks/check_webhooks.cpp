// Webhooks, how far they have come, their deliveries and replays.
#include <unordered_set>

#include "domain/frame/consistency_check.hpp"
#include "domain/webhooks/webhook_record.hpp"

namespace latchkey::domain {
namespace {

struct known_webhooks {
    webhook_head head;
    std::unordered_set<model::id> ids;

    // Deleted webhooks leave deliveries until their changes are removed.
    bool has_existed(model::id id) const { return id >= 1 && id <= head.last; }
};

// Two ids, which are the whole rest of a key.
struct id_pair {
    model::id first = 0;
    model::id second = 0;
};
std::optional<id_pair> read_pair(std::string_view key) {
    base::reader reader(key);
    id_pair pair;
    pair.first = reader.integer<model::id>();
    pair.second = reader.integer<model::id>();
    if (!reader.done()) return std::nullopt;
    return pair;
}

void check_secrets(consistency_check& check, webhook_record record) {
    if (!check.store.has_master_key || !decrypt_secrets(check.store, record, 0) ||
        !decrypt_header_values(check.store, record))
        check.report_locked("the secret of " + name("webhook", record.webhook.id));
}

void check_records(consistency_check& check, known_webhooks& webhooks) {
    auto const visit = [&](model::id id, webhook_record const& record) {
        webhooks.ids.insert(id);
        check.check_time(record.webhook.updated_at, name("webhook", id));
        check_secrets(check, record);
        if (!check.has(table::index, webhook_progress_key(id)))
            check.report(name("webhook", id) + " has no position");
    };
    auto const count = walk_records(check, table::index, key_bytes{tag::webhook}, "webhook",
                                    webhooks.head.last, decode_webhook_record, visit);
    check.compare("webhooks", webhooks.head.count, count);
    check.walk(
        table::index, key_bytes{tag::webhook_progress},
        [&](std::string_view key, std::string_view content) {
            auto const id = read_id(key);
            if (!id || !webhooks.ids.contains(*id) || !model::decode_webhook_progress(content))
                check.report("the position of " + name("webhook", id.value_or(0)) +
                             " cannot be read, or is of no webhook");
        });
}

void check_replays(consistency_check& check, known_webhooks const& webhooks) {
    check.walk(table::index, key_bytes{tag::webhook_replay},
               [&](std::string_view key, std::string_view content) {
                   auto const pair = read_pair(key);
                   if (!pair || !webhooks.ids.contains(pair->first) ||
                       !model::decode_webhook_replay(0, content))
                       check.report("a replay cannot be read, or is of no webhook");
               });
}

void check_deliveries(consistency_check& check, known_webhooks const& webhooks) {
    check.walk(table::deliveries, {}, [&](std::string_view key, std::string_view content) {
        auto const pair = read_pair(key);
        auto const delivery = pair ? decode_delivery(pair->first, content) : std::nullopt;
        if (!delivery) return check.report("a delivery cannot be read");
        auto const text = "the delivery of " + name("change", pair->first) + " to " +
                          name("webhook", pair->second);
        if (!webhooks.has_existed(pair->second)) check.report(text + " is to no webhook");
        if (!check.has(table::changes, id_key(pair->first)))
            check.report(text + " is of a change that is not there");
        bool const is_pending = delivery->state == model::delivery_state::pending;
        bool const is_listed = check.has(table::index, pending_of(pair->second).add(pair->first));
        // What is pending of a deleted webhook may have lost its entry already.
        if (is_pending != is_listed && (is_listed || webhooks.ids.contains(pair->second)))
            check.report(text + (is_listed ? " is listed as pending and is not"
                                           : " is missing among those that are pending"));
    });
    check.walk(table::index, key_bytes{tag::webhook_pending}, [&](std::string_view key, auto) {
        auto const pair = read_pair(key);
        if (!pair || !webhooks.has_existed(pair->first) ||
            !check.has(table::deliveries, delivery_key(pair->second, pair->first)))
            check.report("a pending delivery is listed that is not there");
    });
}

}  // namespace

void check_webhooks(consistency_check& check) {
    known_webhooks webhooks;
    auto const head = decode_webhook_head(check.get(table::index, key_bytes{tag::webhook_head}));
    if (!head) return check.report("the count of webhooks cannot be read");
    webhooks.head = *head;
    check_records(check, webhooks);
    check_replays(check, webhooks);
    check_deliveries(check, webhooks);
    auto const lease = check.get(table::index, key_bytes{tag::delivery_lease});
    if (lease && !decode_delivery_lease(*lease))
        check.report("the lease of the node that delivers cannot be read");
}

}  // namespace latchkey::domain
