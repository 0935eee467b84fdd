#include "auth/cache.hpp"

#include <algorithm>
#include <array>
#include <boost/smart_ptr/make_local_shared.hpp>
#include <cstring>
#include <utility>

#include "auth/key_form.hpp"
#include "auth/table.hpp"
#include "base/bytes.hpp"
#include "base/prefetch.hpp"

namespace latchkey::auth {

namespace {

// The text of the key that was shown twice in a row, and the digest of the last one. How much of
// another text is the same must not be told by how long it takes to find that they differ.
class last_text {
  public:
    bool is(std::string_view key) const {
        if (key.size() != size_ || size_ < sizeof(std::uint64_t)) return false;
        std::uint64_t differing = 0;
        for (std::size_t i = 0; i + sizeof differing < size_; i += sizeof differing)
            differing |= word(key.data() + i) ^ word(text_.data() + i);
        auto const last = size_ - sizeof differing;
        return (differing | (word(key.data() + last) ^ word(text_.data() + last))) == 0;
    }
    model::digest const& digest() const { return digest_; }
    // A text that comes for the first time is mostly no burst's, and not worth a copy.
    void take(std::string_view key) {
        wipe();  // the next one may be shorter
        auto const fresh = digest_of(key);
        if (fresh == digest_) {
            key.copy(text_.data(), key.size());
            size_ = key.size();
        }
        digest_ = fresh;
    }
    void wipe() {
        if (size_ != 0) base::wipe(text_.data(), std::exchange(size_, 0));
    }

  private:
    static std::uint64_t word(char const* at) {
        std::uint64_t value;
        std::memcpy(&value, at, sizeof value);
        return value;
    }

    std::array<char, key_bytes> text_;
    std::size_t size_ = 0;
    model::digest digest_{};
};

}  // namespace

struct cache::state {
    explicit state(std::size_t entries) : known(entries) {}

    table known;
    last_text last;
    counters count;
    std::uint64_t version = 0;  // of the snapshot that was followed last
    std::uint64_t epoch = 0;
    bool followed = false;
    bool imported = false;  // some digest may be of a text of any form

    void drop_changes(store::snapshot const& seen, std::uint64_t now_epoch);
    // Null: not known here.
    table::entry const* find(model::digest const& digest);
    // Null: no such key.
    table::entry look_up(model::digest const& digest, store::snapshot const& seen);
};

namespace {

base::problem problem_of(model::key const& record, model::address const* client,
                         base::instant now) {
    auto const problem = model::refusal_of(record.state_at(now.wall));
    if (problem != base::problem::none) return problem;
    auto const& networks = record.ip_allowlist;
    bool const allowed =
        networks.empty() ||
        (client != nullptr && std::any_of(networks.begin(), networks.end(), [&](auto const& each) {
             return each.contains(*client);
         }));
    return allowed ? base::problem::none : base::problem::ip_not_allowed;
}

table::entry make_identity(model::key&& record) {
    auto limits = limit::prepare(record.rate_limits, record.limit_slots);
    return boost::make_local_shared<identity const>(identity{std::move(limits), std::move(record)});
}

}  // namespace

cache::presented cache::present(std::string_view key) {
    presented shown;
    shown.key = key;
    // A key that is known needs no look at its form; a long text is not worth a digest before that.
    if (key.size() > key_bytes) return shown;
    auto& last = state_->last;
    if (!last.is(key)) last.take(key);
    shown.digest = last.digest();
    state_->known.prefetch(*shown.digest);
    return shown;
}

void cache::forget_text() {
    state_->last.wipe();
}

verdict cache::authenticate(presented const& shown, model::address const* client,
                            store::snapshot const& seen, base::instant now) {
    verdict given;
    auto const key = shown.key;
    auto digest = shown.digest;
    table::entry const* there = digest ? state_->find(*digest) : nullptr;
    bool const formed =
        there != nullptr || has_key_form(key) || (state_->imported && has_imported_form(key));
    if (!formed) {
        ++state_->count.malformed;
        given.problem = base::problem::key_invalid;
        return given;
    }
    if (!digest) there = state_->find(digest.emplace(digest_of(key)));
    auto who = there != nullptr ? *there : state_->look_up(*digest, seen);
    if (who == nullptr) {
        // A record that cannot be read is no proof that the key is unknown, and the client's
        // address must not be counted for it.
        given.problem = seen.damaged() ? base::problem::internal_error : base::problem::key_invalid;
        return given;
    }
    // Read for the limits and for the answer's head.
    auto const& limits = who->limits;
    base::prefetch(limits.rules.data(), limits.rules.size() * sizeof(limit::rule));
    base::prefetch(limits.header.data(), limits.header.size());
    given.problem = problem_of(who->record, client, now);
    given.who = principal(std::move(who));
    return given;
}

table::entry const* cache::state::find(model::digest const& digest) {
    auto const* const there = known.find(digest);
    if (there != nullptr) [[likely]]
        ++count.hits;
    return there;
}

table::entry cache::state::look_up(model::digest const& digest, store::snapshot const& seen) {
    auto record = seen.key_with_digest(digest);
    if (!record) {
        ++count.unknown;
        return nullptr;
    }
    ++count.misses;
    auto who = make_identity(std::move(*record));
    known.insert(who);
    return who;
}

void cache::follow(store::snapshot const& seen) {
    auto& my = *state_;
    std::uint64_t const version = seen.version();
    if (my.followed && version == my.version) [[likely]]
        return;
    // Most commits change no key, and the epoch says so.
    std::uint64_t const epoch = seen.key_epoch();
    if (!my.followed || epoch != my.epoch) {
        my.drop_changes(seen, epoch);
        my.imported = seen.has_imported_digests();
    }
    my.version = version;
    my.epoch = epoch;
    my.followed = true;
}

void cache::state::drop_changes(store::snapshot const& seen, std::uint64_t now_epoch) {
    // An epoch that went back is another store's, and nothing that is known holds there. Before the
    // first call nothing should be known; what a caller looked up too early goes the same way.
    auto const changed = followed && now_epoch > epoch
                             ? seen.keys_changed_since(epoch)
                             : std::optional<std::vector<model::digest>>();
    if (!changed) {
        count.dropped += known.clear();
        return;
    }
    for (auto const& digest : *changed) count.dropped += known.erase(digest) ? 1 : 0;
}

cache::cache(std::size_t entries) : state_(std::make_unique<state>(entries)) {}
cache::~cache() = default;

cache::counters const& cache::count() const {
    return state_->count;
}

}  // namespace latchkey::auth
