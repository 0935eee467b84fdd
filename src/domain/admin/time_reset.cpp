// A sweep per kind of record: each step collects the keys of late records behind the last one,
// rewrites these and commits, so it may end anywhere and begin again. A dry run does the same and
// aborts. The time of the last write comes last, because the store is refused as long as that lies
// ahead.
#include "domain/admin/time_reset.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "domain/audit/audit.hpp"
#include "domain/changes/change_record.hpp"
#include "domain/events/event_record.hpp"
#include "domain/events/event_secret_record.hpp"
#include "domain/frame/bulk_load_state.hpp"
#include "domain/idempotency/kept_outcome.hpp"
#include "domain/keys/key_notice.hpp"
#include "domain/keys/key_record.hpp"
#include "domain/webhooks/webhook_entries.hpp"

namespace latchkey::domain {
namespace {

using base::wall_ms;

// Bounds of one transaction, which needs no more space reserved than a group of commands.
constexpr std::size_t records_per_step = 256;
constexpr std::size_t bytes_per_step = 2 * base::limits::mib;

// A sweep over one kind of record: `rewrite` is called for the keys for which `is_late` returned
// true, and returns false where nothing had to change. Keys are without the prefix.
struct sweep_rules {
    store::table table;
    std::string_view prefix;
    base::function_ref<bool(std::string_view key, std::string_view value)> is_late;
    base::function_ref<bool(transaction& transaction, std::string_view key)> rewrite;
};

class reset {
  public:
    reset(environment_state& store, bool dry_run) : store_(store), dry_run_(dry_run) {}

    base::result<time_reset> run();

  private:
    base::result<void> redate_users();
    base::result<void> redate_posts();
    base::result<void> redate_keys();
    base::result<void> redate_last_uses();
    base::result<void> redate_notices();
    base::result<void> redate_events();
    base::result<void> redate_secrets();
    base::result<void> redate_outcomes();
    base::result<void> redate_usage();
    base::result<void> redate_loads();
    base::result<void> redate_changes();
    base::result<void> redate_webhooks();
    base::result<void> redate_progress();
    base::result<void> redate_deliveries();
    base::result<void> count_audit_entries();
    base::result<void> set_last_write();

    base::result<void> sweep(sweep_rules const& rules, std::uint64_t& count);
    template <class Decode, class IsLate, class Rewrite>
    base::result<void> sweep_table(table table, std::uint64_t& count, Decode decode, IsLate is_late,
                                   Rewrite rewrite);
    void clamp(wall_ms& time) const { time = std::min(time, now_); }
    model::key redated(transaction& transaction, model::key key) const;

    environment_state& store_;
    bool dry_run_;
    wall_ms now_ = 0;
    time_reset report_;
};

base::error write_error(commit_result const& result) {
    return failure_error("the store cannot be mended", result);
}

// In steps of one transaction each, which continues after the last record of the step before.
base::result<void> reset::sweep(sweep_rules const& rules, std::uint64_t& count) {
    std::string begin(rules.prefix);
    for (bool more = true; more;) {
        transaction transaction(store_);
        std::vector<std::string> late_keys;
        std::size_t bytes = 0;
        auto const collect = [&](std::string_view key, std::string_view value) {
            if (!key.starts_with(rules.prefix)) return false;
            auto const suffix = key.substr(rules.prefix.size());
            if (!rules.is_late(suffix, value)) return true;
            late_keys.emplace_back(suffix);
            bytes += key.size() + value.size();
            return late_keys.size() < records_per_step && bytes < bytes_per_step;
        };
        transaction.scan(rules.table, begin, collect);
        more = late_keys.size() == records_per_step || bytes >= bytes_per_step;
        if (!transaction.ok()) return write_error(transaction.failure());
        if (late_keys.empty()) return {};
        begin = std::string(rules.prefix) + late_keys.back() + '\0';
        if (!dry_run_ && !transaction.capacity().grow)
            return base::error{
                "there is no room on the disk (or below store.map_mib) to mend the store; with "
                "more room the same command continues where this one ends"};
        transaction.allow_growth();
        for (auto const& key : late_keys) count += rules.rewrite(transaction, key) ? 1 : 0;
        auto const result = dry_run_ ? transaction.failure() : transaction.commit();
        if (!result.ok()) return write_error(result);
    }
    return {};
}

// A sweep over a table whose keys are ids; `is_late` and `rewrite` get the decoded record.
template <class Decode, class IsLate, class Rewrite>
base::result<void> reset::sweep_table(table table, std::uint64_t& count, Decode decode,
                                      IsLate is_late, Rewrite rewrite) {
    auto const decode_record = [&](std::string_view key, std::string_view value) {
        auto const id = read_id(key);
        return id ? decode(*id, value) : std::nullopt;
    };
    auto const is_late_record = [&](std::string_view key, std::string_view value) {
        auto const record = decode_record(key, value);
        return record && is_late(*record);
    };
    auto const rewrite_record = [&](transaction& transaction, std::string_view key) {
        auto const bytes = transaction.get(table, key);
        auto const record = bytes ? decode_record(key, *bytes) : std::nullopt;
        if (record) rewrite(transaction, *record);
        return record.has_value();
    };
    return sweep({table, {}, is_late_record, rewrite_record}, count);
}

base::result<void> reset::redate_users() {
    auto const is_late = [&](model::user_view const& user) {
        return std::max(user.created_at, user.updated_at) > now_;
    };
    auto const rewrite = [&](transaction& transaction, model::user_view const& view) {
        auto user = model::copy_of(view);
        clamp(user.created_at);
        clamp(user.updated_at);
        encode(user, transaction.scratch);
        transaction.put(table::users, id_key(user.id), transaction.scratch);
    };
    return sweep_table(table::users, report_.users, model::decode_user, is_late, rewrite);
}

base::result<void> reset::redate_posts() {
    auto const is_late = [&](model::post_view const& post) {
        return std::max({post.created_at, post.updated_at, post.published_at}) > now_;
    };
    auto const rewrite = [&](transaction& transaction, model::post_view const& view) {
        auto post = model::copy_of(view);
        clamp(post.created_at);
        clamp(post.updated_at);
        clamp(post.published_at);
        encode(post, transaction.scratch);
        transaction.put(table::posts, id_key(post.id), transaction.scratch);
    };
    return sweep_table(table::posts, report_.posts, model::decode_post, is_late, rewrite);
}

base::result<void> reset::redate_events() {
    auto const is_late = [&](model::event_view const& event) { return event.received_at > now_; };
    auto const rewrite = [&](transaction& transaction, model::event_view const& event) {
        redate_event(transaction, event, now_);
    };
    return sweep_table(table::events, report_.events, model::decode_event, is_late, rewrite);
}

// A key that was created after now begins now. Times before its creation were not made by the wrong
// clock. The creation of its successor, which has a higher id and so is redated later, is the time
// of the rotation.
model::key reset::redated(transaction& transaction, model::key key) const {
    auto const advance = key.created_at - now_;
    if (advance > 0) {
        for (auto* const time : {&key.not_before, &key.expires_at})
            if (*time > key.created_at) *time -= advance;
        key.created_at = now_;
    }
    clamp(key.deactivated_at);
    model::key successor;
    bool const replaced = key.replaced_by != 0 &&
                          read_key(transaction, key.replaced_by, successor) == base::problem::none;
    if (replaced && successor.created_at > now_ && key.rotation_ends_at > now_)
        key.rotation_ends_at -= std::min(successor.created_at, key.rotation_ends_at) - now_;
    return key;
}

base::result<void> reset::redate_keys() {
    auto const prefix = key_bytes{tag::key};
    auto const is_late = [&](std::string_view bytes, std::string_view value) {
        auto const id = read_id(bytes);
        auto const key = id ? model::decode_key(*id, value) : std::nullopt;
        return key &&
               std::max({key->created_at, key->deactivated_at, key->rotation_ends_at}) > now_;
    };
    auto const rewrite = [&](transaction& transaction, std::string_view bytes) {
        model::key old_key;
        if (read_key(transaction, read_id(bytes).value_or(0), old_key) != base::problem::none)
            return false;
        auto const key = redated(transaction, old_key);
        if (key.created_at == old_key.created_at && key.deactivated_at == old_key.deactivated_at &&
            key.rotation_ends_at == old_key.rotation_ends_at)
            return false;
        put_key(transaction, &old_key, key);
        return true;
    };
    return sweep({table::index, prefix, is_late, rewrite}, report_.keys);
}

base::result<void> reset::redate_last_uses() {
    auto const is_late = [&](std::string_view, std::string_view value) {
        return read_id(value).value_or(0) > now_;
    };
    auto const rewrite = [&](transaction& transaction, std::string_view suffix) {
        std::array<char, 8> value;
        transaction.put(table::index, key_bytes{tag::key_use}.add(suffix), id_value(now_, value));
        return true;
    };
    return sweep({table::index, key_bytes{tag::key_use}, is_late, rewrite}, report_.last_uses);
}

// Events that were recorded because of the wrong clock and have not happened yet are recorded again
// when they do. They are not counted in the report, since nobody sees these records.
base::result<void> reset::redate_notices() {
    auto const prefix = key_bytes{tag::key_notice};
    auto const redated_notice = [&](std::string_view value) {
        auto notice = decode_key_notice(value).value_or(key_notice{});
        for (auto* const time : {&notice.told_until, &notice.limited_at, &notice.exposed_at})
            clamp(*time);
        return notice;
    };
    auto const is_late = [&](std::string_view key, std::string_view value) {
        if (key.empty()) return read_id(value).value_or(0) > now_;
        return redated_notice(value) != decode_key_notice(value).value_or(key_notice{});
    };
    auto const rewrite = [&](transaction& transaction, std::string_view suffix) {
        auto const key = key_bytes{tag::key_notice}.add(suffix);
        auto const bytes = transaction.get(table::index, key);
        if (!bytes) return false;
        std::array<char, 8> value;
        if (suffix.empty()) {
            transaction.put(table::index, key, id_value(now_, value));
        } else {
            encode(redated_notice(*bytes), transaction.scratch);
            transaction.put(table::index, key, transaction.scratch);
        }
        return true;
    };
    std::uint64_t count = 0;
    return sweep({table::index, prefix, is_late, rewrite}, count);
}

base::result<void> reset::redate_secrets() {
    auto const prefix = key_bytes{tag::event_secret};
    auto const is_late = [&](std::string_view, std::string_view value) {
        auto const secrets = decode_event_secrets(value);
        return secrets && secrets->front().created_at > now_;
    };
    auto const rewrite = [&](transaction& transaction, std::string_view source) {
        auto const bytes = transaction.get(table::index, event_secret_key(source));
        auto secrets = bytes ? decode_event_secrets(*bytes) : std::nullopt;
        if (!secrets) return false;
        auto const advance = secrets->front().created_at - now_;
        for (auto& secret : *secrets) {
            clamp(secret.created_at);
            if (secret.ends_at != 0) secret.ends_at -= advance;
        }
        encode(*secrets, transaction.scratch);
        transaction.put(table::index, event_secret_key(source), transaction.scratch);
        return true;
    };
    return sweep({table::index, prefix, is_late, rewrite}, report_.secrets);
}

// The index by time has the outcomes that are kept too long; their records hold the time as well.
base::result<void> reset::redate_outcomes() {
    auto const prefix = key_bytes{tag::kept_until};
    auto const latest = now_ + idempotency_ms;
    auto const is_late = [&](std::string_view key, std::string_view) {
        return base::reader(key).integer<wall_ms>() > latest;
    };
    auto const rewrite = [&](transaction& transaction, std::string_view key) {
        auto const suffix = key.substr(sizeof(wall_ms));
        auto const outcome_key = key_bytes{tag::kept_outcome}.add(suffix);
        auto const bytes = transaction.get(table::index, outcome_key);
        auto outcome = bytes ? decode_kept_outcome(*bytes) : std::nullopt;
        transaction.erase(table::index, key_bytes{tag::kept_until}.add(key));
        if (!outcome) return true;
        outcome->expires_at = latest;
        encode(*outcome, transaction.scratch);
        transaction.put(table::index, outcome_key, transaction.scratch);
        transaction.put(table::index, kept_until_key(latest, suffix), {});
        return true;
    };
    return sweep({table::index, prefix, is_late, rewrite}, report_.outcomes);
}

// Each granularity by itself, so an hour stays the sum of its minutes.
base::result<void> reset::redate_usage() {
    auto const prefix = key_bytes{tag::key_usage};
    auto const is_late = [&](std::string_view key, std::string_view) {
        base::reader input(key);
        auto const step = input.integer<std::uint8_t>();
        auto const start = input.integer<wall_ms>();
        return step < model::granularities.size() && start > now_;
    };
    auto const rewrite = [&](transaction& transaction, std::string_view key) {
        base::reader input(key);
        auto const step = model::granularities[input.integer<std::uint8_t>()];
        auto const start = input.integer<wall_ms>();
        auto const id = input.integer<model::id>();
        auto const usage_at = [&](std::string_view usage_key) {
            auto const bytes = transaction.get(table::index, usage_key);
            return bytes ? model::decode_usage(*bytes).value_or(model::usage{}) : model::usage{};
        };
        auto const late_key = usage_in(step, start).add(id);
        auto const present_key = usage_in(step, model::start_of(step, now_)).add(id);
        auto sum = usage_at(present_key);
        sum += usage_at(late_key);
        encode(sum, transaction.scratch);
        transaction.put(table::index, present_key, transaction.scratch);
        transaction.erase(table::index, late_key);
        return true;
    };
    return sweep({table::index, prefix, is_late, rewrite}, report_.usage);
}

base::result<void> reset::redate_loads() {
    auto const prefix = key_bytes{tag::load};
    auto const is_late = [&](std::string_view, std::string_view value) {
        auto const load = decode_load_state(value);
        return load && std::max(load->begun_at, load->finished_at) > now_;
    };
    auto const rewrite = [&](transaction& transaction, std::string_view key) {
        auto const load_name = load_key(base::reader(key).integer<std::uint64_t>());
        auto const bytes = transaction.get(table::index, load_name);
        auto load = bytes ? decode_load_state(*bytes) : std::nullopt;
        if (!load) return false;
        clamp(load->begun_at);
        clamp(load->finished_at);
        encode(*load, transaction.scratch);
        transaction.put(table::index, load_name, transaction.scratch);
        return true;
    };
    return sweep({table::index, prefix, is_late, rewrite}, report_.loads);
}

// The records of changes stay as they were told.
base::result<void> reset::redate_changes() {
    auto const is_late = [&](change_view const& change) { return change.occurred_at > now_; };
    auto const rewrite = [&](transaction& transaction, change_view change) {
        clamp(change.occurred_at);
        encode(change, transaction.scratch);
        transaction.put(table::changes, id_key(change.sequence), transaction.scratch);
    };
    return sweep_table(table::changes, report_.changes, decode_change, is_late, rewrite);
}

base::result<void> reset::redate_webhooks() {
    auto const is_late = [&](std::string_view key, std::string_view value) {
        auto const record = decode_webhook_record(read_id(key).value_or(0), value);
        return record && std::max(record->webhook.created_at, record->webhook.updated_at) > now_;
    };
    auto const rewrite = [&](transaction& transaction, std::string_view key) {
        webhook_record record;
        if (read_webhook(transaction, read_id(key).value_or(0), record) != base::problem::none)
            return false;
        auto& webhook = record.webhook;
        auto const advance = webhook.updated_at - now_;
        for (auto* const time : {&webhook.created_at, &webhook.updated_at, &webhook.disabled_at})
            clamp(*time);
        if (webhook.rotation_ends_at > now_) webhook.rotation_ends_at -= advance;
        for (auto& secret : record.secrets)
            if (secret.ends_at > now_) secret.ends_at -= advance;
        put_webhook(transaction, record);
        return true;
    };
    return sweep({table::index, key_bytes{tag::webhook}, is_late, rewrite}, report_.webhooks);
}

base::result<void> reset::redate_progress() {
    auto const is_late = [&](std::string_view, std::string_view value) {
        auto const progress = model::decode_webhook_progress(value);
        return progress && progress->failing_since > now_;
    };
    auto const rewrite = [&](transaction& transaction, std::string_view key) {
        auto const webhook = read_id(key).value_or(0);
        auto progress = read_progress(transaction, webhook);
        clamp(progress.failing_since);
        put_progress(transaction, webhook, progress);
        return true;
    };
    std::uint64_t count = 0;  // they belong to their webhooks
    return sweep({table::index, key_bytes{tag::webhook_progress}, is_late, rewrite}, count);
}

// Deliveries that were attempted after now are attempted again now.
base::result<void> reset::redate_deliveries() {
    auto const is_late = [&](std::string_view, std::string_view value) {
        auto const delivery = model::decode_delivery(0, value);
        return delivery && !delivery->attempts.empty() && delivery->attempts.back().time > now_;
    };
    auto const rewrite = [&](transaction& transaction, std::string_view key) {
        base::reader input(key);
        auto const sequence = input.integer<model::id>(), webhook = input.integer<model::id>();
        auto delivery = find_delivery(transaction, sequence, webhook);
        if (!delivery) return false;
        for (auto& attempt : delivery->attempts) clamp(attempt.time);
        clamp(delivery->next_attempt_at);
        put_delivery(transaction, webhook, *delivery);
        return true;
    };
    return sweep({table::deliveries, {}, is_late, rewrite}, report_.deliveries);
}

base::result<void> reset::count_audit_entries() {
    transaction transaction(store_);
    transaction.scan(table::audit, {}, [&](std::string_view key, std::string_view value) {
        auto const id = read_id(key);
        auto const entry = id ? decode_audit(*id, value) : std::nullopt;
        if (entry && entry->time > now_) ++report_.audit_entries;
        return true;
    });
    if (!transaction.ok()) return write_error(transaction.failure());
    return {};
}

base::result<void> reset::set_last_write() {
    if (dry_run_) return {};
    transaction transaction(store_);
    transaction.set_time(now_);
    transaction.force_commit();
    if (!transaction.capacity().write)
        return base::error{"there is no room on the disk to mend the store"};
    if (auto const result = transaction.commit(); !result.ok()) return write_error(result);
    return {};
}

base::result<time_reset> reset::run() {
    {
        transaction transaction(store_);
        if (!transaction.ok()) return write_error(transaction.failure());
        report_.last_write = report_.now = transaction.counters().written_at;
    }
    now_ = store_.clocks().clock;
    if (report_.last_write <= now_) return report_;
    report_.now = now_;
    for (auto const step :
         {&reset::redate_users, &reset::redate_posts, &reset::redate_events, &reset::redate_keys,
          &reset::redate_last_uses, &reset::redate_notices, &reset::redate_secrets,
          &reset::redate_outcomes, &reset::redate_usage, &reset::redate_loads,
          &reset::redate_changes, &reset::redate_webhooks, &reset::redate_progress,
          &reset::redate_deliveries, &reset::count_audit_entries, &reset::set_last_write})
        if (auto const outcome = (this->*step)(); !outcome) return outcome.error();
    return report_;
}

}  // namespace

base::result<time_reset> reset_time(environment& store, bool dry_run) {
    if (store.native().cluster)
        return base::error{
            "the store is a node of a cluster, whose other nodes have the same time: stop all of "
            "them, take this one out of the cluster, mend it, and begin the cluster with it again"};
    return reset(store.native(), dry_run).run();
}

}  // namespace latchkey::domain
