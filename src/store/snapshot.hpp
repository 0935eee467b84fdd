// A worker's view of the store at one commit: queries, each one logical statement. One per worker,
// used on its thread alone; renewed every turn and reset before the thread may block, so that no
// old page stays pinned. Views in answers hold until `reset` or `renew`.
//
//     snapshot.renew();
//     if (auto const user = snapshot.user(42)) …
//
// Look-ups by id and lists allocate nothing. The posts of a deleted user are gone with its commit
// here too, even while the writer is still removing them. Errors of LMDB in a read end the process.
// Destroy it before its environment; in between, only the thread that uses it may touch it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.hpp"
#include "model/event.hpp"
#include "model/key.hpp"
#include "model/post.hpp"
#include "model/usage.hpp"
#include "model/user.hpp"
#include "store/audit.hpp"
#include "store/command.hpp"
#include "store/environment.hpp"
#include "store/event_secret.hpp"

namespace latchkey::store {

// Which part of a list: `skip` elements from its beginning (page mode), or those behind `after`
// (cursor mode); in descending order "behind" means smaller ids.
struct range {
    std::uint64_t skip = 0;
    model::id after = 0;  // 0: from the beginning
    std::uint32_t limit = 20;
    bool descending = false;
};
struct listed {
    std::uint64_t total = 0;  // exact; O(1) unless the list says otherwise
    bool has_more = false;
    model::id last = 0;  // the last id that was given out; 0 when none
};
struct post_filter {
    std::optional<model::id> user_id;
    std::optional<model::post_status> status;
};
// What is absent selects everything. `now` is the clock that states are told by.
struct key_filter {
    std::optional<std::string_view> project;
    std::optional<model::environment> environment;
    std::optional<model::key_state> state;
    std::optional<std::string_view> start;
    std::optional<base::wall_ms> unused_since;
    base::wall_ms now = 0;
};

enum class resource : std::uint8_t { user, post };

class snapshot {
  public:
    explicit snapshot(environment& store);
    ~snapshot();
    snapshot(snapshot const&) = delete;
    snapshot& operator=(snapshot const&) = delete;

    void renew();  // resets first when it was live; sees every commit that was answered before
    void reset();
    // Number of the commit that is seen; grows.
    std::uint64_t version() const;
    // True when an answer since the last renew or `forget_damage` left out a record that is there
    // but cannot be read (a bug or a damaged disk): then it is no answer, and the client is to get
    // internal_error.
    bool damaged() const;
    // Judged anew from here on.
    void forget_damage();

    // What `user` or `post` is going to read is fetched from memory, and meanwhile other work can
    // be done. First the page that has it, of which nothing is read here; then the record.
    void prefetch_page(resource which, model::id id) const;
    void prefetch_record(resource which, model::id id) const;
    // Both for several at once, whose waits overlap.
    void prefetch(resource which, std::span<model::id const> ids) const;
    // It was asked for of late, so it is found without a search.
    bool at_hand(resource which, model::id id) const;
    // How often a user or post was searched for; only grows.
    std::uint64_t searches() const;
    std::optional<model::user_view> user(model::id id) const;
    std::optional<model::post_view> post(model::id id) const;
    std::optional<model::id> user_with_email(std::string_view email) const;  // ASCII case ignored

    using user_sink = base::function_ref<void(model::user_view const&)>;
    using post_sink = base::function_ref<void(model::post_view const&)>;
    listed users(range const& part, user_sink each) const;
    listed posts(post_filter const& filter, range const& part, post_sink each) const;
    std::uint64_t posts_of(model::id user) const;  // O(1)

    std::optional<model::key> key(model::id id) const;
    std::optional<model::key> key_with_digest(model::digest const& digest) const;
    std::vector<model::key> keys() const;  // all, ascending id; for the command line
    // With `state`, `start` or `unused_since` every key that the others select is read.
    using key_sink = base::function_ref<void(model::key const&, base::wall_ms last_use)>;
    listed keys(key_filter const& filter, range const& part, key_sink each) const;
    base::wall_ms last_use(model::id key) const;  // 0: never, or not written yet

    // How a key was used, step by step from the one that `from` is in to the last that begins
    // before `to`; zeros where nothing was counted.
    using usage_sink = base::function_ref<void(base::wall_ms start, model::usage const&)>;
    void usage(model::id key, model::granularity by, base::wall_ms from, base::wall_ms to,
               usage_sink each) const;

    // The audit log: all of it, or of the keys of one project.
    using audit_sink = base::function_ref<void(audit_entry const&)>;
    listed audit(std::optional<std::string_view> project, range const& part, audit_sink each) const;

    // Events from outside; with `source` those of that one.
    std::optional<model::event_view> event(model::id id) const;
    using event_sink = base::function_ref<void(model::event_view const&)>;
    listed events(std::optional<std::string_view> source, range const& part, event_sink each) const;

    // Those that sign at `now`; nullopt: none, or they cannot be read (`damaged`).
    std::optional<store::event_secrets> event_secrets(std::string_view source,
                                                      base::wall_ms now) const;

    // What was decided under that Idempotency-Key, if it is still kept: the outcome of then, or the
    // refusal of another request.
    std::optional<outcome> recall(idempotency const& once, base::wall_ms now) const;

    bool has_imported_digests() const;  // is there a key whose text the service never made?

    // Moves with every transaction that changed a key.
    std::uint64_t key_epoch() const;
    // Digests of the keys changed after `epoch`, oldest first; nullopt when the ring of changes
    // (1,024 entries) does not reach back that far.
    std::optional<std::vector<model::digest>> keys_changed_since(std::uint64_t epoch) const;

    struct state;  // the store's own

  private:
    std::unique_ptr<state> state_;
};

}  // namespace latchkey::store
