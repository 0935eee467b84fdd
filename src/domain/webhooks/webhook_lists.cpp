// Each query is a look-up or a walk, and a decoding of the bytes found. The deliveries of a webhook
// are found among those of all by jumping over the others.
#include "domain/webhooks/webhook_lists.hpp"

#include "domain/frame/list_part.hpp"
#include "domain/webhooks/webhook_record.hpp"

namespace latchkey::domain {
namespace {

std::optional<webhook_entry> entry_of(snapshot_state& state, model::id id,
                                      std::optional<std::string_view> bytes) {
    auto record = state.readable(bytes ? decode_webhook_record(id, *bytes) : std::nullopt);
    if (!record) return std::nullopt;
    webhook_entry entry{.webhook = std::move(record->webhook), .progress = {}};
    if (auto const progress = state.get(table::index, webhook_progress_key(id)))
        entry.progress = state.readable(model::decode_webhook_progress(*progress))
                             .value_or(model::webhook_progress{});
    return entry;
}

// Descends through `deliveries`, which all webhooks share, to those of one webhook: where others
// have many at a sequence it jumps over them.
class delivery_walk {
  public:
    delivery_walk(snapshot_state& state, model::id webhook)
        : state_(state), cursor_(state.cursor(table::deliveries)), webhook_(webhook) {}

    // Moves to the newest delivery below a sequence. False: there is none, or the work has come to
    // `cost_end`; then `is_cut` says so, and it came further down than `bound`.
    bool below(model::id bound, std::int64_t cost_end) {
        auto sequence = bound;
        for (model::id webhook = 0;;) {
            if (!seek_before(sequence, webhook)) return false;
            sequence = sequence_;
            if (owner_ == webhook_) return true;
            // Only before a webhook of a higher id may that sequence have one of this webhook.
            bool const may_be_here = owner_ > webhook_;
            webhook = may_be_here ? webhook_ + 1 : 0;
            if (may_be_here) ++sequence_;
            is_cut_ = sequence_ < bound && state_.work.cost() >= cost_end;
            if (is_cut_) return false;
        }
    }
    // The sequence of the delivery or, where the walk was cut, one at or above which no delivery of
    // this webhook is left.
    model::id sequence() const { return sequence_; }
    bool is_cut() const { return is_cut_; }
    std::optional<std::string_view> content() {
        return state_.content(table::deliveries, view_of(key_), view_of(value_));
    }

  private:
    // Moves to the last entry below the key; its parts become the sequence and the owner.
    bool seek_before(model::id sequence, model::id webhook) {
        auto const target = delivery_key(sequence, webhook);
        if (cursor_ == nullptr) return false;
        ++state_.work.searches;
        key_ = val_of(target);
        int code = ::mdb_cursor_get(cursor_, &key_, &value_, MDB_SET_RANGE);
        code = ::mdb_cursor_get(cursor_, &key_, &value_, code == 0 ? MDB_PREV : MDB_LAST);
        if (code != 0 && code != MDB_NOTFOUND) state_.note_damaged_page(code);
        if (code != 0) return false;
        base::reader reader(view_of(key_));
        sequence_ = reader.integer<model::id>();
        owner_ = reader.integer<model::id>();
        if (!reader.done() || view_of(key_) >= std::string_view(target)) {
            state_.note_damage(table::deliveries, view_of(key_));
            return false;
        }
        return true;
    }

    snapshot_state& state_;
    MDB_cursor* cursor_;  // null: it cannot be opened
    model::id webhook_;
    MDB_val key_{}, value_{};
    model::id sequence_ = 0;
    model::id owner_ = 0;
    bool is_cut_ = false;
};

}  // namespace

std::optional<webhook_entry> find_webhook(snapshot const& view, model::id id) {
    auto& state = view.state();
    auto const bytes = state.get(table::index, webhook_key(id));
    return bytes ? entry_of(state, id, bytes) : std::nullopt;
}

list_result list_webhooks(snapshot const& view, std::optional<std::string_view> project,
                          range const& part, webhook_sink sink) {
    auto& state = view.state();
    id_walk walk(state, table::index, key_bytes{tag::webhook});
    auto const includes = [&] {
        if (!project) return true;
        auto const bytes = walk.content();
        auto const record = bytes ? decode_webhook_record(walk.id(), *bytes) : std::nullopt;
        return !record || record->webhook.project == *project;
    };
    std::uint64_t total = 0;
    for (bool valid = walk.first(); valid; valid = walk.next()) total += includes() ? 1 : 0;
    auto const emit = [&] {
        auto const entry = entry_of(state, walk.id(), walk.content());
        if (entry) sink(*entry);
        return entry.has_value();
    };
    return list_part(walk, part, total, includes, emit).emit();
}

std::optional<signing_webhook> find_signing_webhook(snapshot const& view, model::id id,
                                                    base::wall_ms now) {
    auto& state = view.state();
    auto const bytes = state.get(table::index, webhook_key(id));
    auto record = bytes ? state.readable(decode_webhook_record(id, *bytes)) : std::nullopt;
    if (!record) return std::nullopt;
    auto secrets = state.readable(decrypt_secrets(state.store, *record, now));
    if (!secrets || !decrypt_header_values(state.store, *record)) {
        state.damaged = true;
        return std::nullopt;
    }
    return signing_webhook{std::move(record->webhook), std::move(*secrets)};
}

std::vector<model::webhook_replay> read_replays(snapshot const& view, model::id webhook) {
    auto& state = view.state();
    std::vector<model::webhook_replay> replays;
    id_walk walk(state, table::index, replays_of(webhook));
    for (bool valid = walk.first(); valid; valid = walk.next()) {
        auto const bytes = walk.content();
        auto const ordinal = static_cast<std::uint64_t>(walk.id());
        auto const replay =
            state.readable(bytes ? model::decode_webhook_replay(ordinal, *bytes) : std::nullopt);
        if (replay) replays.push_back(*replay);
    }
    return replays;
}

std::optional<model::delivery> find_delivery(snapshot const& view, model::id sequence,
                                             model::id webhook) {
    auto& state = view.state();
    auto const bytes = state.get(table::deliveries, delivery_key(sequence, webhook));
    return bytes ? state.readable(decode_delivery(sequence, *bytes)) : std::nullopt;
}

void visit_pending_deliveries(snapshot const& view, model::id webhook, model::id position,
                              pending_visitor visitor) {
    auto& state = view.state();
    id_walk walk(state, table::index, pending_of(webhook));
    for (bool valid = walk.at_or_above(position + 1); valid; valid = walk.next()) {
        auto const each = state.readable(find_delivery(view, walk.id(), webhook));
        if (each && !visitor(*each)) return;
    }
}

delivery_page list_deliveries(snapshot const& view, model::id webhook, delivery_range const& part,
                              delivery_sink sink) {
    auto& state = view.state();
    constexpr model::id above_all = INT64_MAX;
    auto const bound = part.bound != 0 ? part.bound : above_all;
    auto const cost_end =
        part.cost_max == INT64_MAX ? INT64_MAX : state.work.cost() + part.cost_max;
    std::uint32_t count = 0;
    delivery_page page{.next_before = bound};
    // Whether the page ends behind this delivery, of which there may be the last.
    auto const is_full = [&](model::id sequence) {
        page.has_more = state.work.cost() >= cost_end ||
                        (part.output != nullptr && part.output->size() >= part.output_bytes_max);
        if (page.has_more) page.next_before = sequence;
        return page.has_more;
    };
    // Emits a delivery of the list, unless it belongs to the next page.
    auto const emit = [&](model::delivery const& each) {
        if (part.state && each.state != *part.state) return true;
        if (count == part.limit) return !(page.has_more = true);
        sink(each);
        ++count;
        page.next_before = each.sequence;
        return true;
    };
    if (part.state == model::delivery_state::pending) {
        id_walk walk(state, table::index, pending_of(webhook));
        for (bool valid = walk.below(bound); valid; valid = walk.previous()) {
            auto const each = state.readable(find_delivery(view, walk.id(), webhook));
            if ((each && !emit(*each)) || is_full(walk.id())) break;
        }
        return page;
    }
    delivery_walk walk(state, webhook);
    for (auto sequence = bound; walk.below(sequence, cost_end); sequence = walk.sequence()) {
        auto const bytes = walk.content();
        auto const each =
            state.readable(bytes ? decode_delivery(walk.sequence(), *bytes) : std::nullopt);
        if ((each && !emit(*each)) || is_full(walk.sequence())) return page;
    }
    if (walk.is_cut()) page = {.has_more = true, .next_before = walk.sequence()};
    return page;
}

std::optional<delivery_lease> find_delivery_lease(snapshot const& view) {
    auto& state = view.state();
    auto const bytes = state.get(table::index, key_bytes{tag::delivery_lease});
    return bytes ? state.readable(decode_delivery_lease(*bytes)) : std::nullopt;
}

}  // namespace latchkey::domain
