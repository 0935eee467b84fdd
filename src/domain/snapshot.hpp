// A worker's view of the store at one commit, with queries that are one logical statement each. One
// per worker, used on its thread only; renewed every turn and reset before the thread may block, so
// that no old page stays pinned. Views in results are valid until `reset` or `renew`.
//
//     snapshot.renew();
//     if (auto const user = snapshot.user(42)) …
//
// Look-ups by id and lists allocate nothing. The posts of a deleted user disappear with the commit
// of the deletion, even while the writer is still removing them. A page that LMDB refuses to read
// is damage, like a record without its checksum. To be destroyed before its environment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.hpp"
#include "domain/changes/change_record.hpp"
#include "domain/command.hpp"
#include "model/key.hpp"
#include "model/post.hpp"
#include "model/user.hpp"
#include "store/environment.hpp"
#include "store/read_work.hpp"

namespace latchkey::store {
struct snapshot_state;
}  // namespace latchkey::store

namespace latchkey::domain {

// A part of a list: from the element after the first `skip` ones (page mode), or from the element
// after `after_id` (cursor mode); in descending order that is the next smaller id.
struct range {
    std::uint64_t skip = 0;
    model::id after_id = 0;  // 0: from the beginning
    std::uint32_t limit = 20;
    bool descending = false;
    // Before `limit` it ends where `output`, to which the sink appends, has so many bytes or more,
    // and where so much was read that is not in the list (read_work).
    std::string const* output = nullptr;
    std::size_t output_bytes_max = SIZE_MAX;
    std::int64_t cost_max = INT64_MAX;
    // The cost, in ns, that passing over `skip` elements may have. Once a quarter of it is spent,
    // `output_bytes_max` counts as a quarter too.
    std::int64_t skip_cost_max = INT64_MAX;
};
struct list_result {
    std::uint64_t total = 0;  // exact; O(1) unless the list says otherwise
    bool is_counted = true;   // false: `total` would cost too much, and is 0
    bool has_more = false;
    bool is_cut = false;           // it has more, but ended before `limit`
    bool is_out_of_reach = false;  // `skip` would cost more than it may
    model::id last = 0;            // the last id that this part has or has passed over; 0: none
};
struct post_filter {
    std::optional<model::id> user_id;
    std::optional<model::post_status> status;
};
// An absent member selects everything. `now` is the time at which states are evaluated.
struct key_filter {
    std::optional<std::string_view> project;
    std::optional<model::environment> environment;
    std::optional<model::key_state> state;
    std::optional<std::string_view> start;
    std::optional<base::wall_ms> unused_since;
    std::optional<std::string_view> search = {};  // a part of the name (search_text)
    base::wall_ms now = 0;
};

// The sequences of the oldest and the last change that are kept; 0: there is none.
struct change_bounds {
    model::id oldest = 0;
    model::id last = 0;
};

// Within one part of the keys: those with events caused by time alone that are not recorded yet
// (note_key_times).
struct untold_times {
    std::vector<model::id> keys;
    model::id last = 0;              // of the part; 0: it was the last one
    base::wall_ms next = INT64_MAX;  // when the first of them has something to be told; it may
                                     // be past
    bool has_begun = false;          // the store records since when that is told
};

enum class resource : std::uint8_t { user, post };

class snapshot {
  public:
    explicit snapshot(environment& store);
    ~snapshot();
    snapshot(snapshot const&) = delete;
    snapshot& operator=(snapshot const&) = delete;

    void renew();  // resets a live snapshot first; sees every commit that was answered before
    void reset();
    // Number of the commit that it shows; only grows.
    std::uint64_t version() const;
    // The position in the log of the cluster (shared_log.hpp) that it shows; 0: no node.
    std::uint64_t position() const;
    // Store time (time.hpp) at a reading of the clocks, as of this version.
    base::wall_ms time_at(base::instant const& reading) const;
    // The same, now.
    base::wall_ms time() const;
    // True if a damaged or unreadable record was met since the last renew or `clear_damage`:
    // results since then are invalid, and the client is to get internal_error. Counted and logged
    // already.
    bool damaged() const;
    // Clears `damaged`.
    void clear_damage() const;

    // Prefetches what `user` or `post` will read into the processor's cache, while other work is
    // done: first the head of its page, which itself reads nothing of the page; then the record.
    void prefetch_page(resource resource, model::id id) const;
    void prefetch_record(resource resource, model::id id) const;
    // Both for several ids at once, so that their cache misses overlap.
    void prefetch(resource resource, std::span<model::id const> ids) const;
    // Was it read before in this version? Then it is found without a search.
    bool is_cached(resource resource, model::id id) const;
    // Number of searches for a user or post; only grows.
    std::uint64_t searches() const;
    // All that it has read; only grows.
    read_work const& work() const;
    std::optional<model::user_view> user(model::id id) const;
    std::optional<model::post_view> post(model::id id) const;
    std::optional<model::id> user_with_email(std::string_view email) const;  // ASCII case ignored

    using user_sink = base::function_ref<void(model::user_view const&)>;
    using post_sink = base::function_ref<void(model::post_view const&)>;
    list_result users(range const& part, user_sink sink) const;
    list_result posts(post_filter const& filter, range const& part, post_sink sink) const;
    std::uint64_t posts_of(model::id user) const;  // O(1)

    std::optional<model::key> key(model::id id) const;
    std::optional<model::key> key_with_digest(model::digest const& digest) const;
    std::vector<model::key> keys() const;  // all, ascending id; for the command line
    // With `state`, `start`, `unused_since` or `search` the keys that the other members select are
    // read, and counted where they are few (list_part.hpp).
    using key_sink = base::function_ref<void(model::key const&, base::wall_ms last_use)>;
    list_result keys(key_filter const& filter, range const& part, key_sink sink) const;
    // Sessions of browsers that began with that key in an earlier generation have ended.
    std::uint64_t sessions_generation(model::id key) const;
    base::wall_ms last_use(model::id key) const;  // 0: never, or not written yet

    // The part is the first `count` keys beyond `last_key`.
    untold_times keys_with_untold_times(model::id last_key, std::size_t count) const;

    // The log of changes (api.md §16). A record beyond the last one read may be unreadable: see
    // `damaged`.
    change_bounds changes() const;
    std::optional<change_view> change(model::id sequence) const;
    // Visits the changes beyond a sequence in order, until the visitor returns false.
    using change_visitor = base::function_ref<bool(change_view const&)>;
    void changes_after(model::id position, change_visitor visitor) const;

    // The kept outcome under an Idempotency-Key, or the rejection of a different request; nullopt:
    // none is kept.
    std::optional<outcome> find_outcome(idempotency const& idempotency, base::wall_ms now) const;

    // Are there keys whose text was not generated by the service? True also if that is unreadable.
    bool has_imported_digests() const;

    // Changes with every transaction that changes a key; 0: unreadable.
    std::uint64_t key_epoch() const;
    // Digests of the keys changed after `epoch`, oldest first; nullopt: the ring of changes (1,024
    // entries) does not reach back that far.
    std::optional<std::vector<model::digest>> keys_changed_since(std::uint64_t epoch) const;

    // For functions that read one kind of record, beside that record (webhook_lists.hpp).
    snapshot_state& state() const { return *state_; }

  private:
    std::unique_ptr<snapshot_state> state_;
};

}  // namespace latchkey::domain
