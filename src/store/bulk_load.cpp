#include "store/bulk_load.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/limits.hpp"
#include "store/bulk_write.hpp"

namespace latchkey::store {
namespace {

constexpr base::mono_ns ms = 1'000'000;
constexpr base::mono_ns hold_beside_server = 25 * ms;
constexpr base::mono_ns hold_alone = 1000 * ms;
constexpr std::size_t records_min = 64;
constexpr std::size_t records_max = 50'000;
constexpr std::size_t batch_bytes_max = 16 * base::limits::mib;
// New pages that a record takes at most, beside its own bytes: an entry of an index each, with the
// pages above them shared.
constexpr std::uint64_t pages_per_user = 2, pages_per_post = 3;
constexpr std::size_t forgotten_per_step = 10'000;
constexpr std::uint8_t state_version = 1;

void append(std::string& to, load_progress const& of) {
    for (auto const number : {of.offset, of.line, of.created, of.moved, of.unchanged, of.refused})
        base::append(to, number);
    base::append(to, static_cast<std::uint8_t>(of.complete));
}

load_progress read_progress(base::reader& from) {
    load_progress of;
    for (auto* const number :
         {&of.offset, &of.line, &of.created, &of.moved, &of.unchanged, &of.refused})
        *number = from.integer<std::uint64_t>();
    of.complete = from.integer<std::uint8_t>() != 0;
    return of;
}

void keep(transaction& in, std::uint64_t identity, bulk_load::state const& whole) {
    in.scratch.clear();
    base::append(in.scratch, state_version);
    for (auto const number : {whole.begun_at, whole.finished_at, whole.user_floor, whole.user_kept,
                              whole.post_floor, whole.post_kept})
        base::append(in.scratch, number);
    append(in.scratch, whole.users);
    append(in.scratch, whole.posts);
    in.put(table::index, load_key(identity), in.scratch);
}

std::optional<bulk_load::state> find(transaction& in, std::uint64_t identity) {
    auto const bytes = in.get(table::index, load_key(identity));
    if (!bytes) return std::nullopt;
    base::reader from(*bytes);
    bool const known = from.integer<std::uint8_t>() == state_version;
    bulk_load::state whole;
    for (auto* const number : {&whole.begun_at, &whole.finished_at, &whole.user_floor,
                               &whole.user_kept, &whole.post_floor, &whole.post_kept})
        *number = from.integer<std::int64_t>();
    whole.users = read_progress(from);
    whole.posts = read_progress(from);
    if (!known || !from.done()) in.fail(MDB_CORRUPTED);
    return whole;
}

// Some of the ids that were moved; false: none is left.
bool forget_moved(transaction& in, std::uint64_t identity) {
    auto const prefix = key_bytes{tag::load_moved}.add(identity);
    auto const ids = in.ids_under(prefix, forgotten_per_step);
    for (auto const id : ids) in.erase(table::index, load_moved_key(identity, id));
    return ids.size() == forgotten_per_step;
}

base::error write_error(int code) {
    return lmdb_error("the store cannot be written", code);
}

std::size_t text_bytes(model::user const& of) {
    return of.name.size() + of.email.size();
}
std::size_t text_bytes(model::post const& of) {
    return of.title.size() + of.body.size();
}
template <class Record>
std::uint64_t text_bytes(std::span<Record> some) {
    std::uint64_t bytes = 0;
    for (auto const& each : some) bytes += text_bytes(each);
    return bytes;
}

}  // namespace

base::result<bulk_load> bulk_load::begin(environment& store, options const& how) {
    bulk_load made(store, how.identity);
    for (;;) {
        transaction in(store.native());
        auto const found = find(in, how.identity);
        if (found && !how.again) {
            made.state_ = *found;
            made.begun_before_ = true;
            if (in.failure() != 0) return write_error(in.failure());
            return made;
        }
        bool const more = found && forget_moved(in, how.identity);
        auto& heads = in.heads();
        auto const keep_up_to = [](model::id& last, model::id highest, std::uint64_t more_ids) {
            highest = std::max(highest, last + static_cast<model::id>(more_ids));
            return last = std::max(last, std::min(highest, load_id_max));
        };
        if (!more) {
            made.state_.begun_at = in.now();
            made.state_.user_floor = heads.last_user;
            made.state_.user_kept = keep_up_to(heads.last_user, how.highest_user, how.new_users);
            made.state_.post_floor = heads.last_post;
            made.state_.post_kept = keep_up_to(heads.last_post, how.highest_post, how.new_posts);
            keep(in, how.identity, made.state_);
        }
        if (int const code = in.commit(); code != 0) return write_error(code);
        if (!more) return made;
    }
}

bool bulk_load::is_full(std::size_t records, std::size_t bytes) const {
    // A store with a small map is filled in small steps, since what a step may take is kept free.
    auto const by_map = store_->native().map_bytes / (128 * base::limits::kib);
    auto const most = std::clamp<std::size_t>(by_map, records_min, records_max);
    return records >= std::min(records_wanted_, most) || bytes >= batch_bytes_max;
}

template <class Act>
base::result<std::vector<load_refusal>> bulk_load::commit_step(std::uint64_t growth_bytes,
                                                               Act act) {
    leave_others_time();
    transaction in(store_->native());
    auto const begun = base::read_clocks().mono;  // the lock is held from here on
    auto const before = find(in, identity_);
    if (in.failure() != 0) return write_error(in.failure());
    if (!before || before->users.offset != state_.users.offset ||
        before->posts.offset != state_.posts.offset || before->finished_at != 0)
        return base::error{"somebody else loads the same at this moment; this one ends"};
    if (!in.space(growth_bytes).grow)
        return base::error{
            "the disk or the store's map is full (store.map_mib); with more room the same command "
            "goes on where this one ends"};
    std::vector<load_refusal> refusals;
    auto after = state_;
    act(load_context{in, identity_, after, refusals});
    keep(in, identity_, after);
    if (int const code = in.commit(); code != 0) return write_error(code);
    state_ = after;
    released_ = base::read_clocks().mono;
    held_ = released_ - begun;
    return refusals;
}

base::result<std::vector<load_refusal>> bulk_load::add(std::span<model::user> some,
                                                       load_step const& step) {
    users_in_order const ordered(some);
    auto const pages = some.size() * pages_per_user * store_->native().page_bytes;
    auto made = commit_step(2 * text_bytes(some) + pages, [&](load_context const& to) {
        for (auto const id : step.refused_users) note_refused_user(to, id);
        write_users(to, ordered);
        auto& users = to.state.users;
        users.offset = step.offset, users.line = step.line;
        users.refused += step.refused, users.complete = step.complete;
    });
    if (made) learn_size(some.size(), held_);
    return made;
}

base::result<std::vector<load_refusal>> bulk_load::add(std::span<model::post> some,
                                                       load_step const& step) {
    posts_in_order const ordered(some);
    auto const pages = some.size() * pages_per_post * store_->native().page_bytes;
    auto made = commit_step(2 * text_bytes(some) + pages, [&](load_context const& to) {
        write_posts(to, ordered);
        auto& posts = to.state.posts;
        posts.offset = step.offset, posts.line = step.line;
        posts.refused += step.refused, posts.complete = step.complete;
    });
    if (made) learn_size(some.size(), held_);
    return made;
}

base::result<void> bulk_load::finish() {
    for (bool more = true; more && state_.finished_at == 0;) {
        leave_others_time();
        transaction in(store_->native());
        more = forget_moved(in, identity_);
        auto after = state_;
        if (!more) after.finished_at = in.now();
        keep(in, identity_, after);
        if (int const code = in.commit(); code != 0) return write_error(code);
        state_ = after;
    }
    return {};
}

// The store's lock is nobody's in particular: whoever asks again at once gets it again. So beside a
// server it is left alone for a while, in which the writer's next group goes through.
void bulk_load::leave_others_time() {
    beside_server_ = store_->has_server();
    if (!beside_server_) return;
    auto const since = base::read_clocks().mono - released_;
    auto const pause = std::clamp(held_ / 4, ms, hold_beside_server);
    if (since < pause) ::usleep(static_cast<useconds_t>((pause - since) / 1000));
}

// Larger transactions cost less for each record, smaller ones let others through.
void bulk_load::learn_size(std::size_t records, base::mono_ns held) {
    auto const hold = beside_server_ ? hold_beside_server : hold_alone;
    if (held > hold)
        records_wanted_ = records_wanted_ / 2;
    else if (held < hold / 2 && records >= records_wanted_)
        records_wanted_ = records_wanted_ * 2;
    records_wanted_ = std::clamp(records_wanted_, records_min, records_max);
}

}  // namespace latchkey::store
