// Users and posts by the million, for `latchkey import` and `latchkey seed`: thousands of records
// in one transaction, put in the order of each index. How far a load has come is committed together
// with its records, so one that was cut short anywhere, by `kill -9` too, goes on where it was and
// puts nothing twice.
//
//     auto load = store::bulk_load::begin(environment, {.identity = …, .highest_user = …});
//     while (!load->users().complete) … fill some until load->is_full(count, bytes) …
//         load->add(some, {.offset = …, .line = …});
//     load->finish();
//
// It works beside a server: parsing is done before `add`, and a transaction is made so large that
// it holds up other writers 25 ms (one second where no server runs), with a pause behind each.
// One thread; it must not outlive its environment. Errors are of the store or the disk and end the
// load, which may be taken up again; a record that is refused ends nothing.
//
// Ids: one that comes with a record is kept when it is free, which means that nobody ever had it:
// it is above all that were given out when the load began. A user whose id is not free gets another
// one, and posts of the same load that name the old one follow it. A record that is there already,
// member for member and with the same id, is left alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/problem.hpp"
#include "base/result.hpp"
#include "model/post.hpp"
#include "store/environment.hpp"

namespace latchkey::store {

// How far one kind of record has come.
struct load_progress {
    std::uint64_t offset = 0;  // into the source, of what was not looked at yet
    std::uint64_t line = 0;    // lines before it
    std::uint64_t created = 0;
    std::uint64_t moved = 0;      // of the created: those that got another id than they came with
    std::uint64_t unchanged = 0;  // were there already
    std::uint64_t refused = 0;
    bool complete = false;
};

// What a batch leaves behind it: the source's position, and the lines that were refused before they
// came here, with the ids of the users on them where those could be read.
struct load_step {
    std::uint64_t offset = 0, line = 0, refused = 0;
    std::vector<model::id> refused_users;
    bool complete = false;  // that was the last batch
};

struct load_refusal {
    std::size_t at = 0;  // in the batch
    base::problem problem = base::problem::none;
    base::fault fault;
};

class bulk_load {
  public:
    struct options {
        std::uint64_t identity = 0;   // of the sources; the same again goes on with the same load
        model::id highest_user = 0;   // ids up to these are kept for the load's records; at most
        model::id highest_post = 0;   // load_id_max
        std::uint64_t new_users = 0;  // or, for records that are made up: so many ids that are
        std::uint64_t new_posts = 0;  // free, from first_user() and first_post() on
        bool again = false;           // forget an earlier load of these sources
    };
    static base::result<bulk_load> begin(environment& store, options const& how);

    load_progress const& users() const { return state_.users; }
    load_progress const& posts() const { return state_.posts; }
    model::id first_user() const { return state_.user_floor + 1; }
    model::id first_post() const { return state_.post_floor + 1; }
    bool was_begun_before() const { return begun_before_; }
    base::wall_ms finished_at() const { return state_.finished_at; }  // 0: not yet

    // Is a batch of so many records, and bytes of text, as large as it should be?
    bool is_full(std::size_t records, std::size_t bytes) const;

    // One transaction. The records are those the API has, with what their source leaves out as 0:
    // an id is given then, a time is that of the transaction (updated_at: of created_at, and the
    // other way round). All users come before the posts. What is refused is told by its place.
    base::result<std::vector<load_refusal>> add(std::span<model::user> some, load_step const& step);
    base::result<std::vector<load_refusal>> add(std::span<model::post> some, load_step const& step);

    // Forgets what only this load needed and notes that it is done.
    base::result<void> finish();

    struct state {  // what is kept in the store
        base::wall_ms begun_at = 0, finished_at = 0;
        // Given out when the load began, and kept for it: ids above `floor` up to `kept`.
        model::id user_floor = 0, user_kept = 0, post_floor = 0, post_kept = 0;
        load_progress users, posts;

        bool keeps_user(model::id id) const { return id > user_floor && id <= user_kept; }
        bool keeps_post(model::id id) const { return id > post_floor && id <= post_kept; }
    };

  private:
    bulk_load(environment& store, std::uint64_t identity) : store_(&store), identity_(identity) {}

    // One transaction around `act`, which decides and writes.
    template <class Act>
    base::result<std::vector<load_refusal>> commit_step(std::uint64_t growth_bytes, Act act);
    void leave_others_time();
    void learn_size(std::size_t records, base::mono_ns held);

    environment* store_;
    std::uint64_t identity_;
    state state_;
    bool begun_before_ = false;
    bool beside_server_ = false;
    std::size_t records_wanted_ = 1000;
    base::mono_ns held_ = 0;      // by the last transaction
    base::mono_ns released_ = 0;  // when it ended
};

// Half of all ids remain for those who come after.
inline constexpr model::id load_id_max = model::id{1} << 52;

}  // namespace latchkey::store
