#include "tests/delivery/fake_store.hpp"

#include <algorithm>

namespace latchkey::delivery {

model::webhook& fake_store::add(model::id id) {
    auto& added = entries[id];
    added.webhook.id = id;
    added.progress.position = last_;
    return added.webhook;
}

model::id fake_store::change(model::change_type type, std::string project, model::id subject) {
    changes_[++last_] = {type, std::move(project), subject};
    return last_;
}

void fake_store::replay(model::id webhook, model::id first, model::id last) {
    ++last_ordinal_;
    of(webhook).replays[last_ordinal_] = {last_ordinal_, first, last};
}

void fake_store::forget_before(model::id sequence) {
    changes_.erase(changes_.begin(), changes_.lower_bound(sequence));
}

void fake_store::visit(model::id position, visitor visitor) const {
    for (auto each = changes_.upper_bound(position); each != changes_.end(); ++each) {
        ++reads_;
        auto const& [sequence, content] = *each;
        if (!visitor({sequence, content.type, content.project, content.subject})) return;
    }
}

void fake_store::commit(std::vector<report> const& reports) {
    for (auto const& each : reports) {
        auto const place = entries.find(each.webhook);
        if (place == entries.end()) continue;
        auto& entry = place->second;
        if (each.progress) {
            entry.progress.position = std::max(entry.progress.position, each.progress->position);
            entry.progress.failing_since = each.progress->failing_since;
        }
        for (auto const& delivery : each.deliveries) {
            auto& record = entry.deliveries[delivery.sequence];
            bool const goes_on =
                record.sequence != 0 && record.state == model::delivery_state::pending;
            auto attempts = goes_on ? record.attempts : std::vector<model::delivery_attempt>();
            attempts.insert(attempts.end(), delivery.attempts.begin(), delivery.attempts.end());
            record = delivery;
            record.attempts = std::move(attempts);
        }
        for (auto const& replay : each.replays) {
            if (replay.next > replay.last)
                entry.replays.erase(replay.ordinal);
            else
                entry.replays[replay.ordinal] = replay;
        }
        if (each.end != model::webhook_end::none) entry.webhook.end = each.end;
    }
}

void fake_store::load_into(delivery_schedule& schedule) const {
    std::vector<model::id> enabled;
    for (auto const& [id, entry] : entries)
        if (entry.webhook.end == model::webhook_end::none) enabled.push_back(id);
    schedule.keep_only(enabled);
    for (auto const id : enabled) {
        auto const& entry = entries.at(id);
        std::vector<model::webhook_replay> replays;
        for (auto const& [ordinal, replay] : entry.replays) replays.push_back(replay);
        if (schedule.has(id)) {
            schedule.update(entry.webhook, replays);
            continue;
        }
        std::vector<pending_delivery> pending;
        for (auto const& [sequence, delivery] : entry.deliveries)
            if (delivery.state == model::delivery_state::pending)
                pending.push_back({.sequence = sequence,
                                   .type = delivery.type,
                                   .attempts = static_cast<std::uint8_t>(delivery.attempts.size()),
                                   .due = delivery.next_attempt_at});
        schedule.add(entry.webhook, entry.progress, std::move(pending), replays);
    }
}

}  // namespace latchkey::delivery
