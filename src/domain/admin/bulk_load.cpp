// A step is one transaction: it reads the state of the load again, since another process may run
// the same one, writes its batch and the new state, and is committed. The size of batches is halved
// and doubled after the time that the lock was held. Ids are reserved by moving the sequence, not
// by records.
#include "domain/admin/bulk_load.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/limits.hpp"
#include "base/time_units.hpp"
#include "domain/frame/bulk_write.hpp"
#include "domain/writer/replication.hpp"

namespace latchkey::domain {
namespace {

constexpr base::mono_ns hold_beside_server = 25 * base::millisecond;
constexpr base::mono_ns hold_alone = base::second;
constexpr std::size_t records_min = 64;
constexpr std::size_t records_max = 50'000;
constexpr std::size_t batch_bytes_max = 16 * base::limits::mib;
// The most new pages per record, beside its own bytes: one for an entry of each index; the pages
// above them are shared.
constexpr std::uint64_t pages_per_user = 3, pages_per_post = 4;
constexpr std::size_t removed_ids_per_step = 10'000;
// Bounds of a batch on a cluster's node: it is one row of the log, whose effects have each text
// three times (record, index, change) and some 250 bytes for the entries of each record.
constexpr std::size_t row_text_bytes_max = 3 * base::limits::mib;
constexpr std::size_t row_records_max = 8'000;
static_assert(3 * row_text_bytes_max + 3 * base::limits::body_bytes_max + 500 * row_records_max <
              row_bytes_max);

void put_state(transaction& transaction, std::uint64_t identity, load_state const& state) {
    encode(state, transaction.scratch);
    transaction.put(table::index, load_key(identity), transaction.scratch);
}

std::optional<load_state> get_state(transaction& transaction, std::uint64_t identity) {
    auto const bytes = transaction.get(table::index, load_key(identity));
    if (!bytes) return std::nullopt;
    auto const state = decode_load_state(*bytes);
    if (!state) transaction.fail(MDB_CORRUPTED);
    return state;
}

// Removes a part of the moved ids; false: none is left.
bool remove_moved_ids(transaction& transaction, std::uint64_t identity) {
    auto const prefix = key_bytes{tag::load_moved}.add(identity);
    auto const ids = transaction.ids_with_prefix(prefix, removed_ids_per_step);
    for (auto const id : ids) transaction.erase(table::index, load_moved_key(identity, id));
    return ids.size() == removed_ids_per_step;
}

// Reserves ids up to `highest`, or `count` of them, by moving the sequence; returns its last id.
model::id reserve_ids(model::id& last, model::id highest, std::uint64_t count) {
    highest = std::max(highest, last + static_cast<model::id>(count));
    last = std::max(last, std::min(highest, load_id_max));
    return last;
}

base::error write_error(commit_result const& result) {
    return failure_error("the store cannot be written", result);
}

base::error full_error() {
    return base::error{
        "the disk or the store's map is full (store.map_mib); with more room the same command "
        "continues where this one ends"};
}

std::size_t text_bytes(model::user const& user) {
    return user.name.size() + user.email.size();
}
std::size_t text_bytes(model::post const& post) {
    return post.title.size() + post.body.size();
}
template <class Record>
std::uint64_t text_bytes(std::span<Record> batch) {
    std::uint64_t bytes = 0;
    for (auto const& record : batch) bytes += text_bytes(record);
    return bytes;
}

void advance(load_progress& progress, load_step const& step) {
    progress.offset = step.offset;
    progress.line = step.line;
    progress.refusals += step.refusals;
    progress.complete = step.complete;
}

}  // namespace

base::result<bulk_load> bulk_load::begin(environment& store, options const& options) {
    bulk_load load(store, options.identity);
    bool more = false;
    auto const write = [&](transaction& transaction) {
        auto const earlier = get_state(transaction, options.identity);
        load.begun_before_ = earlier && !options.again;
        if (load.begun_before_) {
            load.state_ = *earlier;
            more = false;
            return false;
        }
        more = earlier && remove_moved_ids(transaction, options.identity);
        if (!more) {
            load.state_ = first_state(transaction, options);
            put_state(transaction, options.identity, load.state_);
        }
        return true;
    };
    do {
        if (auto const result = commit_in_order(store.native(), write); !result.ok())
            return write_error(result);
    } while (more);
    return load;
}

load_state bulk_load::first_state(transaction& transaction, options const& options) {
    auto& counters = transaction.counters();
    load_state state;
    state.begun_at = transaction.now();
    state.user_floor = counters.last_user;
    state.user_kept = reserve_ids(counters.last_user, options.highest_user, options.new_users);
    state.post_floor = counters.last_post;
    state.post_kept = reserve_ids(counters.last_post, options.highest_post, options.new_posts);
    return state;
}

bool bulk_load::was_begun(environment& store, std::uint64_t identity) {
    bool has_begun = false;
    std::ignore = commit_in_order(store.native(), [&](transaction& transaction) {
        has_begun = get_state(transaction, identity).has_value();
        return false;
    });
    return has_begun;
}

bool bulk_load::is_full(std::size_t records, std::size_t bytes) const {
    // A store with a small map is filled in small steps, since room for a whole step is kept free.
    auto const records_by_map = store_->native().map_bytes / (128 * base::limits::kib);
    bool const is_node = store_->native().cluster.has_value();
    auto const limit = std::clamp<std::size_t>(records_by_map, records_min,
                                               is_node ? row_records_max : records_max);
    return records >= std::min(batch_records_, limit) ||
           bytes >= (is_node ? row_text_bytes_max : batch_bytes_max);
}

base::result<std::vector<load_refusal>> bulk_load::commit_step(
    std::uint64_t growth_bytes, base::function_ref<void(load_context const&)> write_batch) {
    pause_beside_server();
    std::vector<load_refusal> refusals;
    load_state state;
    std::optional<base::error> error;
    base::mono_ns locked_at = 0;
    auto const write = [&](transaction& transaction) {
        locked_at = base::read_clocks().mono;
        auto const current = get_state(transaction, identity_);
        if (!transaction.ok()) return false;
        if (!current || current->users.offset != state_.users.offset ||
            current->posts.offset != state_.posts.offset || current->finished_at != 0)
            error =
                base::error{"another process loads the same files at this moment; this one ends"};
        else if (!transaction.capacity(growth_bytes).grow)
            error = full_error();
        if (error) return false;
        transaction.allow_growth();
        refusals.clear();
        state = state_;
        write_batch(load_context{transaction, identity_, state, refusals});
        put_state(transaction, identity_, state);
        return true;
    };
    auto const result = commit_in_order(store_->native(), write);
    if (error) return *error;
    if (result == MDB_MAP_FULL) return full_error();
    if (!result.ok()) return write_error(result);
    state_ = state;
    released_at_ = base::read_clocks().mono;
    hold_time_ = released_at_ - locked_at;
    return refusals;
}

base::result<std::vector<load_refusal>> bulk_load::add(std::span<model::user> batch,
                                                       load_step const& step) {
    users_in_order const users(batch);
    auto const page_bytes = batch.size() * pages_per_user * store_->native().page_bytes;
    auto const write = [&](load_context const& context) {
        for (auto const id : step.refused_users) note_refused_user(context, id);
        write_users(context, users);
        advance(context.state.users, step);
    };
    auto refusals = commit_step(3 * text_bytes(batch) + page_bytes, write);
    if (refusals) adapt_batch_size(batch.size(), hold_time_);
    return refusals;
}

base::result<std::vector<load_refusal>> bulk_load::add(std::span<model::post> batch,
                                                       load_step const& step) {
    posts_in_order const posts(batch);
    auto const page_bytes = batch.size() * pages_per_post * store_->native().page_bytes;
    auto const write = [&](load_context const& context) {
        write_posts(context, posts);
        advance(context.state.posts, step);
    };
    auto refusals = commit_step(3 * text_bytes(batch) + page_bytes, write);
    if (refusals) adapt_batch_size(batch.size(), hold_time_);
    return refusals;
}

base::result<void> bulk_load::finish() {
    for (bool more = true; more && state_.finished_at == 0;) {
        pause_beside_server();
        auto state = state_;
        auto const write = [&](transaction& transaction) {
            more = remove_moved_ids(transaction, identity_);
            state.finished_at = more ? 0 : transaction.now();
            put_state(transaction, identity_, state);
            return true;
        };
        if (auto const result = commit_in_order(store_->native(), write); !result.ok())
            return write_error(result);
        state_ = state;
    }
    return {};
}

// The write lock is not fair: a process that asks again at once gets it again. So beside a server
// the load pauses, which lets the writer's next group through.
void bulk_load::pause_beside_server() {
    // In a cluster there are other nodes, for which a row that took long comes late.
    beside_server_ = store_->has_server() || store_->native().cluster;
    if (!beside_server_) return;
    auto const elapsed = base::read_clocks().mono - released_at_;
    auto const pause = std::clamp(hold_time_ / 4, base::millisecond, hold_beside_server);
    if (elapsed < pause) ::usleep(static_cast<useconds_t>((pause - elapsed) / base::microsecond));
}

// Doubling and halving towards the target time: larger transactions cost less per record, smaller
// ones let other writers through.
void bulk_load::adapt_batch_size(std::size_t records, base::mono_ns hold_time) {
    auto const target = beside_server_ ? hold_beside_server : hold_alone;
    if (hold_time > target)
        batch_records_ = batch_records_ / 2;
    else if (hold_time < target / 2 && records >= batch_records_)
        batch_records_ = batch_records_ * 2;
    batch_records_ = std::clamp(batch_records_, records_min, records_max);
}

}  // namespace latchkey::domain
