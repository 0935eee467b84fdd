// Users and posts by the million, for `latchkey import` and `latchkey seed`: thousands of records
// per transaction, written in the order of each index. The progress of a load is stored under a
// hash of its files and committed together with its records, so a load that was interrupted
// anywhere, by `kill -9` too, continues where it was and writes nothing twice, records without ids
// included.
//
//     auto load = domain::bulk_load::begin(environment, {.identity = …, .highest_user = …});
//     while (!load->users().complete) … fill a batch until load->is_full(count, bytes) …
//         load->add(batch, {.offset = …, .line = …});
//     load->finish();
//
// It works beside a server: parsing is done before `add`, and a transaction is sized to hold up
// other writers for 25 ms (one second where no server runs), with a pause after each. One thread;
// it must not outlive its environment. Errors are of the store or the disk and end the load, which
// may be resumed; a refused record ends nothing.
//
// Ids: those up to the highest in the files are reserved when a load begins, so they stay free
// whatever a server assigns meanwhile, and the files need no order; ids above load_id_max are
// refused. The id of a record is kept when it was never assigned: it is above all that were
// assigned when the load began. A user whose id is not free gets another one, and posts of the same
// load that name the old one follow it. A record that exists already, member for member and with
// the same id, is left unchanged; so is a user without an id, or with another, who has the same
// name and e-mail address, and posts of the load that name the other id follow. A post without an
// id is always a new one: two posts may be alike.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.hpp"
#include "base/limits.hpp"
#include "base/result.hpp"
#include "domain/frame/bulk_load_state.hpp"
#include "domain/store_terms.hpp"
#include "model/post.hpp"
#include "model/user.hpp"
#include "store/environment.hpp"

namespace latchkey::store {
class transaction;
}  // namespace latchkey::store

namespace latchkey::domain {

struct load_context;
// A batch comes with the position of its source after it, and with the lines that were refused
// before they came here, with the ids of their users where those could be read.
struct load_step {
    std::uint64_t offset = 0, line = 0, refusals = 0;
    std::vector<model::id> refused_users;
    bool complete = false;  // the last batch
};

class bulk_load {
  public:
    struct options {
        std::uint64_t identity = 0;   // of the sources; the same identity resumes the same load
        model::id highest_user = 0;   // ids up to these are reserved for the load's records; at
        model::id highest_post = 0;   // most load_id_max
        std::uint64_t new_users = 0;  // or, for generated records: the number of free ids to
        std::uint64_t new_posts = 0;  // reserve, from first_user() and first_post() on
        bool again = false;           // discard an earlier load of these sources
    };
    static base::result<bulk_load> begin(environment& store, options const& options);
    // Has a load of these sources begun, or ended? False also where that cannot be read.
    static bool was_begun(environment& store, std::uint64_t identity);

    load_progress const& users() const { return state_.users; }
    load_progress const& posts() const { return state_.posts; }
    model::id first_user() const { return state_.user_floor + 1; }
    model::id first_post() const { return state_.post_floor + 1; }
    bool was_begun_before() const { return begun_before_; }
    base::wall_ms finished_at() const { return state_.finished_at; }  // 0: not yet

    // Whether a batch of so many records, and bytes of text, is as large as it should be.
    bool is_full(std::size_t records, std::size_t bytes) const;

    // One transaction. The records are those of the API, with 0 for what their source leaves out:
    // an id is assigned then, a time is that of the transaction (updated_at: of created_at, and the
    // other way round). All users come before the posts. Refusals are returned by index.
    base::result<std::vector<load_refusal>> add(std::span<model::user> batch,
                                                load_step const& step);
    base::result<std::vector<load_refusal>> add(std::span<model::post> batch,
                                                load_step const& step);

    // Removes the data that only this load needed and records that it is finished.
    base::result<void> finish();

  private:
    static load_state first_state(transaction& transaction, options const& options);
    bulk_load(environment& store, std::uint64_t identity) : store_(&store), identity_(identity) {}

    base::result<std::vector<load_refusal>> commit_step(
        std::uint64_t growth_bytes, base::function_ref<void(load_context const&)> write_batch);
    void pause_beside_server();
    void adapt_batch_size(std::size_t records, base::mono_ns hold_time);

    environment* store_;
    std::uint64_t identity_;
    load_state state_;
    bool begun_before_ = false;
    bool beside_server_ = false;
    std::size_t batch_records_ = 1000;
    base::mono_ns hold_time_ = 0;    // of the write lock, by the last transaction
    base::mono_ns released_at_ = 0;  // the end of the last transaction
};

// Half of all ids remain free for later records.
inline constexpr model::id load_id_max = model::id{1} << 52;
static_assert(load_id_max < base::limits::id_max);

}  // namespace latchkey::domain
