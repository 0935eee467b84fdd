#include "store/damage.hpp"

#include <algorithm>

#include "base/system/log.hpp"
#include "base/time_units.hpp"

namespace latchkey::store {
namespace {

// The tags of the index with their titles, and the sizes of the numbers at the start of a key that
// may be shown; the rest of a key may be personal or secret.
struct kind {
    store::tag tag;
    std::string_view name;
    std::string_view sizes;
};
constexpr kind kinds[] = {
    {tag::schema, "the version of the schema", ""},
    {tag::counters, "the record of counts and sequences", ""},
    {tag::email, "the index of e-mail addresses", ""},
    {tag::post_by_user, "the index of posts by user", "\x8\x8"},
    {tag::post_by_status, "the index of posts by status", "\x1\x8"},
    {tag::post_by_user_status, "the index of posts by user and status", "\x8\x1\x8"},
    {tag::tally, "the counts of posts of users", "\x8"},
    {tag::purge, "the list of deleted users", "\x8"},
    {tag::key, "keys", "\x8"},
    {tag::key_digest, "the index of keys by digest", ""},
    {tag::key_change, "the ring of changes of keys", "\x2"},
    {tag::key_use, "the last uses of keys", "\x8"},
    {tag::key_usage, "the usage of keys", "\x1\x8\x8"},
    {tag::key_admin, "the index of keys that may manage keys", "\x8"},
    {tag::key_list, "the lists of keys", ""},
    {tag::key_list_count, "the counts of lists of keys", ""},
    {tag::key_start, "the index of keys by start", ""},
    {tag::audit_head, "the end of the audit log", ""},
    {tag::audit_by_project, "the index of the audit log by project", ""},
    {tag::audit_count, "the counts of the audit log by project", ""},
    {tag::audit_made, "the counts of the audit log by acting key", "\x8"},
    {tag::kept_outcome, "the outcomes under Idempotency-Keys", "\x8"},
    {tag::kept_until, "the ends of outcomes under Idempotency-Keys", "\x8\x8"},
    {tag::event_head, "the count of events", ""},
    {tag::event_by_source, "the index of events by source", ""},
    {tag::event_mark, "the marks of events", ""},
    {tag::event_secret, "the secrets of sources of events", ""},
    {tag::event_count, "the counts of events by source", ""},
    {tag::load, "the states of bulk loads", "\x8"},
    {tag::load_moved, "the ids that bulk loads assigned", "\x8\x8"},
    {tag::webhook_head, "the count of webhooks", ""},
    {tag::webhook, "webhooks", "\x8"},
    {tag::webhook_progress, "the positions of webhooks", "\x8"},
    {tag::webhook_replay, "the replays of webhooks", "\x8\x8"},
    {tag::webhook_pending, "the pending deliveries of webhooks", "\x8\x8"},
    {tag::delivery_lease, "the lease of the node that delivers", ""},
    {tag::position, "the position in the cluster's log", ""},
    {tag::unfinished_load, "the mark of a load from the cluster", ""},
};

kind const* find_kind(std::string_view key) {
    auto const position = key.empty()
                              ? std::end(kinds)
                              : std::ranges::find(kinds, static_cast<tag>(key[0]), &kind::tag);
    return position == std::end(kinds) ? nullptr : position;
}

std::uint64_t take_number(std::string_view& key, std::size_t size) {
    std::uint64_t number = 0;
    for (auto const byte : key.substr(0, size))
        number = number << 8 | static_cast<unsigned char>(byte);
    key.remove_prefix(size);
    return number;
}

}  // namespace

std::string_view kind_of(table table, std::string_view key) {
    if (table != store::table::index) return table_names[static_cast<std::size_t>(table)];
    auto const* const entry = find_kind(key);
    return entry != nullptr ? entry->name : "entries of an unknown kind";
}

std::string describe(table table, std::string_view key) {
    std::string text(kind_of(table, key));
    auto const* const known_kind = table == store::table::index ? find_kind(key) : nullptr;
    std::string_view sizes = known_kind != nullptr ? known_kind->sizes : std::string_view();
    if (table != store::table::index && key.size() == sizeof(model::id)) sizes = "\x8";
    if (table == store::table::index && !key.empty()) key.remove_prefix(1);
    for (auto const size : sizes) {
        if (key.size() < static_cast<std::size_t>(size)) break;
        text += ", " + std::to_string(take_number(key, static_cast<std::size_t>(size)));
    }
    return text;
}

void damage_log::note(table table, std::string_view key) {
    report("a record of the store is damaged (" + describe(table, key) + ")");
}

void damage_log::note_page(std::string_view reason) {
    report("a page of the store cannot be read (" + std::string(reason) + ")");
}

void damage_log::note_misfit() {
    report("an entry of the store is malformed, or refers to a record that does not exist");
}

void damage_log::report(std::string const& event) {
    count_.fetch_add(1, std::memory_order_relaxed);
    auto const now = base::read_clocks().mono;
    auto next_line = next_line_.load(std::memory_order_relaxed);
    if (now < next_line || !next_line_.compare_exchange_strong(next_line, now + base::second)) {
        suppressed_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    auto const suppressed = suppressed_.exchange(0, std::memory_order_relaxed);
    base::log(base::severity::failure,
              event + (suppressed != 0 ? ", after " + std::to_string(suppressed) + " more" : "") +
                  ": the request for it got an error; latchkey check reports what is damaged and "
                  "what to do");
}

}  // namespace latchkey::store
