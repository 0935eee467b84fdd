#include "store/verify.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "store/environment_state.hpp"
#include "store/verify_events.hpp"

namespace latchkey::store {
namespace {

using model::post_status;

class inspection {
  public:
    explicit inspection(environment::state& store) : store_(store) {
        base::check(::mdb_txn_begin(store_.env, nullptr, MDB_RDONLY, &txn_) == 0,
                    "a snapshot that cannot begin");
    }
    ~inspection() { ::mdb_txn_abort(txn_); }
    inspection(inspection const&) = delete;
    inspection& operator=(inspection const&) = delete;

    std::vector<std::string> run();

  private:
    void look_at_purges();
    void look_at_users();
    void look_at_emails();
    void look_at_posts();
    void look_at_posts_by_user();
    void look_at_posts_by_status();
    void look_at_posts_by_both();
    void look_at_tallies();
    void look_at_keys();
    void look_at_digests();
    void look_at_changes();
    void look_at_key_lists();
    void look_at_key_admins();
    void look_at_usage();
    void look_at_usage_sums(model::granularity fine, model::granularity coarse);
    void look_for_strangers();

    void say(std::string sentence) {
        if (found_.size() < inconsistencies_max) found_.push_back(std::move(sentence));
    }
    void compare(std::string_view what, std::uint64_t recorded, std::uint64_t there) {
        if (recorded != there)
            say(std::string(what) + ": " + std::to_string(recorded) + " are recorded, " +
                std::to_string(there) + " are there");
    }
    // The post that an index entry names; says so when it is none, or not of that user.
    std::optional<model::post_view> indexed(std::string_view index, model::id post, model::id user);
    std::optional<std::string_view> get(table where, std::string_view key);
    template <class Each>  // (key without the prefix, value)
    void walk(table where, std::string_view prefix, Each each);
    void keep_time(base::wall_ms time, std::string const& whose) {
        if (time > heads_.written_at) say(whose + " is of a time after the last write");
    }

    environment::state& store_;
    MDB_txn* txn_ = nullptr;
    heads heads_;
    std::vector<std::string> found_;
    std::unordered_set<model::id> doomed_;
    std::uint64_t all_posts_ = 0;                       // those of deleted users too
    std::vector<std::pair<model::id, tally>> tallies_;  // as the index has it, ascending
};

std::string name(std::string_view what, model::id id) {
    return std::string(what) + " " + std::to_string(id);
}

std::vector<std::string> inspection::run() {
    auto const bytes = get(table::index, key_bytes{tag::heads});
    auto const decoded = bytes ? decode_heads(*bytes) : std::nullopt;
    if (!decoded) return {"the record of counts and sequences cannot be read"};
    heads_ = *decoded;
    look_at_purges();
    look_at_users();
    look_at_emails();
    look_at_posts();
    look_at_posts_by_user();
    look_at_posts_by_status();
    look_at_posts_by_both();
    look_at_tallies();
    look_at_keys();
    look_at_digests();
    look_at_changes();
    look_at_key_lists();
    look_at_key_admins();
    look_at_usage();
    verify_events(store_, txn_, heads_, [&](std::string sentence) { say(std::move(sentence)); });
    look_for_strangers();
    return std::move(found_);
}

std::optional<std::string_view> inspection::get(table where, std::string_view key) {
    auto wanted = val_of(key);
    MDB_val value;
    int const code = ::mdb_get(txn_, store_.dbi(where), &wanted, &value);
    if (code == 0) return store::view_of(value);
    if (code != MDB_NOTFOUND) say(lmdb_error("a page cannot be read", code).message);
    return std::nullopt;
}

template <class Each>
void inspection::walk(table where, std::string_view prefix, Each each) {
    MDB_cursor* cursor = nullptr;
    if (int const code = ::mdb_cursor_open(txn_, store_.dbi(where), &cursor); code != 0)
        return say(lmdb_error("a table cannot be read", code).message);
    auto key = val_of(prefix);
    MDB_val value;
    int code = ::mdb_cursor_get(cursor, &key, &value, prefix.empty() ? MDB_FIRST : MDB_SET_RANGE);
    for (; code == 0; code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        auto const whole = store::view_of(key);
        if (!whole.starts_with(prefix)) break;
        each(whole.substr(prefix.size()), store::view_of(value));
    }
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) say(lmdb_error("a table cannot be read", code).message);
}

void inspection::look_at_purges() {
    walk(table::index, key_bytes{tag::purge}, [&](std::string_view key, std::string_view) {
        auto const user = read_id(key);
        if (!user) return say("an entry of the purge list has a key that is no id");
        doomed_.insert(*user);
        if (get(table::users, id_key(*user)))
            say(name("user", *user) + " exists and is on the purge list");
        if (get(table::index, tally_key(*user)))
            say(name("user", *user) + " is on the purge list and has counts");
    });
    compare("deleted users to purge", heads_.purges, doomed_.size());
}

void inspection::look_at_users() {
    std::uint64_t count = 0;
    walk(table::users, {}, [&](std::string_view key, std::string_view value) {
        ++count;
        auto const id = read_id(key);
        if (!id || *id < 1) return say("a user has a key that is no id");
        auto const user = model::decode_user(*id, value);
        if (!user) return say(name("user", *id) + " cannot be read");
        if (*id > heads_.last_user) say(name("user", *id) + " is beyond the sequence");
        keep_time(user->updated_at, name("user", *id));
        if (user->email.size() > model::email_bytes_max)
            return say(name("user", *id) + " has an e-mail address beyond its bound");
        auto const entry = get(table::index, email_key(model::folded_email(user->email)));
        if (!entry || read_id(*entry) != *id)
            say(name("user", *id) + " is not found by its e-mail address");
    });
    compare("users", heads_.users, count);
}

void inspection::look_at_emails() {
    std::uint64_t count = 0;
    walk(table::index, key_bytes{tag::email}, [&](std::string_view email, std::string_view value) {
        ++count;
        auto const id = read_id(value);
        auto const bytes = id ? get(table::users, id_key(*id)) : std::nullopt;
        auto const user = bytes ? model::decode_user(*id, *bytes) : std::nullopt;
        if (!user || model::folded_email(user->email) != email)
            say("an e-mail address of the index is of no user");
    });
    compare("e-mail addresses", heads_.users, count);
}

void inspection::look_at_posts() {
    tally counts{};
    walk(table::posts, {}, [&](std::string_view key, std::string_view value) {
        ++all_posts_;
        auto const id = read_id(key);
        if (!id || *id < 1) return say("a post has a key that is no id");
        auto const post = model::decode_post(*id, value);
        if (!post) return say(name("post", *id) + " cannot be read");
        if (*id > heads_.last_post) say(name("post", *id) + " is beyond the sequence");
        keep_time(post->updated_at, name("post", *id));
        if ((post->status == post_status::draft && post->published_at != 0) ||
            (post->status == post_status::published && post->published_at == 0))
            say(name("post", *id) + " has a time of publication that its status cannot have");
        if (doomed_.contains(post->user_id)) return;
        ++counts[static_cast<std::size_t>(post->status)];
        if (!get(table::users, id_key(post->user_id)))
            say(name("post", *id) + " is of " + name("user", post->user_id) + ", who is not there");
    });
    for (std::size_t i = 0; i < counts.size(); ++i)
        compare(name_of(static_cast<post_status>(i)), heads_.posts[i], counts[i]);
}

std::optional<model::post_view> inspection::indexed(std::string_view index, model::id post,
                                                    model::id user) {
    auto const bytes = get(table::posts, id_key(post));
    auto view = bytes ? model::decode_post(post, *bytes) : std::nullopt;
    if (view && view->user_id == user) return view;
    say(name("post", post) + " of " + name("user", user) + " is in the index " +
        std::string(index) + " only");
    return std::nullopt;
}

void inspection::look_at_posts_by_user() {
    std::uint64_t count = 0;
    walk(table::index, key_bytes{tag::post_by_user}, [&](std::string_view key, std::string_view) {
        ++count;
        base::reader from(key);
        auto const user = from.integer<model::id>();
        auto const post = from.integer<model::id>();
        if (!from.done()) return say("an entry of the posts by user has a key of another form");
        indexed("by user", post, user);
    });
    compare("posts by user", all_posts_, count);
}

void inspection::look_at_posts_by_status() {
    std::uint64_t count = 0;
    auto const each = [&](std::string_view key, std::string_view value) {
        ++count;
        base::reader from(key);
        auto const status = from.integer<std::uint8_t>();
        auto const post = from.integer<model::id>();
        auto const user = read_id(value);
        if (!from.done() || !user) return say("an entry of the posts by status has another form");
        auto const view = indexed("by status", post, *user);
        if (view && static_cast<std::uint8_t>(view->status) != status)
            say(name("post", post) + " is indexed under a status that it does not have");
    };
    walk(table::index, key_bytes{tag::post_by_status}, each);
    compare("posts by status", all_posts_, count);
}

void inspection::look_at_posts_by_both() {
    std::uint64_t count = 0;
    auto const each = [&](std::string_view key, std::string_view) {
        ++count;
        base::reader from(key);
        auto const user = from.integer<model::id>();
        auto const status = from.integer<std::uint8_t>();
        auto const post = from.integer<model::id>();
        if (!from.done() || status >= model::post_status_count)
            return say("an entry of the posts by user and status has a key of another form");
        auto const view = indexed("by user and status", post, user);
        if (view && static_cast<std::uint8_t>(view->status) != status)
            say(name("post", post) + " is indexed under a status that it does not have");
        if (doomed_.contains(user)) return;
        if (tallies_.empty() || tallies_.back().first != user) tallies_.push_back({user, {}});
        ++tallies_.back().second[status];
    };
    walk(table::index, key_bytes{tag::post_by_user_status}, each);
    compare("posts by user and status", all_posts_, count);
}

void inspection::look_at_tallies() {
    std::size_t at = 0;
    walk(table::index, key_bytes{tag::tally}, [&](std::string_view key, std::string_view value) {
        auto const user = read_id(key);
        auto const numbers = decode_tally(value);
        if (!user || !numbers) return say("the counts of a user have another form");
        for (; at < tallies_.size() && tallies_[at].first < *user; ++at)
            say(name("user", tallies_[at].first) + " has posts and no counts");
        if (at == tallies_.size() || tallies_[at].first != *user)
            return say(name("user", *user) + " has counts and no posts");
        if (tallies_[at++].second != *numbers)
            say(name("user", *user) + " has counts that differ from its posts");
    });
    for (; at < tallies_.size(); ++at)
        say(name("user", tallies_[at].first) + " has posts and no counts");
}

void inspection::look_at_keys() {
    std::uint64_t count = 0, imported = 0;
    walk(table::index, key_bytes{tag::key}, [&](std::string_view bytes, std::string_view value) {
        ++count;
        auto const id = read_id(bytes);
        if (!id || *id < 1) return say("a key has a key that is no id");
        auto const key = model::decode_key(*id, value);
        if (!key) return say(name("key", *id) + " cannot be read");
        if (*id > heads_.last_key) say(name("key", *id) + " is beyond the sequence");
        if (key->start.empty()) ++imported;
        auto const entry = get(table::index, digest_key(key->digest));
        if (!entry || read_id(*entry) != *id) say(name("key", *id) + " is not found by its digest");
    });
    compare("keys", heads_.keys, count);
    compare("imported keys", heads_.imported_keys, imported);
}

void inspection::look_at_digests() {
    std::uint64_t count = 0;
    auto const each = [&](std::string_view digest, std::string_view value) {
        ++count;
        auto const id = read_id(value);
        auto const bytes = id ? get(table::index, key_key(*id)) : std::nullopt;
        auto const key = bytes ? model::decode_key(*id, *bytes) : std::nullopt;
        if (!key || !std::ranges::equal(key->digest, digest, {}, {},
                                        [](char byte) { return static_cast<unsigned char>(byte); }))
            say("a digest of the index is of no key");
    };
    walk(table::index, key_bytes{tag::key_digest}, each);
    compare("digests of keys", heads_.keys, count);
}

void inspection::look_at_changes() {
    auto const reach = std::min(heads_.key_epoch, key_changes_max);
    for (auto epoch = heads_.key_epoch - reach; epoch != heads_.key_epoch;) {
        auto const bytes = get(table::index, key_change_key(++epoch));
        auto const entry = bytes ? decode_key_change(*bytes) : std::nullopt;
        if (!entry || entry->epoch != epoch)
            say("the change of keys " + std::to_string(epoch) + " is not in the ring");
        else if (!get(table::index, digest_key(entry->digest)))
            say("the change of keys " + std::to_string(epoch) + " is of no key");
    }
}

// Every key is in three lists and, unless it was imported, under its start; there is nothing else.
void inspection::look_at_key_lists() {
    std::uint64_t count = 0, starts = 0;
    walk(table::index, key_bytes{tag::key}, [&](std::string_view bytes, std::string_view value) {
        auto const id = read_id(bytes);
        auto const key = id ? model::decode_key(*id, value) : std::nullopt;
        if (!key) return;
        for (key_list const& list :
             {key_list{key->project, std::nullopt}, key_list{{}, key->environment},
              key_list{key->project, key->environment}})
            if (!get(table::index, key_list_key(tag::key_list, list).add(*id)))
                say(name("key", *id) + " is missing in a list");
        if (key->start.empty()) return;
        ++starts;
        if (!get(table::index, keys_with_start(key->start).add(*id)))
            say(name("key", *id) + " is not found by its start");
    });
    walk(table::index, key_bytes{tag::key_list}, [&](auto, auto) { ++count; });
    compare("entries of lists of keys", 3 * heads_.keys, count);
    count = 0;
    walk(table::index, key_bytes{tag::key_start}, [&](auto, auto) { ++count; });
    compare("starts of keys", starts, count);
    std::uint64_t counted = 0;
    walk(table::index, key_bytes{tag::key_list_count},
         [&](std::string_view, std::string_view value) {
             counted += static_cast<std::uint64_t>(read_id(value).value_or(0));
         });
    compare("keys that lists count", counted, 3 * heads_.keys);
}

void inspection::look_at_key_admins() {
    std::uint64_t count = 0, there = 0;
    walk(table::index, key_bytes{tag::key}, [&](std::string_view bytes, std::string_view value) {
        auto const id = read_id(bytes);
        auto const key = id ? model::decode_key(*id, value) : std::nullopt;
        if (!key || !key->scopes.allows(model::scope::keys_write) ||
            key->deactivation_reason != model::deactivation::none)
            return;
        ++count;
        if (!get(table::index, key_admin_key(*id)))
            say(name("key", *id) + " is not among those that may manage keys");
    });
    walk(table::index, key_bytes{tag::key_admin}, [&](auto, auto) { ++there; });
    compare("keys that may manage keys", there, count);
}

void inspection::look_at_usage() {
    auto const each = [&](std::string_view key, std::string_view value) {
        base::reader from(key);
        auto const by = from.integer<std::uint8_t>();
        auto const start = from.integer<base::wall_ms>();
        auto const id = from.integer<model::id>();
        if (!from.done() || by >= model::granularities.size() ||
            model::start_of(model::granularities[by], start) != start)
            return say("an entry of usage has a key of another form");
        if (!get(table::index, key_key(id)))
            say("usage of " + name("key", id) + " is of no key");
        else if (!model::decode_usage(value))
            say("usage of " + name("key", id) + " cannot be read");
    };
    walk(table::index, key_bytes{tag::key_usage}, each);
    look_at_usage_sums(model::granularity::minute, model::granularity::hour);
    look_at_usage_sums(model::granularity::hour, model::granularity::day);
}

// As long as none of its minutes has expired an hour is their sum, afterwards it is no less; days
// and their hours are alike.
void inspection::look_at_usage_sums(model::granularity fine, model::granularity coarse) {
    std::map<std::pair<base::wall_ms, model::id>, std::uint64_t> sums;
    auto const all_of = [&](model::granularity by, auto const& each) {
        auto const prefix = key_bytes{tag::key_usage}.add(static_cast<std::uint8_t>(by));
        walk(table::index, prefix, [&](std::string_view key, std::string_view value) {
            base::reader from(key);
            auto const start = from.integer<base::wall_ms>();
            auto const id = from.integer<model::id>();
            auto const counted = model::decode_usage(value);
            if (from.done() && counted) each(start, id, counted->requests());
        });
    };
    all_of(fine, [&](base::wall_ms start, model::id id, std::uint64_t requests) {
        sums[{model::start_of(coarse, start), id}] += requests;
    });
    auto const whole_since = heads_.written_at - model::kept_of(fine);
    all_of(coarse, [&](base::wall_ms start, model::id id, std::uint64_t requests) {
        auto const found = sums.extract({start, id});
        auto const sum = found ? found.mapped() : 0;
        if (start >= whole_since ? sum != requests : sum > requests)
            say("usage of " + name("key", id) + " differs between " + std::string(name_of(fine)) +
                " and " + std::string(name_of(coarse)));
    });
    for (auto const& [at, sum] : sums)
        say("usage of " + name("key", at.second) + " stands by " + std::string(name_of(fine)) +
            " and not by " + std::string(name_of(coarse)));
}

void inspection::look_for_strangers() {
    static constexpr tag known[] = {
        tag::schema,          tag::heads,          tag::email,
        tag::post_by_user,    tag::post_by_status, tag::post_by_user_status,
        tag::tally,           tag::purge,          tag::key,
        tag::key_digest,      tag::key_change,     tag::key_use,
        tag::key_admin,       tag::key_list,       tag::key_list_count,
        tag::key_start,       tag::audit_head,     tag::audit_by_project,
        tag::audit_count,     tag::key_usage,      tag::event_head,
        tag::event_by_source, tag::event_mark,     tag::event_secret,
        tag::event_count};
    std::uint64_t strangers = 0;
    walk(table::index, {}, [&](std::string_view key, std::string_view) {
        if (key.empty() || std::ranges::find(known, static_cast<tag>(key[0])) == std::end(known))
            ++strangers;
    });
    compare("entries of unknown kinds", 0, strangers);
}

}  // namespace

std::vector<std::string> verify(environment& store) {
    return inspection(store.native()).run();
}

}  // namespace latchkey::store
